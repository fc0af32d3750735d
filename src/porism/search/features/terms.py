"""Terms that a query and a thread share: words, pairs of words, three families of formula terms, concepts and tags;
names and titles that say what the query says; and pseudo-relevance feedback, for which terms that the best threads
share count as further terms of the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from porism.analysis import schema
from porism.compiled import compiled
from porism.search.features.feature import Feature, RankingSoFar, Reason
from porism.search.query import Kind
from porism.search.retrieval.context import Candidate, CandidateBatch, QueryContext, Values
from porism.search.retrieval.query_terms import CONCEPT_FAMILIES, SLOTS, QueryTerms, make_lookup, span_positions
from porism.store.records import Threads

VIEW_TEXTS = {
    "thread": "in the thread",
    "title": "in the title or tags",
    "headings": "in the headings above",
    "links": "in titles of linked questions",
    "answer": "in the answer",
}
FAMILY_TEXTS = {
    "tuples": "the same symbols side by side",
    "paths": "the same operations",
    "parts": "the same parts, perhaps with other names",
}


class TermMatch(Feature):
    """BM25 of one family of terms in one view."""

    def __init__(self, view: str, family: str) -> None:
        self.name = f"{view}.{family}"
        self.level = "answer" if view == "answer" else "thread"
        self.families = (family,)
        self.of_formulas = family in schema.FORMULA_FAMILIES
        self.unit_of = f"thread.{family}"
        self._view = view
        self._family = family

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family if the query has terms of it."""
        return self.families if len(context.terms[self._family]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 of the query's terms."""
        return batch.term_scores(self._family, self._view)

    def explain(self, batch: CandidateBatch, candidate: Candidate) -> list[Reason]:
        """Return one reason for each term: about its word, or about the query formula it comes from."""
        if self._view not in batch.views:
            return []
        terms = batch.context.terms[self._family]
        found = batch.contributions(terms, batch.views[self._view], candidate)
        if self.of_formulas:
            text = FAMILY_TEXTS[self._family]
            return [Reason(value, text, formula=terms.formulas[place]) for place, value in found.items()]
        return [Reason(value, VIEW_TEXTS[self._view], word=terms.texts[place]) for place, value in found.items()]


class ConceptFeature(Feature):
    """BM25 of the terms that concepts add: formulas that go with a name in the query, names that go with a formula."""

    # Judged topics are long, so they say little about short queries, in which a name alone should find its formula.
    least_weight: ClassVar[float] = 0.03

    def __init__(self, family: str) -> None:
        self.name = f"concepts.{family}"
        self.families = (family,)
        self._family = family

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family if a concept adds terms of it."""
        return self.families if len(context.concept_terms[self._family]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 of the concepts' terms for each thread."""
        return batch.thread_scores(batch.context.concept_terms[self._family])

    def describe(self, batch: CandidateBatch) -> str:
        """Return the concepts in words."""
        matched = [match.concept for match in batch.context.concepts if match.family == self._family]
        return "; ".join(dict.fromkeys(f"“{one.display_name}” is often written ${one.latex}$" for one in matched))


class TagMatch(Feature):
    """The sum of the inverse document frequencies of the tags that the query and the thread share."""

    name = "tags"
    text = "same tags"
    families = (schema.TAG_FAMILY,)

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of tags if the query has one."""
        return self.families if len(context.terms[schema.TAG_FAMILY]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the sum for each thread."""
        terms = batch.context.terms[schema.TAG_FAMILY]
        return batch.presence(terms, terms.idf, schema.EVERY_FIELD)


FAMILIES_OF = {"headings": ("words",)}  # of a view that does not have all of them
Ints = npt.NDArray[np.int64]
NO_THREADS: Ints = np.empty(0, np.int64)
TITLE = schema.FIELDS.index("title")
FAMILIES = {"words": 1.0, "tuples": 0.2}  # the weight of a term; a formula has many tuples
SHARPNESS = 8  # the power of the overlap
ROUNDING = 1e-4  # idf is stored in single precision
# A smaller overlap counts nothing: features are divided by their deviation, which would raise the smallest values.
LEAST = 0.75


@compiled
def _add_shared(
    posts: Any, starts: Any, ends: Any, keys: Any, fields: Any, slots: Any, slot_keys: Any, slot_places: Any,
    weights: Any, out: Any,
) -> None:  # fmt: skip
    """Add to `out` the weights of the query terms in the title of each thread."""
    for thread in range(len(posts)):
        post = posts[thread]
        for at in range(starts[post], ends[post]):
            slot = keys[at] & (SLOTS - 1)
            for spot in range(slots[slot], slots[slot + 1]):
                if slot_keys[spot] == keys[at] and fields[at] == TITLE:
                    out[thread] += weights[slot_places[spot]]


@compiled
def _title_entries(posts: Any, starts: Any, ends: Any, fields: Any, out_thread: Any, out_entry: Any) -> int:
    """Write thread and position of each entry of a title; return how many there are."""
    count = 0
    for thread in range(len(posts)):
        post = posts[thread]
        for at in range(starts[post], ends[post]):
            if fields[at] == TITLE:
                if count < len(out_thread):
                    out_thread[count] = thread
                    out_entry[count] = at
                count += 1
    return count


def _known(keys: npt.NDArray[np.int64], ascending: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which keys are among others in ascending order."""
    if not len(ascending):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[at] == keys)


class TitleIdentity(Feature):
    """The overlap (Dice coefficient by idf) of the query's terms with those of the title, to a high power, times the
    best match of the words. So a query that names a theorem finds the thread with that title first."""

    name = "title.identity"
    families = tuple(FAMILIES)
    text = "the title matches your query"
    unit_of = "thread.words"
    # For whole posts the value is near 0, so that training on them would not see what it is for.
    least_weight: ClassVar[float] = 0.05

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the value of each thread's title."""
        values = np.zeros(batch.thread_count, np.float32)
        possible = self._possible(batch)
        if len(possible):
            values[possible] = self._overlaps(batch, possible) * batch.context.best_match
        return values

    def _possible(self, batch: CandidateBatch) -> Ints:
        """Return the threads whose titles overlap enough if they have no terms but those shared with the query."""
        shared, asked = np.zeros(batch.thread_count), 0.0
        for family, weight in FAMILIES.items():
            terms, rows = batch.context.terms[family], batch.documents.terms[family]
            asked += weight * float(terms.idf.sum())
            if len(terms):
                table = make_lookup(terms.keys)
                _add_shared(
                    batch.documents.starts, rows.starts, rows.ends, rows.keys, rows.fields, table.starts, table.keys,
                    table.places, weight * terms.idf.astype(np.float64), shared,
                )  # fmt: skip
        return np.flatnonzero(2 * shared >= (LEAST - ROUNDING) * (asked + shared)) if asked else NO_THREADS

    def _overlaps(self, batch: CandidateBatch, chosen: Ints) -> npt.NDArray[np.float64]:
        """Return the overlap of some threads, to the power: 1 for the same words and formulas."""
        shared, total = np.zeros(len(chosen)), np.zeros(len(chosen))
        asked = 0.0
        posts = batch.documents.starts[chosen]
        for family, weight in FAMILIES.items():
            terms, rows = batch.context.terms[family], batch.documents.terms[family]
            asked += weight * float(terms.idf.sum())
            size = int((rows.ends[posts] - rows.starts[posts]).sum())
            threads, entries = np.empty(size, np.int64), np.empty(size, np.int64)
            count = _title_entries(posts, rows.starts, rows.ends, rows.fields, threads, entries)
            threads, keys = threads[:count], rows.keys[entries[:count]].astype(np.int64)
            idf = weight * batch.context.idf(batch.documents.lookup.documents(family, keys))
            total += np.bincount(threads, idf, len(chosen))
            known = _known(keys, terms.keys)
            shared += np.bincount(threads[known], idf[known], len(chosen))
        overlap = 2 * shared / np.maximum(asked + total, 1e-9)
        return np.where(overlap >= LEAST, np.minimum(overlap, 1.0) ** SHARPNESS, 0.0)


class NameMatch(Feature):
    """Whether one of the thread's names, in one field, is the query. A match counts as much as the best match of the
    words, so that it weighs the same in a collection of any size."""

    families = (schema.NAME_FAMILY,)
    unit_of = "thread.words"
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, name: str, field: str, text: str) -> None:
        self.name = f"name.{name}"
        self.text = text
        self._view = schema.View("thread", ((field, 1.0),))

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of names, and that of words, if the index knows the query as a name."""
        return (schema.NAME_FAMILY, "words") if len(context.terms[schema.NAME_FAMILY]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the best match for each thread with the name."""
        terms = batch.context.terms[schema.NAME_FAMILY]
        found = batch.presence(terms, np.ones(len(terms), np.float32), self._view)
        return np.where(found > 0, np.float32(batch.context.best_match), np.float32(0.0))


Floats = npt.NDArray[np.float64]
BEST = 20  # threads that are assumed to be relevant
MOST_TERMS = {"words": 60, "tuples": 120}
TERM_BITS = 32
NAMING = ("name.title", "name.defined", "title.identity")
NAMED = 0.5  # of the best match: from this value of these features on, a thread is what the query names
FEEDBACK = "feedback"
TEXTS = {"words": "words that the best hits share: {}", "tuples": "formulas like those of the best hits"}


class Feedback(Feature):
    """Scores of the feedback terms of one family."""

    stage: ClassVar[int] = 2
    prepares: ClassVar[str] = FEEDBACK
    # It did not help to find answers to topics of both years that it was not fitted on (docs/results).
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, family: str) -> None:
        self.name = f"feedback.{family}"
        self.families = (family,)
        self._family = family

    def prepare(self, batch: CandidateBatch, so_far: RankingSoFar) -> dict[str, QueryTerms]:
        """Return the terms of the best threads by family; none if the query does not need them."""
        # Feedback is safe where threads with answers say the same in many words, and no thread is what the query names.
        # Among documents, of which each says one thing, the words of its neighbours lead away from the right one
        # (docs/why/ranking.md).
        named, values = NAMED * batch.context.best_match, so_far.values
        is_named = any(values[name].max(initial=0.0) >= named for name in NAMING if name in values)
        if is_named or not batch.context.index.is_forum:
            return {}
        return feedback_terms(batch.context, batch.documents, so_far.best_threads("questions", BEST))

    def compute(self, batch: CandidateBatch) -> Values:
        """Return BM25 for each thread; 0 until there is feedback."""
        terms = self._terms(batch)
        return np.zeros(batch.thread_count, np.float32) if terms is None else batch.thread_scores(terms)

    def _terms(self, batch: CandidateBatch) -> QueryTerms | None:
        terms: dict[str, QueryTerms] = batch.context.prepared.get(FEEDBACK, {})
        return terms.get(self._family)

    def describe(self, batch: CandidateBatch) -> str:
        """Name the strongest words."""
        terms = self._terms(batch)
        named = () if terms is None else [text for text in terms.strongest(10).texts if text]
        return TEXTS[self._family].format(", ".join(named))


