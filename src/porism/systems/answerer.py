"""Answerers: the last part of a Task 3 system. They turn a topic, and the ranking of the parts before them, into one
text."""

from __future__ import annotations

from dataclasses import dataclass

from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.named_models import AppliedModel


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer cost: requests, tokens read and written (None where the model counts none), and seconds."""

    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.requests + other.requests,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            round(self.seconds + other.seconds, 4),
        )


def _sum(one: int | None, two: int | None) -> int | None:
    return None if one is None or two is None else one + two


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """The answer to a topic: text with LaTeX between dollar signs, its sources (posts, or a model), and its cost."""

    text: str
    sources: str = ""
    cost: Cost = Cost()


class Answerer:
    """Writes one answer to a topic. Subclasses implement `answer`; `ranking` is that of the parts before, if any."""

    depth: int = 20  # hits that it reads at most
    models: tuple[AppliedModel, ...] = ()  # that it uses, for the record of a run

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return an answer of at most 1,200 characters."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
