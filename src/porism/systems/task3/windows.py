"""Approach Zero in Task 3: the sentences of a retrieved post that score best, or its longest beginning.

Windows are 5 to 9 consecutive sentences, or begin with the post and have 5 sentences up to all. A post of fewer sentences counts whole. Windows of more than
1,195 characters are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from porism.corpus.content import Content
from porism.search.generation.answer_text import as_text, fit, join
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.answerer import Answerer, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.queries.topic_query import topic_of
from porism.systems.task3.posts import first_sentences
from porism.systems.task3.scorers import PassageScorer, Scorer, make_scorer
from porism.text.segment import Segment

LONGEST = 1195  # characters, as in the authors' code
SHORTEST_WINDOW, LONGEST_WINDOW = 5, 9  # sentences


class Window(NamedTuple):
    """Consecutive sentences of a post, as pieces and as text."""

    post_id: int
    pieces: list[Segment]
    text: str


@dataclass(frozen=True, slots=True)
class WindowShape:
    """Which windows a post has: at every start, or from its beginning only."""

    start: Literal["everywhere", "beginning"] = "everywhere"
    shortest: int = SHORTEST_WINDOW
    longest: int = LONGEST_WINDOW

    def windows(self, count: int) -> Iterator[range]:
        """Yield the windows of a post of `count` sentences."""
        if count <= self.shortest:
            yield range(count)
        elif self.start == "beginning":
            yield from (range(end) for end in range(self.shortest, count + 1))
        else:
            for first in range(count - self.shortest + 1):
                for size in range(self.shortest, min(self.longest, count - first) + 1):
                    yield range(first, first + size)


def sentence_windows(
    context: SystemContext,
    start: Literal["everywhere", "beginning"] = "everywhere",
    choose: Literal["best", "longest"] = "best",
    posts: int = 20,
    limit: int = LONGEST,
    scorer: Scorer = "maxsim",
    late_interaction: str = "approach0-colbert",
) -> Answerer:
    """Choose among the windows of the first posts: the best by score, or the longest of the post that has the best."""
    return BestWindow(
        context.content, WindowShape(start), choose, posts, limit, make_scorer(scorer, late_interaction, context)
    )


def longest_prefix(context: SystemContext, limit: int = LONGEST) -> Answerer:
    """Return the longest beginning of the first post that fits."""
    return LongestPrefix(context.content, limit)


class LongestPrefix(Answerer):
    """Answers with the first sentences of the first post."""

    depth = 1

    def __init__(self, content: Content, limit: int) -> None:
        self._content = content
        self._limit = limit

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return as many whole sentences as fit; nothing without a hit."""
        return first_prefix(first_sentences(self._content, ranking), self._limit)


class BestWindow(Answerer):
    """Answers with a window of sentences that a scorer prefers."""

    def __init__(
        self,
        content: Content,
        shape: WindowShape,
        choose: Literal["best", "longest"],
        posts: int,
        limit: int,
        scorer: PassageScorer,
    ) -> None:
        self.depth = posts
        self.models = scorer.models
        self._content, self._shape, self._choose = content, shape, choose
        self._limit, self._scorer = limit, scorer

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the chosen window. Without a window that fits, the beginning of the first post; nothing without a hit."""
        posts = first_sentences(self._content, ranking, self.depth)
        windows = [window for number, sentences in posts.items() for window in self._windows(number, sentences)]
        if windows:
            scores = self._scorer.scores(topic_of(query), [window.pieces for window in windows])
            best = windows[max(range(len(windows)), key=lambda place: (scores[place], -place))]
            if self._choose == "longest":
                best = max((one for one in windows if one.post_id == best.post_id), key=lambda one: len(one.text))
            return WrittenAnswer(best.text, str(best.post_id))
        return first_prefix(posts, self._limit)

    def _windows(self, post_id: int, sentences: Sequence[Sequence[Segment]]) -> Iterator[Window]:
        for places in self._shape.windows(len(sentences)):
            pieces = [piece for place in places for piece in sentences[place]]
            text = as_text(pieces)
            if text and len(text) <= self._limit:
                yield Window(post_id, pieces, text)


def first_prefix(posts: Mapping[int, Sequence[Sequence[Segment]]], limit: int) -> WrittenAnswer:
    """Return the first sentences of the first post that fit; nothing without a post."""
    for number, sentences in posts.items():
        return WrittenAnswer(join(fit(sentences, limit)), str(number))
    return WrittenAnswer("")
