"""How much a model improves ranking on judged topics: as a feature, as a source of candidates, as a re-ranker.

For answers a bi-encoder is two features: the similarity of questions as the engine uses it (`encoder.same_question`),
and the cosines. They are separate rows, since weights of all three together would be chosen from many more combinations
by the same few topics.

Weights are chosen on other topics than those that are measured: on the other files, or, for a single file, on the other
folds. Differences are tested by a paired randomisation test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.evaluate.significance import randomisation
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder, CrossEncoder, encode_query
from porism.models.tokens import LateInteraction, maxsim
from porism.progress import Progress, Silent
from porism.records import Topic
from porism.search.answers.reranker import FeatureReranker, Model
from porism.search.engine import Engine
from porism.search.features.similarity import same_question
from porism.search.learning.model_training import PostTexts
from porism.search.learning.train import RELEVANT, precision_at_relevant
from porism.search.query import Kind, ReadQuery, read_query
from porism.search.retrieval.candidates import ThreadCandidates
from porism.search.retrieval.context import Contexts
from porism.search.retrieval.query_terms import encoder_text, encoder_texts
from porism.store.protocols import Encoder, Snapshot

Values = npt.NDArray[np.float64]
# Of a model's similarity, both in standard deviations over the first hits. The engine's weight of the same question, .1
# in standard deviations over all posts, is .2 to .5 in these for nine topics of ten of the slice, .30 in the median.
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
SAME_QUESTION = "same question"
DEPTH = 200  # hits that a feature may reorder
FOLDS = 5
SIGNIFICANT = 0.05


class JudgedSet(NamedTuple):
    """Topics, and the grades of their posts."""

    name: str
    topics: Sequence[Topic]
    grades: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, eq=False)
class ProvedTopic:
    """The first hits of a topic: scores of the engine, scores of the model by signal, and which hits are relevant."""

    fold: str
    base: Values
    signals: Mapping[str, Values]
    relevant: npt.NDArray[np.bool_]
    relevant_posts: int

    def average_precision(self, weights: Mapping[str, float], first: int) -> float:
        """Return the average precision when the weighted signals reorder the first hits."""
        scores = _standard(self.base[:first])
        for name, weight in weights.items():
            scores = scores + weight * _standard(self.signals[name][:first])
        order = np.concatenate((np.argsort(-scores, kind="stable"), np.arange(len(scores), len(self.base))))
        return precision_at_relevant(self.relevant[order], self.relevant_posts)


class ModelUse(NamedTuple):
    """A use of the model: mean average precision without and with it, the p-value, and the chosen weights."""

    use: str
    topics: int
    before: float
    after: float
    p: float
    weights: str

    @property
    def gain(self) -> float:
        """The difference of the means."""
        return self.after - self.before


class Proof(NamedTuple):
    """What a model gives in all its uses, its cost, and the recommendation."""

    model: str
    kind: str
    uses: tuple[ModelUse, ...]
    milliseconds: float  # of the model, for one query
    megabytes: float
    recommendation: str


class Reranking(NamedTuple):
    """How many hits a model re-ranks, and how many tokens of each text it reads."""

    first: int = 20
    length: int = 192


DEFAULT = Reranking()


def prove(
    engine: Engine,
    place: str,
    sets: Sequence[JudgedSet],
    *,
    kind: Kind = "answers",
    reranking: Reranking = DEFAULT,
    progress: Progress | None = None,
) -> Proof:
    """Measure a model on judged topics. `engine` ranks without it."""
    directory = ModelDirectory.open(place)
    if directory.kind not in SCORERS:
        fact = f"a model of the kind {directory.kind}, which ranks nothing"
        raise PorismError(fact, where=place, fix="name an encoder")
    first, length = reranking
    depth = DEPTH if directory.kind == "bi-encoder" else first
    texts, encoder = PostTexts(engine.content), engine.snapshot.learned.encoder
    own = encoder if encoder and encoder.digest == directory.digest else None
    scorer = _stored_vectors(engine.snapshot, own, kind) if own else SCORERS[directory.kind](directory, texts, length)
    if directory.kind == "bi-encoder" and kind == "answers":
        scorer = _with_same_question(scorer)
    collector = _Collector(engine, kind, scorer, depth, candidates=own is not None)
    number = sum(len(one.topics) for one in sets)
    with (progress or Silent()).stage("topics", number) as advance:
        topics = [found for one in sets for found in collector.collect(one, len(sets) > 1, advance)]
    if not topics:
        raise PorismError("no topic has a relevant post that was judged", fix="give the qrels of these topics")
    similarities = tuple(name for name in topics[0].signals if name != SAME_QUESTION)  # those of the model itself
    uses: list[ModelUse] = []
    if directory.kind == "bi-encoder":
        signals = [*([(SAME_QUESTION,)] if SAME_QUESTION in topics[0].signals else []), similarities]
        uses += [_measured(f"feature ({', '.join(names)})", topics, DEPTH, names) for names in signals]
        uses += collector.candidate_use()
    uses.append(_measured(f"re-ranker of the first {first}", topics, first, similarities))
    cost = (collector.milliseconds, directory.megabytes)
    return Proof(directory.name, directory.kind, tuple(uses), *cost, recommend(uses))


def recommend(uses: Sequence[ModelUse]) -> str:
    """Return which use of a model is best, and whether that is significant."""
    best = max(uses, key=lambda use: use.gain)
    if best.gain <= 0:
        return "do not use it: no use gains anything"
    sure = f"p = {best.p:.3f}" if best.p < SIGNIFICANT else f"not significant (p = {best.p:.2f})"
    return f"use it as {best.use}: gain {best.gain:+.3f}, {sure}"


def _measured(use: str, topics: Sequence[ProvedTopic], first: int, names: Sequence[str]) -> ModelUse:
    """Choose weights of signals on the other folds, measure on each fold, and test the differences."""
    grid = [dict(zip(names, values, strict=True)) for values in product(WEIGHTS, repeat=len(names))]
    table = np.array([[topic.average_precision(weights, first) for topic in topics] for weights in grid])
    folds = np.array([topic.fold for topic in topics])
    after, chosen = np.zeros(len(topics)), []
    for fold in dict.fromkeys(folds.tolist()):
        own = folds == fold
        best = int(np.argmax(table[:, ~own].mean(axis=1))) if (~own).any() else 0
        after[own] = table[best, own]
        chosen.append(" ".join(f"{name} {weight:g}" for name, weight in grid[best].items()))
    before = table[0]
    means = (float(before.mean()), float(after.mean()))
    return ModelUse(use, len(topics), *means, randomisation(after - before), "; ".join(dict.fromkeys(chosen)))


class _Collector:
    """Ranks topics with and without the model, and keeps what a proof needs."""

    def __init__(self, engine: Engine, kind: Kind, scorer: Scorer, depth: int, *, candidates: bool) -> None:
        """`candidates` says whether the index has the model's vectors, so that it can be a source of candidates."""
        weights = {
            name: {feature: weight for feature, weight in table.items() if not feature.startswith("encoder.")}
            for name, table in engine.model.weights.items()
        }
        self._contexts = Contexts(engine.index)
        self._reranker = FeatureReranker(engine.index, Model(weights), kind)
        self._without = ThreadCandidates(self._contexts, encoded=False)
        self._with = ThreadCandidates(self._contexts, encoded=True) if candidates else None
        self._kind = kind
        self._scorer = scorer
        self._depth = depth
        self._seconds: list[float] = []
        self._candidate_values: list[tuple[float, float]] = []

    @property
    def milliseconds(self) -> float:
        """The median time of the model for a query."""
        return float(np.median(self._seconds)) * 1000 if self._seconds else 0.0

    def collect(self, judged: JudgedSet, several: bool, advance: Callable[[int], None]) -> Iterator[ProvedTopic]:
        """Yield the topics that have relevant posts. Each of several files is a fold; a single one is split."""
        for number, topic in enumerate(judged.topics):
            advance(1)
            relevant = {post for post, grade in judged.grades.get(topic.id, {}).items() if grade >= RELEVANT}
            if not relevant:
                continue
            query = read_query(topic.title, topic.question, topic.tags)
            ranking = (self._without >> self._reranker).rank(query)
            ids, base = ranking.ids, ranking.scores.astype(np.float64)
            is_relevant = np.isin(ids, list(relevant))
            if self._with:
                other = np.isin((self._with >> self._reranker).rank(query).ids, list(relevant))
                before, after = (precision_at_relevant(one, len(relevant)) for one in (is_relevant, other))
                self._candidate_values.append((before, after))
            began = time.perf_counter()
            signals = self._scorer(query, ids[: self._depth].tolist())
            self._seconds.append(time.perf_counter() - began)
            padded = {name: np.concatenate((own, np.zeros(len(ids) - len(own)))) for name, own in signals.items()}
            fold = judged.name if several else str(number % FOLDS)
            yield ProvedTopic(fold, base, padded, is_relevant, len(relevant))

    def candidate_use(self) -> list[ModelUse]:
        """Return what the model gives as a source of candidates, if the index has its vectors."""
        if not self._candidate_values:
            return []
        before, after = np.array(self._candidate_values).T
        means = (float(before.mean()), float(after.mean()))
        return [ModelUse("source of candidates", len(before), *means, randomisation(after - before), "")]


