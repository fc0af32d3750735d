"""Formula search as a retriever: for Task 2, and to be fused with others."""

from __future__ import annotations

import numpy as np

from porism.analysis.words import FORMULA
from porism.formula import parse
from porism.search.formulas.searcher import FormulaSearcher, Mode
from porism.search.query import QueryFormula, ReadQuery
from porism.search.retriever import Ranking, Retriever


class FormulaRetriever(Retriever):
    """Finds distinct formulas, by visual id, for the first formula of a query."""

    finds = "formulas"

    def __init__(self, searcher: FormulaSearcher, mode: Mode = "similar") -> None:
        self._searcher = searcher
        self._mode: Mode = mode

    def __repr__(self) -> str:
        return f"FormulaRetriever(mode={self._mode!r})"

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k formulas; none for a query without a formula."""
        if not query.formulas or k < 1:
            return Ranking.of({})
        hits = self._searcher.search(query.formulas[0].parsed, k, self._mode)
        return Ranking(np.array([hit.visual_id for hit in hits], np.int64), np.array([hit.score for hit in hits]))


def formula_query(latex: str) -> ReadQuery:
    """Return the query that consists of one formula, which may be any string."""
    return ReadQuery(FORMULA, "", (), (QueryFormula(parse(latex, wildcards=True)),))
