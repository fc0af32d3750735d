"""A query as the engine searches for it: weighted terms, those that concepts add, and the text that encoders read; and
the scores of a batch of threads and of their answers for these terms, in several views.

BM25 is compiled. The terms of each candidate are read once. Counts are summed per view by the weights of fields, then
saturated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.learned import query_keys
from porism.analysis.schema import DOCUMENT, FIELDS, NAME_FAMILY, TAG_FAMILY, TERM_FAMILIES, THREAD, VIEWS, Unit, View
from porism.analysis.terms import feature_terms, model_text, question_text, tag_text, text_terms
from porism.compiled import compiled
from porism.deadline import check
from porism.search.index import ConceptMatch
from porism.search.query import ReadQuery, query_features
from porism.store.protocols import Snapshot
from porism.store.records import UNKNOWN, StoreInfo, Term, TermRows, Threads
from porism.store.weighting import BM25, TfIdfWeighting, length_factor, saturate
from porism.text.read import read_official

MOST_TERMS = 400  # of a family; a long post has more, and the last ones add nothing
FIELD_WEIGHTS = {"title": 3.0, "body": 1.0}
SKIPPED_FOR_WILDCARDS = ("tuples", "paths")
SHORTEST = 2  # a formula in the body with fewer characters says nothing

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query in one family that the index knows.

    `keys` are ascending, unless the terms are the `strongest`; `documents` are the numbers of threads with each term;
    `weights` are the weights in the query; `idf` is the inverse document frequency over threads; `texts` are the terms
    themselves (none where only the keys are known); `formulas` has the number of the query formula that a term comes
    from (-1: text)."""

    family: str
    keys: Ints
    documents: Ints
    weights: Floats
    idf: Floats
    texts: tuple[str, ...]
    formulas: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def scores(self) -> Floats:
        """Weight in the query x idf: what a match adds before counts and lengths come in."""
        product: Floats = self.weights * self.idf
        return product

    def strongest(self, number: int) -> QueryTerms:
        """Return the terms with the largest weight x idf, strongest first."""
        best = np.argsort(-self.scores, kind="stable")[:number]
        texts, formulas = (tuple(values[at] for at in best.tolist()) for values in (self.texts, self.formulas))
        return QueryTerms(
            self.family, self.keys[best], self.documents[best], self.weights[best], self.idf[best], texts, formulas
        )

    def to_search(self) -> list[Term]:
        """Return the terms as the index takes them."""
        return [Term(self.family, text, float(weight)) for text, weight in zip(self.texts, self.weights, strict=True)]


class WeightedTerms(NamedTuple):
    """Terms of a query before they are looked up: weights by family, and the formulas that the terms come from."""

    weights: Mapping[str, Mapping[str, float]]
    formulas: Mapping[str, Mapping[str, int]] = {}


def query_terms(query: ReadQuery) -> WeightedTerms:
    """Return the weighted terms of a query: the square roots of their counts, a title counting three times."""
    counts: dict[str, dict[str, float]] = {family: defaultdict(float) for family in TERM_FAMILIES}
    formulas: dict[str, dict[str, int]] = {family: {} for family in TERM_FAMILIES}
    texts = (("title", query.title), ("body", query.body), ("body", tag_text(query.tags)))
    for field, text in texts:
        for family, terms in text_terms(text).items():
            for term in terms:
                counts[family][term] += FIELD_WEIGHTS[field]
    analysed = query_features([formula.parsed for formula in query.formulas])
    for number, (formula, features) in enumerate(zip(query.formulas, analysed, strict=True)):
        check()
        if formula.field == "body" and len(formula.parsed.latex.strip()) < SHORTEST:
            continue
        # Tuples and paths of a wildcard are in many formulas, to most of which the query does not bind;
        # `formula_overlap` binds it.
        skipped = SKIPPED_FOR_WILDCARDS if formula.has_wildcards else ()
        for family, terms in feature_terms(features).items():
            for term in terms if family not in skipped else ():
                counts[family][term] += FIELD_WEIGHTS[formula.field]
                formulas[family].setdefault(term, number)
    weights = {family: {term: count**0.5 for term, count in found.items()} for family, found in counts.items()}
    weights[TAG_FAMILY] = dict.fromkeys(sorted(set(query.tags)), 1.0)
    in_title = [formula.parsed.latex for formula in query.formulas if formula.field == "title"]
    weights[NAME_FAMILY] = dict.fromkeys(query_keys(query.title, in_title), 1.0)
    return WeightedTerms(weights, formulas)


