"""A feature: whether the author of the question accepted the answer."""

from __future__ import annotations

import numpy as np

from porism.search.answers.context import CandidateBatch, Values
from porism.search.features.feature import Feature


class Accepted(Feature):
    """1 for an accepted answer, 0 for any other."""

    name = "accepted"
    level = "answer"

    def compute(self, batch: CandidateBatch) -> Values:
        return batch.documents.accepted[batch.answer_posts].astype(np.float32)

    def describe(self, batch: CandidateBatch) -> str:
        return "the author of the question accepted this answer"


FEATURES = (Accepted(),)
