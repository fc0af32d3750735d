"""DPRL in Task 3: the first answer of a ranking, shortened by an extractive summary.

Sentences become vectors of a model, the vectors are clustered, and the sentence nearest to each centre is kept, in the order of the answer (Miller, Leveraging
BERT for extractive text summarization, 2019). The summary has as many clusters as fit into 1,200 characters. An answer that fits is not shortened.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.models.encoder import BiEncoder
from porism.search.generation.answer_text import MAX_LENGTH, as_text, fit, join
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.answerer import Answerer, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.neural.chosen_models import chosen_model
from porism.systems.neural.opening import open_bi_encoder
from porism.systems.task3.posts import first_sentences
from porism.text.segment import Segment

Floats = npt.NDArray[np.float32]
ROUNDS = 25  # of k-means at most


def extractive_summary(context: SystemContext, bi_encoder: str, length: int = 256, limit: int = MAX_LENGTH) -> Answerer:
    """Shorten the first answer to the sentences that represent it best; `length` is the number of tokens read of a sentence."""
    chosen = chosen_model(bi_encoder, context.models)
    model = open_bi_encoder(chosen.directory, length)
    use = chosen.use(f"vectors of sentences, {model.record.pooling}, {model.record.length} tokens")
    made = Summary(context.content, model, limit)
    made.models = (use,)
    return made


class Summary(Answerer):
    """Answers with a summary of the first answer."""

    depth = 1

    def __init__(self, content: Content, model: BiEncoder, limit: int) -> None:
        self._content, self._model, self._limit = content, model, limit

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the whole answer if it fits, else its summary; nothing without a hit."""
        for number, sentences in first_sentences(self._content, ranking).items():
            if len(join(sentences)) > self._limit:
                vectors = self._model.encode([as_text(sentence) for sentence in sentences])
                sentences = summary_of(sentences, vectors, self._limit)
            return WrittenAnswer(join(fit(sentences, self._limit)), str(number))
        return WrittenAnswer("")


def summary_of(sentences: Sequence[Sequence[Segment]], vectors: Floats, limit: int) -> list[list[Segment]]:
    """Return the largest set of representative sentences that fits; the shortest sentence if none does."""
    for count in range(len(sentences) - 1, 0, -1):
        chosen = [list(sentences[place]) for place in representatives(vectors, count)]
        if len(join(chosen)) <= limit:
            return chosen
    return [min((list(sentence) for sentence in sentences), key=lambda one: len(as_text(one)))]


def representatives(vectors: Floats, count: int) -> list[int]:
    """Group vectors into `count` clusters. Return the position of the vector nearest to each centre, in order; the first vector is always one."""
    centres = vectors[_spread(vectors, count)]
    for _ in range(ROUNDS):
        nearest = _distances(vectors, centres).argmin(axis=1)
        moved = np.stack(
            [
                vectors[nearest == place].mean(axis=0) if (nearest == place).any() else centre
                for place, centre in enumerate(centres)
            ]
        )
        if np.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return sorted({0, *_distances(vectors, centres).argmin(axis=0).tolist()})


def _spread(vectors: Floats, count: int) -> list[int]:
    """Return positions that are far from each other, beginning with the first: a start of k-means without chance."""
    chosen = [0]
    while len(chosen) < count:
        chosen.append(int(_distances(vectors, vectors[chosen]).min(axis=1).argmax()))
    return chosen


def _distances(vectors: Floats, centres: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors[:, None, :] - centres[None, :, :], axis=2))