def known_terms(
    wanted: Sequence[WeightedTerms], snapshot: Snapshot, idf_of: Callable[[Ints], Floats]
) -> list[dict[str, QueryTerms]]:
    """Look up several sets of terms in one call; keep those that the index knows, the strongest of too many."""
    families = [(family, found, one) for one in wanted for family, found in one.weights.items()]
    terms = [Term(family, text, weight) for family, found, _ in families for text, weight in found.items()]
    statistics = snapshot.statistics(terms)
    idf = idf_of(statistics.documents)
    results: list[dict[str, QueryTerms]] = [{} for _ in wanted]
    result = {id(one): found for one, found in zip(wanted, results, strict=True)}
    start = 0
    for family, found, one in families:
        places = slice(start, start + len(found))
        start += len(found)
        keys, documents, own_idf = statistics.keys[places], statistics.documents[places], idf[places]
        weights = np.array([term.weight for term in terms[places]], np.float32)
        known = np.flatnonzero(keys != UNKNOWN)
        if len(known) > MOST_TERMS:
            known = known[np.argsort(-(weights * own_idf)[known], kind="stable")[:MOST_TERMS]]
        kept = known[np.argsort(keys[known], kind="stable")]
        texts = tuple(terms[places.start + at].text for at in kept.tolist())
        origins = one.formulas.get(family, {})
        formulas = tuple(origins.get(text, -1) for text in texts)
        arrays = (keys[kept], documents[kept], weights[kept], own_idf[kept])
        result[id(one)][family] = QueryTerms(family, *arrays, texts, formulas)
    return results


def encoder_text(query: ReadQuery) -> str:
    """Return the text of a query for an encoder; empty if the query has none."""
    topic = query.topic
    return question_text(read_official(topic.title), read_official(topic.question)) if topic else ""


def encoder_texts(query: ReadQuery) -> tuple[str, ...]:
    """Return the texts whose vectors make up that of a query: the whole query, and its title by itself.

    A query without a body has one text, a query without text none."""
    whole = encoder_text(query)
    title = model_text(read_official(query.topic.title)) if query.topic else ""
    return tuple(dict.fromkeys(text for text in (whole, title) if text))


# An answer has a view of its own, so that in its thread the text of all answers counts less, and comments on them do
# not count.
_OTHER_FIELDS = {field: weight for field, weight in THREAD.weights if field != "answer_comments"}
QUESTION_VIEWS: Mapping[str, View] = {name: view for name, view in VIEWS.items() if name != "headings"}
DOCUMENT_VIEWS: Mapping[str, View] = {**VIEWS, "thread": DOCUMENT}
ANSWER_VIEWS: Mapping[str, View] = {**QUESTION_VIEWS, "thread": View.of("thread", {**_OTHER_FIELDS, "answer": 0.5})}


CONCEPT_FAMILIES = ("parts", "pairs")


def concept_terms(matches: Sequence[ConceptMatch]) -> WeightedTerms:
    """Return the terms that concepts add to a query: the formula as a sub-expression, or the name as pairs of words."""
    weights: dict[str, dict[str, float]] = {family: {} for family in CONCEPT_FAMILIES}
    for match in matches:
        pairs = [f"{a}_{b}" for a, b in pairwise(match.concept.name.split())]
        for term in [match.concept.formula_term] if match.by_name else pairs:
            weights[match.family].setdefault(term, 1.0)
    return WeightedTerms(weights)


SLOTS = 4096  # of the table that finds query terms by the last bits of their codes
VIEWS_KEPT = 64  # combinations of views whose weights are kept
DEFAULT = BM25()
# A long answer is often a thorough one, so that the length of answers counts less (docs/results/answer-search.md).
UNIT_WEIGHTINGS: Mapping[Unit, BM25] = {"answer": BM25(b=0.4)}


class Lookup(NamedTuple):
    """Keys of query terms by their last bits, those of slot s from starts[s] to starts[s + 1], and their places."""

    starts: npt.NDArray[np.int32]
    keys: npt.NDArray[np.unsignedinteger[Any]]
    places: npt.NDArray[np.int32]


