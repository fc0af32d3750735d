"""The base class of features, and the reasons that explain their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from porism.search.query import KINDS, Kind
from porism.search.retrieval.context import Candidate, CandidateBatch, QueryContext, Values

Level = Literal["thread", "answer"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a feature's value and its cause: a word or a formula (by number) of the query, or what `text` says.

    Reasons about the same word or formula are shown together, whichever features they come from."""

    value: float
    text: str
    word: str = ""
    formula: int = -1


@dataclass(frozen=True, slots=True)
class RankingSoFar:
    """The candidates as the features of earlier stages rank them: what is searched, and the values of these features by
    name. `best_threads(kind, number)` returns the positions in the batch of the threads with the best questions or
    answers, best first."""

    kind: Kind
    values: Mapping[str, Values]
    best_threads: Callable[[Kind, int], npt.NDArray[np.int64]]


class Feature:
    """A number for every candidate. Subclasses set `name` and `level` and implement `compute`; `explain` may name finer
    reasons.

    `families` and `vectors` declare what the feature reads of documents; `reads` may name fewer families for a query. A
    feature of a later stage depends on the ranking by the features of the stages before it: `prepare` returns what it
    needs of that ranking, and `compute` finds it as `context.prepared[prepares]`. Features that give it the same name
    share it. A feature is measured in its own standard deviation, for questions in that of the feature `unit_of`, if it
    names one: a title that hardly any document shares a word with would otherwise count for more than the whole text. A
    feature `of_formulas` compares formulas of the query; for answers it counts by their share of the query. `porism
    model train ranking` fits a weight for the kinds of `fitted_for`; elsewhere the weight stays 0. It never makes the
    weight smaller than `least_weight`.
    """

    name: str
    text: str = ""
    level: Level = "thread"
    stage: ClassVar[int] = 0
    prepares: ClassVar[str] = ""
    families: Sequence[str] = ()
    vectors: Sequence[str] = ()
    of_formulas: bool = False
    unit_of: str = ""
    fitted_for: tuple[Kind, ...] = KINDS
    least_weight: ClassVar[float] = 0.0

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the families of which the feature reads terms of documents for a query."""
        return self.families

    def prepare(self, batch: CandidateBatch, so_far: RankingSoFar) -> Any:
        """Return what the feature needs of the ranking so far; called once for each name in `prepares`."""
        raise NotImplementedError

    def compute(self, batch: CandidateBatch) -> Values:
        """Return a value of at least 0 for each thread of the batch, or for each answer if the level is `answer`."""
        raise NotImplementedError

    def explain(self, batch: CandidateBatch, candidate: Candidate) -> list[Reason]:
        """Return reasons that sum to the candidate's value; by default one, the value itself."""
        return [Reason(self.value(batch, candidate), self.describe(batch))]

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words a reader understands; by default its `text`."""
        return self.text or self.name

    def value(self, batch: CandidateBatch, candidate: Candidate) -> float:
        """Return the feature's value for one candidate."""
        at = candidate.answer if self.level == "answer" else candidate.thread
        return 0.0 if at is None else float(self.compute(batch)[at])