Scorer = Callable[[ReadQuery, Sequence[int]], dict[str, Values]]


def _bi_encoder(directory: ModelDirectory, texts: PostTexts, length: int) -> Scorer:
    model = BiEncoder(directory, length)
    known: dict[str, npt.NDArray[np.float32]] = {}

    def score(query: ReadQuery, ids: Sequence[int]) -> dict[str, Values]:
        wanted = {"question": texts.questions_of(ids), "post": texts.posts(ids)}
        new = [text for text in dict.fromkeys(text for own in wanted.values() for text in own) if text not in known]
        known.update(zip(new, model.encode(new), strict=True))
        vector = encode_query(model, encoder_texts(query))
        return {name: np.array([known[text] @ vector for text in own], np.float64) for name, own in wanted.items()}

    return score


def _stored_vectors(snapshot: Snapshot, encoder: Encoder, kind: Kind) -> Scorer:
    """Return similarities by the vectors of the index: nothing but the query is encoded."""
    fields = ("questions", "answers") if kind == "answers" else ("questions", "titles")

    def score(query: ReadQuery, ids: Sequence[int]) -> dict[str, Values]:
        vector = encoder.query(encoder_texts(query))
        numbers, thread_of = np.unique(snapshot.locate(np.array(ids, np.int64)).threads, return_inverse=True)
        threads = snapshot.threads(numbers, (), fields)
        cosines = {name: (own @ vector).astype(np.float64) for name, own in threads.vectors.items()}
        found = {"question": cosines["questions"][thread_of]}
        if kind == "answers":
            answers = threads.post_ids[threads.answers()[0]].tolist()
            places = {number: at for at, number in enumerate(answers)}
            found["post"] = cosines["answers"][[places[number] for number in ids]]
        else:
            found["title"] = cosines["titles"][thread_of]
        return found

    return score