def make_lookup(keys: Ints) -> Lookup:
    """Return the table of these keys."""
    starts = np.zeros(SLOTS + 1, np.int32)
    table = Lookup(starts, np.empty(len(keys), np.uint64), np.empty(len(keys), np.int32))
    _fill_lookup(keys, starts, table.keys, table.places)
    return table


@compiled
def _fill_lookup(keys: Any, starts: Any, slot_keys: Any, slot_places: Any) -> None:
    """Sort keys by slot, those of a slot in the order of the query."""
    for key in keys:
        starts[(key & (SLOTS - 1)) + 1] += 1
    for slot in range(SLOTS):
        starts[slot + 1] += starts[slot]
    # From the last place of each slot down; the starts then are those of the slots.
    for place in range(len(keys) - 1, -1, -1):
        slot = keys[place] & (SLOTS - 1)
        starts[slot + 1] -= 1
        slot_keys[starts[slot + 1]] = keys[place]
        slot_places[starts[slot + 1]] = place
    for slot in range(SLOTS):
        starts[slot] = starts[slot + 1]
    starts[SLOTS] = len(keys)


def span_positions(starts: Ints, ends: Ints) -> Ints:
    """Return all integers of the spans, one span after another."""
    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes))


class ViewTable(NamedTuple):
    """Weights of fields, mean length, and weighting of each view."""

    weights: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    weightings: tuple[TfIdfWeighting, ...]


def view_table(info: StoreInfo, family: str, views: Sequence[View], weighting: TfIdfWeighting = DEFAULT) -> ViewTable:
    """Return the table of some views in a family."""
    means = [info.lengths(family, view).mean_length for view in views]
    weightings = tuple(UNIT_WEIGHTINGS.get(view.unit, DEFAULT) if weighting == DEFAULT else weighting for view in views)
    return ViewTable(_field_weights(tuple(views)), np.array(means), weightings)


@lru_cache(VIEWS_KEPT)
def _field_weights(views: tuple[View, ...]) -> npt.NDArray[np.float64]:
    return np.array([view.vector(FIELDS) for view in views], np.float64).reshape(-1, len(FIELDS))


@compiled
def _score(
    threads_start: Any, threads_end: Any, starts: Any, ends: Any, keys: Any, fields: Any, occurrences: Any,
    lengths: Any, slots: Any, slot_keys: Any, slot_places: Any, scores: Any, view_weights: Any, view_means: Any,
    view_b: Any, post_weights: Any, post_mean: float, post_b: float, k1: float, out: Any, out_posts: Any,
) -> None:  # fmt: skip
    """Fill `out` (a row a view, a column a thread) and `out_posts` with BM25 scores."""
    views, terms = len(view_weights), len(scores)
    last = views  # the last column of counts is that of the post itself
    counts, factors = np.zeros((terms, views + 1)), np.zeros(views + 1)
    touched, own_touched = np.empty(terms, np.int64), np.empty(terms, np.int64)
    seen, own_seen = np.zeros(terms, np.bool_), np.zeros(terms, np.bool_)
    length = np.zeros(views)
    for thread in range(len(threads_start)):
        size = 0
        length[:] = 0.0
        for post in range(threads_start[thread], threads_end[thread]):
            own_size, own_length = 0, 0.0
            for field in range(lengths.shape[1]):
                own_length += post_weights[field] * lengths[post, field]
                for view in range(views):
                    length[view] += view_weights[view, field] * lengths[post, field]
            for at in range(starts[post], ends[post]):
                key = keys[at]
                slot = key & (SLOTS - 1)
                for spot in range(slots[slot], slots[slot + 1]):
                    if slot_keys[spot] != key:
                        continue
                    place = slot_places[spot]
                    field = fields[at]
                    times = np.float64(occurrences[at])
                    if not seen[place]:
                        seen[place], touched[size] = True, place
                        size += 1
                    if post_weights[field] > 0.0:
                        if not own_seen[place]:
                            own_seen[place], own_touched[own_size] = True, place
                            own_size += 1
                        counts[place, last] += post_weights[field] * times
                    for view in range(views):
                        if view_weights[view, field] > 0.0:
                            counts[place, view] += view_weights[view, field] * times
            if own_size:
                own_factor = length_factor(own_length, post_mean, k1, post_b) if post_mean > 0.0 else 0.0
                total = 0.0
                for at in range(own_size):
                    place = own_touched[at]
                    total += scores[place] * saturate(counts[place, last], own_factor, k1)
                    counts[place, last], own_seen[place] = 0.0, False
                out_posts[post] = total if post_mean > 0.0 else 0.0
        for view in range(views):
            known = view_means[view] > 0.0
            factors[view] = length_factor(length[view], view_means[view], k1, view_b[view]) if known else 0.0
        for at in range(size):
            place = touched[at]
            for view in range(views):
                if counts[place, view] > 0.0:
                    out[view, thread] += scores[place] * saturate(counts[place, view], factors[view], k1)
                    counts[place, view] = 0.0
            seen[place] = False


