"""Similarity of the query to questions and answers by the bi-encoder of the index. Without vectors of posts every value is 0."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from porism.index.encoded.texts import EncodedField
from porism.search.answers.context import CandidateBatch, Values
from porism.search.features.feature import KINDS, Feature, Kind, Level

TEXTS: dict[EncodedField, str] = {
    "titles": "a title of similar meaning",
    "questions": "a question of similar meaning",
    "answers": "an answer of similar meaning",
}


class EncoderSimilarity(Feature):
    """The cosine of the query's vector and that of the title, the question or the answer; negative ones count as 0."""

    # Which threads have their formulas compared does not depend on the model: it only adds to the score of the engine without one.
    stage: ClassVar[int] = 1
    # Answers gain by the similarity of questions only, on topics that were not fitted (docs/results/models.md).
    fitted_for: ClassVar[tuple[Kind, ...]] = ("questions",)

    def __init__(self, field: EncodedField, level: Level) -> None:
        self.name = f"encoder.{field}"
        self.level: Level = level
        self._field = field

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread or answer."""
        encoded = batch.context.index.encoded
        kind = "answers" if self.level == "answer" else "questions"
        ids = batch.ids(kind)
        if encoded is None or self._field not in encoded.fields or (query := batch.context.encoded_query) is None:
            return np.zeros(len(ids), np.float32)
        return np.maximum(encoded.similarities(self._field, ids, query), 0.0)

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words, with the model's name."""
        encoded = batch.context.index.encoded
        return f"{TEXTS[self._field]} ({encoded.encoder.entry.model.name})" if encoded else TEXTS[self._field]


class QuestionSimilarity(EncoderSimilarity):
    """The cosine of the query's vector and that of the question."""

    fitted_for: ClassVar[tuple[Kind, ...]] = KINDS


FEATURES = (
    EncoderSimilarity("titles", "thread"),
    QuestionSimilarity("questions", "thread"),
    EncoderSimilarity("answers", "answer"),
)
