"""Similarity of the query to questions and answers by the bi-encoder of the index. Without vectors of posts every value
is 0."""

from __future__ import annotations

from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from porism.analysis.pieces import EncodedField
from porism.search.features.feature import Feature, Kind, Level
from porism.search.retrieval.context import CandidateBatch, Values

F = TypeVar("F", bound=np.floating)
POWER = 4
TEXTS: dict[EncodedField, str] = {
    "titles": "a title of similar meaning",
    "questions": "a question of similar meaning",
    "answers": "an answer of similar meaning",
}


def same_question(cosines: npt.NDArray[F]) -> npt.NDArray[F]:
    """Return a high power of cosines of a query and questions, 0 for negative ones: large only if they ask nearly the
    same."""
    power: npt.NDArray[F] = np.maximum(cosines, 0.0) ** POWER
    return power


class EncoderSimilarity(Feature):
    """The cosine of the query's vector and that of the title, the question or the answer; negative ones count as 0."""

    # Which threads have their formulas compared does not depend on the model: it only adds to the score of the engine
    # without one.
    stage: ClassVar[int] = 1
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, field: EncodedField, level: Level) -> None:
        self.name = f"encoder.{field}"
        self.level: Level = level
        self.vectors = (field,)
        self._field = field

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread or answer."""
        vectors, query = batch.documents.vectors.get(self._field), batch.context.encoded_query
        if vectors is None or query is None:
            return np.zeros(len(batch.ids("answers" if self.level == "answer" else "questions")), np.float32)
        return np.asarray(np.maximum(vectors @ query, 0.0), np.float32)

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words, with the model's name."""
        encoder = batch.context.index.snapshot.learned.encoder
        return f"{TEXTS[self._field]} ({encoder.name})" if encoder else TEXTS[self._field]


class SameQuestion(EncoderSimilarity):
    """A high power of the cosine of the query's vector and that of the question: large only if they ask nearly the
    same.

    Answers gain by it on topics that were not fitted, and less by the cosine itself, by titles or by answers
    (docs/results/models.md)."""

    fitted_for: tuple[Kind, ...] = ("answers",)

    def __init__(self) -> None:
        super().__init__("questions", "thread")
        self.name = "encoder.same_question"

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the power for each thread."""
        return same_question(super().compute(batch))


FEATURES = (
    EncoderSimilarity("titles", "thread"),
    EncoderSimilarity("questions", "thread"),
    EncoderSimilarity("answers", "answer"),
    SameQuestion(),
)
