"""Re-ranking in blocks (MIRMU): a model reorders answers inside consecutive blocks of ranks, so that it cannot ruin the whole ranking."""

from __future__ import annotations

import numpy as np

from porism.errors import PorismError
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker
from porism.systems.declared.context import SystemContext
from porism.systems.neural.pairs import PairScorer, open_pair_scorer
from porism.systems.neural.texts import Formulas, InputFormat
from porism.systems.queries.topic_query import topic_of


def block_reranker(
    context: SystemContext,
    cross_encoder: str,
    blocks: tuple[int, ...] = (4, 8, 12, 16, 32, 64, 128),
    query: str = "{title} {body}",
    formulas: Formulas = "dollars",
    lower: bool = False,
    length: int = 512,
) -> Reranker:
    """Reorder answers inside consecutive blocks of these sizes; what is behind the last block keeps its order."""
    if not blocks or min(blocks) < 1:
        raise PorismError(f"blocks are {blocks}", fix="write sizes from 1, as 4,8,12")
    form = InputFormat(formulas, lower, query)
    return BlockReranker(open_pair_scorer(context, cross_encoder, form, length), tuple(blocks))


class BlockReranker(Reranker):
    """Reorders hits inside blocks by the score of each pair. The scores of the ranking stay at their ranks."""

    depth = DEPTH

    def __init__(self, scorer: PairScorer, blocks: tuple[int, ...]) -> None:
        self._scorer, self._blocks = scorer, blocks
        self.models = (scorer.use,)

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the ranking with each block in the order of the model; of equal scores the order of before is kept."""
        ids = np.array(ranking.ids, np.int64)
        first = ids[: sum(self._blocks)]
        if not len(first):
            return ranking
        scores = self._scorer.scores(self._scorer.form.topic(topic_of(query)), first)
        start = 0
        for size in self._blocks:
            end = min(start + size, len(first))
            ids[start:end] = first[start:end][np.argsort(-scores[start:end], kind="stable")]
            start = end
        return Ranking(ids, ranking.scores)
