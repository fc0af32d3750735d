"""Scorers of passages: how well a passage fits a topic."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from porism.evaluate.task3.overlap import tokenize
from porism.systems.context import SystemContext
from porism.systems.declaration import MissingModelError
from porism.systems.task3.posts import TopicTexts

Scorer = Literal["maxsim", "bm25"]
K1, B = 1.2, 0.75


class PassageScorer(Protocol):
    """Scores passages for a topic. `notes` go into the record of a run."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the run must know."""

    def scores(self, topic: TopicTexts, passages: Sequence[str]) -> Sequence[float]:
        """Return a score for each passage, higher is better."""


class Bm25Scorer:
    """BM25 of the words, numbers and LaTeX commands of a topic, with the passages as the documents. It needs no model."""

    def __init__(self, original: str) -> None:
        self.notes = (f"substitute: BM25 of words and LaTeX commands in place of {original}",)

    def scores(self, topic: TopicTexts, passages: Sequence[str]) -> Sequence[float]:
        """Return the BM25 of each passage."""
        counts = [Counter(tokenize(passage)) for passage in passages]
        lengths = [count.total() for count in counts]
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        df = Counter(token for count in counts for token in count)
        terms = [token for token in dict.fromkeys(tokenize(f"{topic.title} {topic.body}")) if token in df]
        idf = {token: math.log(1 + (len(counts) - df[token] + 0.5) / (df[token] + 0.5)) for token in terms}
        return [
            sum(idf[t] * c[t] * (K1 + 1) / (c[t] + K1 * (1 - B + B * length / average)) for t in terms if t in c)
            for c, length in zip(counts, lengths, strict=True)
        ]


def make_scorer(kind: Scorer, model: str, original: str, context: SystemContext) -> PassageScorer:
    """Return a scorer of passages; MaxSim needs a late-interaction model."""
    if kind == "bm25":
        return Bm25Scorer(original)
    raise MissingModelError(
        f"scoring windows needs a model that does not come with Porism: {original}",
        fix="name a directory: --set sentence_windows.model=DIR; or a substitute without a model: --set sentence_windows.scorer=bm25",
    )