def _with_same_question(scorer: Scorer) -> Scorer:
    """Return a scorer that adds what the engine makes of the cosine of query and question."""

    def score(query: ReadQuery, ids: Sequence[int]) -> dict[str, Values]:
        found = scorer(query, ids)
        return {**found, SAME_QUESTION: same_question(found["question"])}

    return score


def _cross_encoder(directory: ModelDirectory, texts: PostTexts, length: int) -> Scorer:
    model = CrossEncoder(directory)

    def score(query: ReadQuery, ids: Sequence[int]) -> dict[str, Values]:
        return {"pair": model.score([(encoder_text(query), text) for text in texts.posts(ids)]).astype(np.float64)}

    return score


def _late(directory: ModelDirectory, texts: PostTexts, length: int) -> Scorer:
    model = LateInteraction(directory, length)

    def score(query: ReadQuery, ids: Sequence[int]) -> dict[str, Values]:
        vectors = model.encode([encoder_text(query)], role="query")[0]
        return {"maxsim": maxsim(vectors, model.encode(texts.posts(ids))).astype(np.float64)}

    return score


SCORERS: Mapping[str, Callable[[ModelDirectory, PostTexts, int], Scorer]] = {
    "bi-encoder": _bi_encoder,
    "cross-encoder": _cross_encoder,
    "late interaction": _late,
}


def _standard(values: Values) -> Values:
    deviation = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / deviation if deviation > 1e-12 else np.zeros(len(values))
