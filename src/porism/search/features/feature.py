"""What a feature is, and the reasons it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from porism.search.answers.context import Candidate, CandidateBatch, Values

Level = Literal["thread", "answer"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a feature's value and what it comes from: a word of the query, a formula of the query (by number), or only `text`.

    Reasons about the same word or formula are shown together, whichever features they come from.
    """

    value: float
    text: str
    word: str = ""
    formula: int = -1


class Feature:
    """A number for every candidate. Subclasses set `name` and `level` and implement `compute`; `explain` may name finer reasons.

    `families` and `vectors` declare what the feature reads of documents. A feature of stage 1 reads the ranking that the features of stage 0
    give (through `context.feedback`).
    """

    name: str
    level: Level = "thread"
    stage: ClassVar[int] = 0
    families: Sequence[str] = ()
    vectors: Sequence[str] = ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return a value of at least 0 for each thread of the batch, or for each answer if the level is `answer`."""
        raise NotImplementedError

    def explain(self, batch: CandidateBatch, candidate: Candidate) -> list[Reason]:
        """Return reasons that sum to the candidate's value; by default one, the value itself."""
        return [Reason(self.value(batch, candidate), self.describe(batch))]

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words a reader understands."""
        return self.name

    def value(self, batch: CandidateBatch, candidate: Candidate) -> float:
        """Return the feature's value for one candidate."""
        if self.level == "answer":
            return 0.0 if candidate.answer is None else float(self.compute(batch)[candidate.answer])
        return float(self.compute(batch)[candidate.thread])
