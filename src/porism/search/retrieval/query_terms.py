"""A query as the engine searches for it: weighted terms, those that concepts add, and the text that encoders read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.learned import query_keys
from porism.analysis.schema import DOCUMENT, NAME_FAMILY, TAG_FAMILY, TERM_FAMILIES, THREAD, VIEWS, View
from porism.analysis.terms import feature_terms, model_text, question_text, tag_text, text_terms
from porism.deadline import check
from porism.search.index import ConceptMatch
from porism.search.query import ReadQuery, query_features
from porism.store.protocols import Snapshot
from porism.store.records import UNKNOWN, Term, TermStatistics
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
        own = TermStatistics(statistics.keys[places], statistics.documents[places])
        result[id(one)][family] = _select(family, terms[places], own, idf[places], one.formulas.get(family, {}))
    return results


def _select(
    family: str, terms: Sequence[Term], found: TermStatistics, idf: Floats, origins: Mapping[str, int]
) -> QueryTerms:
    weights, keys = np.array([term.weight for term in terms], np.float32), found.keys
    known = np.flatnonzero(keys != UNKNOWN)
    if len(known) > MOST_TERMS:
        known = known[np.argsort(-(weights * idf)[known], kind="stable")[:MOST_TERMS]]
    kept = known[np.argsort(keys[known], kind="stable")]
    texts = tuple(terms[at].text for at in kept.tolist())
    formulas = tuple(origins.get(text, -1) for text in texts)
    return QueryTerms(family, keys[kept], found.documents[kept], weights[kept], idf[kept], texts, formulas)


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
