"""Answers of Task 3 extracted from posts: passages, sentence windows, prefixes and summaries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from porism.corpus.content import Content
from porism.evaluate.text_measures import tokenize
from porism.records import Query, Topic
from porism.search.display.snippet import whole_sentences
from porism.search.engine import Engine
from porism.search.generation.answer_text import MAX_LENGTH, as_text, fit, join
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.answerer import Answerer, WrittenAnswer
from porism.systems.approach0.late import LateTexts
from porism.systems.arrays import Singles
from porism.systems.declared.context import SystemContext
from porism.systems.encoded import open_bi_encoder
from porism.systems.named_models import AppliedModel, chosen_model, named_models
from porism.systems.topic_queries import topic_of
from porism.text.read import read_official
from porism.text.segment import Segment, Text, prose


def first_sentences(content: Content, ranking: Ranking, depth: int = 1) -> dict[int, list[list[Segment]]]:
    """Return the sentences of the first posts of a ranking by their ids, the best post first."""
    ids = ranking.top(depth).ids.tolist()
    posts = content.posts_by_id(ids)
    return {number: [_single_quoted(one) for one in whole_sentences(posts[number].body)] for number in ids}


def _single_quoted(sentence: Iterable[Segment]) -> list[Segment]:
    """Return a sentence in which double quotes are single ones, as in the runs of approach0."""
    return [one if one.is_formula else one._replace(text=one.text.replace('"', "'")) for one in sentence]


class TopicTexts(NamedTuple):
    """Title and body of a topic, with LaTeX between dollar signs."""

    title: str
    body: str


def topic_texts(topic: Topic) -> TopicTexts:
    """Return a topic as text."""
    return TopicTexts(*(as_text(prose(read_official(field))) for field in (topic.title, topic.question)))


Scorer = Literal["maxsim", "bm25"]
Passage = Sequence[Segment]
K1, B = 1.2, 0.75
TOKENS = 512  # that the model reads of a passage


class Bm25Scorer:
    """BM25 of a topic's words, numbers and LaTeX commands; the passages are the documents. It needs no model."""

    def __init__(self, original: str) -> None:
        use = AppliedModel("bm25", original, "BM25 of words and LaTeX commands", "", "substitute", "no model")
        self.models: tuple[AppliedModel, ...] = (use,)

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
        self.models: tuple[AppliedModel, ...] = (texts.use,)
        self._texts = texts

    def scores(self, topic: Topic, passages: Sequence[Passage]) -> Sequence[float]:
        """Return MaxSim of each passage; a topic without text prefers none."""
        query = self._texts.form.topic(topic)
        if not query:
            return [0.0] * len(passages)
        written = [self._texts.form.text(Text.of(passage)) for passage in passages]
        found: list[float] = self._texts.maxsim(self._texts.query(query), written).tolist()
        return found


LONGEST = 1195  # characters, as in the authors' code
SHORTEST_WINDOW, LONGEST_WINDOW = 5, 9  # sentences


class Window(NamedTuple):
    """Consecutive sentences of a post, as pieces and as text."""

    post_id: int
    pieces: list[Segment]
    text: str


@dataclass(frozen=True, slots=True)
class WindowChoice:
    """Which windows the first `posts` have, at every start or from the beginning only, and which of those with at most
    `limit` characters is chosen: the best by score, or the longest of the post that has the best."""

    start: Literal["everywhere", "beginning"] = "everywhere"
    choose: Literal["best", "longest"] = "best"
    posts: int = 20
    limit: int = LONGEST

    def windows(self, count: int) -> Iterator[range]:
        """Yield the windows of a post of `count` sentences."""
        if count <= SHORTEST_WINDOW:
            yield range(count)
        elif self.start == "beginning":
            yield from (range(end) for end in range(SHORTEST_WINDOW, count + 1))
        else:
            for first in range(count - SHORTEST_WINDOW + 1):
                for size in range(SHORTEST_WINDOW, min(LONGEST_WINDOW, count - first) + 1):
                    yield range(first, first + size)


