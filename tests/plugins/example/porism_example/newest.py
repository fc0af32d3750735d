"""A part of a system: candidates ordered by their ids, the newest first."""

from __future__ import annotations

import numpy as np

from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Reranker
from porism.systems.declared.context import SystemContext


class Newest(Reranker):
    """Newer threads first."""

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        return Ranking.sorted(ranking.ids, ranking.ids.astype(np.float64))


def newest(context: SystemContext) -> Reranker:
    """Return the part; its parameters after the context are its options."""
    return Newest()
