"""Scorers of passages: how well a passage fits a topic."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from porism.evaluate.task3.overlap import tokenize
from porism.records import Topic
from porism.search.generation.answer_text import as_text
from porism.systems.approach0.late import LateTexts
from porism.systems.declared.context import SystemContext
from porism.systems.neural.chosen_models import ModelUse, chosen_model
from porism.systems.neural.named_models import named_models
from porism.systems.task3.posts import topic_texts
from porism.text.segment import Segment, Text

Scorer = Literal["maxsim", "bm25"]
Passage = Sequence[Segment]
K1, B = 1.2, 0.75
TOKENS = 512  # that the model reads of a passage


class PassageScorer(Protocol):
    """Scores passages for a topic. Its models go into the record of a run."""

    models: tuple[ModelUse, ...]

    def scores(self, topic: Topic, passages: Sequence[Passage]) -> Sequence[float]:
        """Return a score for each passage, higher is better."""


class Bm25Scorer:
    """BM25 of the words, numbers and LaTeX commands of a topic, with the passages as the documents. It needs no model."""

    def __init__(self, original: str) -> None:
        use = ModelUse("bm25", original, "BM25 of words and LaTeX commands", "", "substitute", "no model")
        self.models: tuple[ModelUse, ...] = (use,)

    def scores(self, topic: Topic, passages: Sequence[Passage]) -> Sequence[float]:
        """Return the BM25 of each passage."""
        counts = [Counter(tokenize(as_text(passage))) for passage in passages]
        lengths = [count.total() for count in counts]
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        df = Counter(token for count in counts for token in count)
        terms = [token for token in dict.fromkeys(tokenize(" ".join(topic_texts(topic)))) if token in df]
        idf = {token: math.log(1 + (len(counts) - df[token] + 0.5) / (df[token] + 0.5)) for token in terms}
        return [
            sum(idf[t] * c[t] * (K1 + 1) / (c[t] + K1 * (1 - B + B * length / average)) for t in terms if t in c)
            for c, length in zip(counts, lengths, strict=True)
        ]


class MaxSimScorer:
    """MaxSim of a late-interaction model, in the input format of approach0."""

    def __init__(self, texts: LateTexts) -> None:
        self.models: tuple[ModelUse, ...] = (texts.use,)
        self._texts = texts

    def scores(self, topic: Topic, passages: Sequence[Passage]) -> Sequence[float]:
        """Return MaxSim of each passage; a topic without text prefers none."""
        query = self._texts.form.topic(topic)
        if not query:
            return [0.0] * len(passages)
        written = [self._texts.form.text(Text.of(passage)) for passage in passages]
        found: list[float] = self._texts.maxsim(self._texts.query(query), written).tolist()
        return found


def make_scorer(kind: Scorer, model: str, context: SystemContext) -> PassageScorer:
    """Return a scorer of passages; `model` is the late-interaction model of MaxSim."""
    if kind == "bm25":
        known = named_models().get(model)
        return Bm25Scorer(known.original if known else model)
    return MaxSimScorer(LateTexts(context, chosen_model(model, context.models), TOKENS, "somenum"))