class LongestPrefix(Answerer):
    """Answers with the longest beginning of the first post that fits."""

    depth = 1

    def __init__(self, context: SystemContext, limit: int = LONGEST) -> None:
        self._content, self._limit = context.content, limit

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return as many whole sentences as fit; nothing without a hit."""
        return first_prefix(first_sentences(self._content, ranking), self._limit)


class BestWindow(Answerer):
    """Answers with a window of the first posts: the best by score, or the longest of the post that has the best."""

    def __init__(
        self,
        context: SystemContext,
        *,
        choice: WindowChoice,
        scorer: Scorer = "maxsim",
        late_interaction: str = "approach0-colbert",
    ) -> None:
        known = named_models().get(late_interaction)
        self._scorer: Bm25Scorer | MaxSimScorer = (
            MaxSimScorer(LateTexts(context, late_interaction, TOKENS))
            if scorer == "maxsim"
            else Bm25Scorer(known.original if known else late_interaction)
        )
        self.depth, self.models = choice.posts, self._scorer.models
        self._content, self._choice = context.content, choice

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the chosen window. Without a window that fits, the beginning of the first post; nothing without a
        hit."""
        posts = first_sentences(self._content, ranking, self.depth)
        windows: list[Window] = []
        for number, sentences in posts.items():
            for places in self._choice.windows(len(sentences)):
                pieces = [piece for place in places for piece in sentences[place]]
                text = as_text(pieces)
                if text and len(text) <= self._choice.limit:
                    windows.append(Window(number, pieces, text))
        if windows:
            scores = self._scorer.scores(topic_of(query), [window.pieces for window in windows])
            best = windows[max(range(len(windows)), key=lambda place: (scores[place], -place))]
            if self._choice.choose == "longest":
                best = max((one for one in windows if one.post_id == best.post_id), key=lambda one: len(one.text))
            return WrittenAnswer(best.text, str(best.post_id))
        return first_prefix(posts, self._choice.limit)


def first_prefix(posts: Mapping[int, Sequence[Sequence[Segment]]], limit: int) -> WrittenAnswer:
    """Return the first sentences of the first post that fit; nothing without a post."""
    for number, sentences in posts.items():
        return WrittenAnswer(join(fit(sentences, limit)), str(number))
    return WrittenAnswer("")


ROUNDS = 25  # of k-means at most


class Summary(Answerer):
    """Answers with the sentences that represent the first answer best, by `length` tokens of each."""

    depth = 1

    def __init__(self, context: SystemContext, bi_encoder: str, length: int = 256, limit: int = MAX_LENGTH) -> None:
        chosen = chosen_model(bi_encoder, context.models)
        self._content, self._model, self._limit = context.content, open_bi_encoder(chosen.directory, length), limit
        record = self._model.record
        self.models = (chosen.use(f"vectors of sentences, {record.pooling}, {record.length} tokens"),)

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the whole answer if it fits, else its summary; nothing without a hit."""
        for number, sentences in first_sentences(self._content, ranking).items():
            if len(join(sentences)) > self._limit:
                vectors = self._model.encode([as_text(sentence) for sentence in sentences])
                sentences = summary_of(sentences, vectors, self._limit)
            return WrittenAnswer(join(fit(sentences, self._limit)), str(number))
        return WrittenAnswer("")


def summary_of(sentences: Sequence[Sequence[Segment]], vectors: Singles, limit: int) -> list[list[Segment]]:
    """Return the largest set of representative sentences that fits; the shortest sentence if none does."""
    for count in range(len(sentences) - 1, 0, -1):
        chosen = [list(sentences[place]) for place in representatives(vectors, count)]
        if len(join(chosen)) <= limit:
            return chosen
    return [min((list(sentence) for sentence in sentences), key=lambda one: len(as_text(one)))]


def representatives(vectors: Singles, count: int) -> list[int]:
    """Return the positions of the vectors nearest to the centres of `count` clusters; the first is always one."""
    chosen = [0]  # far from each other: a start of k-means without chance
    while len(chosen) < count:
        chosen.append(int(_distances(vectors, vectors[chosen]).min(axis=1).argmax()))
    centres = vectors[chosen]
    for _ in range(ROUNDS):
        nearest = _distances(vectors, centres).argmin(axis=1)
        groups = [vectors[nearest == place] for place in range(len(centres))]
        means = [own.mean(axis=0) if len(own) else centre for own, centre in zip(groups, centres, strict=True)]
        moved = np.stack(means)
        if np.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return sorted({0, *_distances(vectors, centres).argmin(axis=0).tolist()})


def _distances(vectors: Singles, centres: Singles) -> Singles:
    return np.asarray(np.linalg.norm(vectors[:, None, :] - centres[None, :, :], axis=2))


class BestPassage(Answerer):
    """Answers with a passage of a post."""

    depth = 0

    def __init__(self, context: SystemContext) -> None:
        self._engine = Engine(context.index.snapshot)

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the passage that the Ask tab shows."""
        topic = topic_of(query)
        found = self._engine.ask(Query(topic.question, topic.title, topic.tags))
        return WrittenAnswer(found.text, ", ".join(str(source.post_id) for source in found.sources))
