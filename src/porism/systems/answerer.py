"""Answerers: the last part of a Task 3 system. They turn a topic, and the ranking of the parts before them, into one
text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.named_models import ModelUse


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer cost: requests to a model, tokens read and written (None where the model does not count them), and
    seconds."""

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


def total_cost(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs."""
    return sum(costs, Cost())


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """The answer to a topic: text with LaTeX between dollar signs, where it comes from (posts, or a model), and its
    cost."""

    text: str
    sources: str = ""
    cost: Cost = Cost()


class Answerer:
    """Writes one answer to a topic. Subclasses implement `answer`. The ranking is that of the parts before; it is empty
    without any."""

    depth: int = 20  # hits that it reads at most
    models: tuple[ModelUse, ...] = ()  # that it uses, for the record of a run

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return an answer of at most 1,200 characters."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
