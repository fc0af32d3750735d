"""Similarity of vectors: those that latent semantic analysis learned from the collection, and those of the encoder of
the index. Without such vectors every value is 0."""

from __future__ import annotations

from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FORMULA_FAMILIES
from porism.analysis.terms import EncodedField
from porism.search.features.feature import Feature, Level
from porism.search.query import KINDS, Kind
from porism.search.retrieval.context import CandidateBatch, Values

F = TypeVar("F", bound=np.floating)
POWER = 4


class VectorSimilarity(Feature):
    """The cosine of the query's and the thread's vector in one family."""

    def __init__(self, family: str, text: str) -> None:
        self.name = f"vectors.{family}"
        self.text = text
        self.vectors = (family,)
        # Vectors of formulas did not help to find questions that they were not fitted on (docs/results).
        self.fitted_for = KINDS if family == "words" else ("answers",)
        self.of_formulas = family in FORMULA_FAMILIES
        self._family = family

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread."""
        if self._family not in batch.documents.vectors:
            return np.zeros(batch.thread_count, np.float32)
        return np.asarray(batch.documents.vectors[self._family] @ batch.context.query_vector(self._family), np.float32)


def same_question(cosines: npt.NDArray[F]) -> npt.NDArray[F]:
    """Return a high power of the cosines of a query and questions: large only if they ask nearly the same."""
    power: npt.NDArray[F] = np.maximum(cosines, 0.0) ** POWER
    return power


class EncoderSimilarity(Feature):
    """The cosine of the query's vector and that of the title, the question or the answer; negative ones count as 0."""

    # Which threads have their formulas compared does not depend on the encoder: it only adds to the score.
    stage: ClassVar[int] = 1
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, field: EncodedField, level: Level, text: str) -> None:
        self.name = f"encoder.{field}"
        self.level: Level = level
        self.text = text
        self.vectors = (field,)
        self._field = field

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread or answer."""
        vectors, query = batch.documents.vectors.get(self._field), batch.context.encoded_query
        if vectors is None or query is None:
            return np.zeros(len(batch.ids("answers" if self.level == "answer" else "questions")), np.float32)
        return np.asarray(np.maximum(vectors @ query, 0.0), np.float32)

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words, with the encoder's name."""
        encoder = batch.context.index.snapshot.learned.encoder
        return f"{self.text} ({encoder.name})" if encoder else self.text


class SameQuestion(EncoderSimilarity):
    """A high power of the cosine of the query's vector and that of the question.

    Answers gain by it on topics that were not fitted, and less by the cosine itself, by titles or by answers
    (docs/results/models.md)."""

    fitted_for: tuple[Kind, ...] = ("answers",)

    def __init__(self) -> None:
        super().__init__("questions", "thread", "a question of similar meaning")
        self.name = "encoder.same_question"

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the power for each thread."""
        return same_question(super().compute(batch))


FEATURES: tuple[Feature, ...] = (
    VectorSimilarity("words", "about a similar subject"),
    VectorSimilarity("tuples", "its formulas have a similar structure"),
    EncoderSimilarity("titles", "thread", "a title of similar meaning"),
    EncoderSimilarity("questions", "thread", "a question of similar meaning"),
    EncoderSimilarity("answers", "answer", "an answer of similar meaning"),
    SameQuestion(),
)