def feedback_terms(context: QueryContext, documents: Threads, best: Ints) -> dict[str, QueryTerms]:
    """Return the terms of each family that weigh most in the best threads of a batch; the weights sum to 1."""
    return {family: _feedback_terms(context, documents, best, family) for family in MOST_TERMS}


def _feedback_terms(context: QueryContext, documents: Threads, best: Ints, family: str) -> QueryTerms:
    """Return the terms with the largest sum of strengths over the threads, of those that more than one thread has."""
    rows, field_weights = documents.terms[family], np.array(schema.THREAD.vector(schema.FIELDS))
    posts = span_positions(documents.starts[best], documents.ends[best])
    thread_of_post = np.repeat(np.arange(len(best)), documents.ends[best] - documents.starts[best])
    entries = span_positions(rows.starts[posts], rows.ends[posts])
    threads = np.repeat(thread_of_post, rows.ends[posts] - rows.starts[posts])
    distinct, local = np.unique(rows.keys[entries], return_inverse=True)
    # An integer identifies a thread and a term, so that equal pairs are counted together.
    pairs, place = np.unique((threads << TERM_BITS) | local, return_inverse=True)
    counts = np.bincount(place, field_weights[rows.fields[entries]] * rows.counts[entries], len(pairs))
    lengths = np.bincount(thread_of_post, rows.lengths[posts] @ field_weights, len(best))[pairs >> TERM_BITS]
    mean = max(context.index.snapshot.info.lengths(family, schema.THREAD).mean_length, 1e-9)
    strengths = context.weighting.strength(np.asarray(counts, np.float64), lengths, mean)
    numbers, place = np.unique(pairs & ((1 << TERM_BITS) - 1), return_inverse=True)
    keys = distinct[numbers].astype(np.int64)
    shared = np.bincount(place, minlength=len(keys)) >= min(2, len(best))
    sums = np.asarray(np.bincount(place, strengths, len(keys)), np.float64)
    lookup, keys, sums = documents.lookup, keys[shared], sums[shared]
    # Those with the largest sum x idf, with weights that sum to 1.
    shortlist = np.argsort(-sums, kind="stable")[: 10 * MOST_TERMS[family]]
    weight = sums[shortlist] * context.idf(lookup.documents(family, keys[shortlist]))
    top = np.argsort(-weight, kind="stable")[: MOST_TERMS[family]]
    shares = (weight[top] / max(float(weight[top].sum()), 1e-9)).astype(np.float32)
    order = np.argsort(keys[shortlist[top]], kind="stable")
    kept = keys[shortlist[top]][order]
    counts, texts = lookup.documents(family, kept), tuple(lookup.texts(family, kept))
    return QueryTerms(family, kept, counts, shares[order], context.idf(counts), texts, (-1,) * len(kept))


FEATURES: tuple[Feature, ...] = (
    *(TermMatch(view, family) for view in schema.VIEWS for family in FAMILIES_OF.get(view, schema.TERM_FAMILIES)),
    *map(ConceptFeature, CONCEPT_FAMILIES),
    TagMatch(),
    TitleIdentity(),
    NameMatch("title", "title", "the title is exactly your query"),
    NameMatch("defined", "question", "defines what you search for"),
    *map(Feedback, MOST_TERMS),
)