def score_batch(
    batch: Threads, rows: TermRows, keys: Ints, scores: Floats, views: ViewTable, posts: ViewTable
) -> tuple[Floats, Floats]:
    """Return the score of each thread in each view (a row a view), and of each post of the batch in the one view of
    `posts`. `scores` are weight x idf of the query terms with these keys."""
    out = np.zeros((len(views.means), len(batch.numbers)))
    out_posts = np.zeros(len(batch.post_ids), np.float32)
    weightings = (*views.weightings, *posts.weightings)
    bm25 = [one for one in weightings if isinstance(one, BM25)]
    if len(bm25) < len(weightings):
        threads = np.repeat(np.arange(len(batch.numbers)), batch.ends - batch.starts)
        for at in range(len(views.means)):
            one = ViewTable._make(column[at : at + 1] for column in views)
            out[at] = _weigh(rows, keys, scores, one, threads, len(batch.numbers))
        out_posts[:] = _weigh(rows, keys, scores, posts, np.arange(len(out_posts)), len(out_posts))
    elif len(keys):
        table, b = make_lookup(keys), np.array([one.b for one in bm25])
        _score(
            batch.starts, batch.ends, *rows, table.starts, table.keys, table.places, scores.astype(np.float64),
            views.weights, views.means, b[:-1], posts.weights[0], float(posts.means[0]), float(b[-1]), bm25[0].k1, out,
            out_posts,
        )  # fmt: skip
    return out.astype(np.float32), out_posts


def _weigh(
    rows: TermRows, keys: Ints, scores: Floats, view: ViewTable, unit_of_post: Ints, units: int
) -> npt.NDArray[np.float64]:
    """Return the scores of units, posts or whole threads, by any weighting. The table has one view."""
    total = np.zeros(units)
    weights, mean = view.weights[0], float(view.means[0])
    if not len(keys) or mean <= 0:
        return total
    lengths: npt.NDArray[np.float64] = np.bincount(unit_of_post, rows.lengths @ weights, units).astype(np.float64)
    unit_of_entry = np.repeat(unit_of_post, rows.ends - rows.starts)
    entries = span_positions(rows.starts, rows.ends)
    found = rows.keys[entries].astype(np.int64)
    place = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    counted = weights[rows.fields[entries]] * rows.counts[entries]
    for term in range(len(keys)):
        own = (place == term) & (keys[place] == found)
        counts = np.bincount(unit_of_entry[own], counted[own], units).astype(np.float64)
        has = counts > 0
        total[has] += float(scores[term]) * view.weightings[0].strength(counts[has], lengths[has], mean)
    return total


def contributions(rows: TermRows, posts: range, keys: Ints, scores: Floats, view: ViewTable) -> dict[int, float]:
    """Return what each term adds, by its position in `keys`, to the score of some posts together, in one view."""
    weights, mean = view.weights[0], float(view.means[0])
    if not len(keys) or mean <= 0:
        return {}
    counts = np.zeros(len(keys))
    length = 0.0
    for post in posts:
        entries = slice(int(rows.starts[post]), int(rows.ends[post]))
        at = np.minimum(np.searchsorted(keys, rows.keys[entries].astype(np.int64)), len(keys) - 1)
        known = keys[at] == rows.keys[entries]
        np.add.at(counts, at[known], weights[rows.fields[entries][known]] * rows.counts[entries][known])
        length += float(weights @ rows.lengths[post])
    places = np.flatnonzero(counts)
    strengths = view.weightings[0].strength(counts[places], np.full(len(places), length), mean)
    pairs = zip(places.tolist(), strengths.tolist(), strict=True)
    return {place: float(scores[place]) * strength for place, strength in pairs}
