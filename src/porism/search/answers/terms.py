"""A query as weighted terms of each family, with the formula of the query that each term comes from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.analysis.names import query_keys
from porism.analysis.pieces import tag_text
from porism.analysis.schema import NAME_FAMILY, TAG_FAMILY, TERM_FAMILIES, THREAD
from porism.analysis.terms import feature_terms, text_terms
from porism.deadline import check
from porism.search.query import ReadQuery
from porism.search.query_features import query_features
from porism.store.protocols import UNKNOWN, Term, TermIndex
from porism.store.weighting import lucene_idf

MOST_TERMS = 400  # of a family; a long post has more, and the last ones add nothing
FIELD_WEIGHTS = {"title": 3.0, "body": 1.0}
BOUND_APART = ("tuples", "paths")
SHORTEST = 2  # a formula in the body with fewer characters says nothing

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query in one family that the index knows.

    `codes` are ascending, unless the terms are the `strongest`; `weights` are the weights in the query; `idf` is the inverse document frequency over threads; `texts` are the terms
    themselves (empty where only the code is known); `formulas` has the number of the query formula that a term comes from (-1: text).
    """

    family: str
    codes: Ints
    weights: Floats
    idf: Floats
    texts: tuple[str, ...]
    formulas: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def scores(self) -> Floats:
        """Weight in the query x idf: what a match adds before counts and lengths come in."""
        product: Floats = self.weights * self.idf
        return product

    def strongest(self, number: int) -> QueryTerms:
        """Return the terms with the largest weight x idf, strongest first."""
        best = np.argsort(-self.scores, kind="stable")[:number]
        texts, formulas = (tuple(values[at] for at in best.tolist()) for values in (self.texts, self.formulas))
        return QueryTerms(self.family, self.codes[best], self.weights[best], self.idf[best], texts, formulas)

    def to_search(self) -> list[Term]:
        """Return the terms as the index takes them."""
        return [Term(self.family, text, float(weight)) for text, weight in zip(self.texts, self.weights, strict=True)]


def query_terms(query: ReadQuery, index: TermIndex) -> dict[str, QueryTerms]:
    """Return the weighted terms of a query. A term's weight is the square root of its count, a title counting three times."""
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
        # Tuples and paths of a wildcard are in many formulas, to most of which the query does not bind; `formula_overlap` binds it.
        bound_apart = BOUND_APART if formula.has_wildcards else ()
        for family, terms in feature_terms(features).items():
            for term in terms if family not in bound_apart else ():
                counts[family][term] += FIELD_WEIGHTS[formula.field]
                formulas[family].setdefault(term, number)
    weights = {family: {term: count**0.5 for term, count in found.items()} for family, found in counts.items()}
    weights[TAG_FAMILY] = dict.fromkeys(sorted(set(query.tags)), 1.0)
    in_title = [formula.parsed.latex for formula in query.formulas if formula.field == "title"]
    weights[NAME_FAMILY] = dict.fromkeys(query_keys(query.title, in_title), 1.0)
    return known_terms(weights, index, formulas)


def known_terms(
    weights: Mapping[str, Mapping[str, float]],
    index: TermIndex,
    formulas: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, QueryTerms]:
    """Look up the terms of all families in one call; keep those that the index knows, the strongest if they are too many."""
    terms = [Term(family, text, weight) for family, found in weights.items() for text, weight in found.items()]
    statistics = index.statistics(terms, THREAD)
    documents = index.count("words", THREAD).documents
    idf = lucene_idf(documents, statistics.documents.astype(np.float64)).astype(np.float32)
    result: dict[str, QueryTerms] = {}
    start = 0
    for family, found in weights.items():
        places = slice(start, start + len(found))
        start += len(found)
        origins = (formulas or {}).get(family, {})
        result[family] = _select(family, terms[places], statistics.codes[places], idf[places], origins)
    return result


def _select(family: str, terms: Sequence[Term], codes: Ints, idf: Floats, origins: Mapping[str, int]) -> QueryTerms:
    weights = np.array([term.weight for term in terms], np.float32)
    known = np.flatnonzero(codes != UNKNOWN)
    if len(known) > MOST_TERMS:
        known = known[np.argsort(-(weights * idf)[known], kind="stable")[:MOST_TERMS]]
    kept = known[np.argsort(codes[known], kind="stable")]
    texts = tuple(terms[at].text for at in kept.tolist())
    return QueryTerms(
        family, codes[kept], weights[kept], idf[kept], texts, tuple(origins.get(text, -1) for text in texts)
    )
