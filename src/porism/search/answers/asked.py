"""A query as weighted terms of each family, with what each term was in the query."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from porism.index.analysis.terms import FAMILIES, code, formula_terms, text_terms
from porism.index.storage.rows import Codes, Values
from porism.index.threads.posts import Posts
from porism.index.threads.terms import tag_text
from porism.search.answers.scoring import idf
from porism.search.query import ReadQuery

MOST_TERMS = 400  # of a family; a long post has more, and the last ones weigh nothing
FIELD_WEIGHTS = {"title": 3.0, "body": 1.0}
ALONE = 2  # a formula of the body with fewer characters than this says nothing


@dataclass(frozen=True, slots=True)
class Asked:
    """The terms of one family: codes ascending, the weight in the query, what the term is worth, and its origin: the term and
    the number of the formula it stands in (-1 for text)."""

    codes: Codes
    weights: Values
    worth: Values
    origins: tuple[tuple[str, int], ...]

    @property
    def power(self) -> Values:
        """Weight in the query x worth in the collection."""
        power: Values = self.weights * self.worth
        return power


def ask(query: ReadQuery, posts: Posts) -> dict[str, Asked]:
    """The weighted terms of a query. A term's weight is the root of how often it stands there, in a title three times as much."""
    counts: dict[str, dict[str, float]] = {family: defaultdict(float) for family in FAMILIES}
    origins: dict[str, dict[str, int]] = {family: {} for family in FAMILIES}
    texts = (("title", query.title), ("body", query.body), ("body", tag_text(query.tags)))
    for field, text in texts:
        for family, terms in text_terms(text).items():
            for term in terms:
                counts[family][term] += FIELD_WEIGHTS[field]
    for number, formula in enumerate(query.formulas):
        if formula.field == "body" and len(formula.parsed.latex.strip()) < ALONE:
            continue
        for family, terms in formula_terms(formula.parsed).items():
            for term in terms:
                counts[family][term] += FIELD_WEIGHTS[formula.field]
                origins[family].setdefault(term, number)
    return {family: _asked(family, counts[family], origins[family], posts) for family in FAMILIES}


def _asked(family: str, counts: dict[str, float], origins: dict[str, int], posts: Posts) -> Asked:
    terms = list(counts)
    codes = np.array([code(term) for term in terms], np.uint32)
    weights = np.sqrt(np.array([counts[term] for term in terms], np.float32))
    return keep(family, codes, weights, [(term, origins.get(term, -1)) for term in terms], posts)


def keep(family: str, codes: Codes, weights: Values, origins: list[tuple[str, int]], posts: Posts) -> Asked:
    """The terms that the collection has, the strongest if they are too many, in the order of their codes."""
    frequency = np.array([posts.document_frequency(family, number) for number in codes.tolist()], np.float64)
    worth = idf(len(posts.question_ids), frequency)
    known = np.flatnonzero(frequency > 0)
    if len(known) > MOST_TERMS:
        known = known[np.argsort(-(weights * worth)[known], kind="stable")[:MOST_TERMS]]
    _, first = np.unique(codes[known], return_index=True)
    kept = known[first]
    return Asked(codes[kept], weights[kept], worth[kept], tuple(origins[place] for place in kept.tolist()))
