"""Fitting the model on judged topics: weights under which relevant posts come before all others, none below zero.

The loss of a topic is the mean over its relevant posts of -ln(e^s / (e^s + sum of e^t over the posts that are not relevant)), s and t being
scores; to it comes a penalty on the squared weights. Posts without a judgment count as not relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.records import Topic
from porism.search.answers.model import Kind, Model, save_model
from porism.search.answers.reranker import scales
from porism.search.engine import Engine
from porism.search.features import feature_names
from porism.search.query import read_query

PENALTY: dict[Kind, float] = {"answers": 8.0, "questions": 0.03}
# Families of features that did not help on topics they were not fitted on (docs/results): fewer weights, truer ones.
LEFT_OUT: dict[Kind, str] = {"answers": "feedback", "questions": "vectors"}
# Judged posts tell little of short queries; names shall find their formulas all the same.
LEAST = {"concepts.parts": 0.03, "concepts.pairs": 0.03}
RELEVANT = 2
ROUNDS = 300
FOLDS = 5

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A judged topic: the features of its candidates in units of their spread, which of them are relevant, and how many are in all."""

    topic: str
    features: npt.NDArray[np.float64]
    relevant: npt.NDArray[np.bool_]
    wanted: int


Measure = Callable[[Example, Weights], float]


def examples(
    engine: Engine, topics: Sequence[Topic], grades: Mapping[str, Mapping[int, int]], kind: Kind
) -> list[Example]:
    """The topics that have a relevant post, with the features of their candidates; the weights choose what feedback learns from."""
    found = []
    for topic in topics:
        wanted = {item for item, grade in grades.get(topic.id, {}).items() if grade >= RELEVANT}
        if not wanted:
            continue
        table = engine.features(read_query(topic.title, topic.question, topic.tags), kind)
        ids, matrix = table.batch.ids(kind), table.matrix(kind)
        posts = engine.index.documents.size("question" if kind == "questions" else "answer")
        features = (matrix / scales(matrix, posts)).astype(np.float64)
        found.append(Example(topic.id, features, np.isin(ids, list(wanted)), len(wanted)))
    return found


def fit(topics: Sequence[Example], kind: Kind) -> Weights:
    """The weights that suit the topics best."""
    from scipy.optimize import minimize

    usable = [topic for topic in topics if topic.relevant.any() and not topic.relevant.all()]
    bounds = [(0.0, 0.0 if name.startswith(LEFT_OUT[kind]) else None) for name in feature_names()]
    if not usable:
        return np.zeros(len(feature_names()))
    result = minimize(
        lambda weights: _loss(weights, usable, PENALTY[kind]),
        np.array([0.0 if high == 0 else 0.1 for _, high in bounds]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": ROUNDS},
    )
    return np.asarray(result.x, np.float64)


def _loss(weights: Weights, topics: Sequence[Example], penalty: float) -> tuple[float, Weights]:
    """The loss and its slope."""
    loss, slope = 0.0, np.zeros(len(weights))
    for topic in topics:
        scores = topic.features @ weights
        high = scores.max()
        rest = np.exp(scores[~topic.relevant] - high)
        total, pull = rest.sum(), rest @ topic.features[~topic.relevant]
        own = np.exp(scores[topic.relevant] - high)
        loss -= float(np.mean(np.log(own / (own + total))))
        share = own / (own + total)
        features = topic.features[topic.relevant]
        slope -= np.mean(features * (1 - share)[:, None] - pull / (own + total)[:, None], axis=0)
    return loss / len(topics) + penalty * float(weights @ weights), slope / len(topics) + 2 * penalty * weights


def average_precision(topic: Example, weights: Weights) -> float:
    """Of the candidates in the order of the weights; what is not judged is not relevant."""
    order = np.argsort(-(topic.features @ weights), kind="stable")
    places = np.flatnonzero(topic.relevant[order]) + 1
    return float((np.arange(1, len(places) + 1) / places).sum() / topic.wanted)


def reciprocal_rank(topic: Example, weights: Weights) -> float:
    """1 / the place of the first relevant candidate in the order of the weights; 0 where there is none."""
    order = np.argsort(-(topic.features @ weights), kind="stable")
    return 1.0 / (1 + int(np.argmax(topic.relevant[order]))) if topic.relevant.any() else 0.0


def mean(topics: Sequence[Example], weights: Weights, measure: Measure = average_precision) -> float:
    """The mean of a measure over topics."""
    return float(np.mean([measure(topic, weights) for topic in topics])) if topics else 0.0


def crossed(sets: Sequence[Sequence[Example]], kind: Kind, measure: Measure = average_precision) -> list[float]:
    """The mean of each set under weights fitted on the others; a set that is alone is cut into FOLDS parts, and its one figure is the
    mean over all its topics, each under weights fitted on the other parts."""
    if len(sets) == 1:
        parts = [list(sets[0][start::FOLDS]) for start in range(FOLDS)]
        figures = crossed(parts, kind, measure)
        return [float(np.average(figures, weights=[max(1e-9, len(part)) for part in parts]))]
    tested = []
    for number, one in enumerate(sets):
        others = [example for other, each in enumerate(sets) if other != number for example in each]
        tested.append(mean(one, fit(others, kind), measure))
    return tested


def as_model(model: Model, kind: Kind, weights: Weights) -> Model:
    """A model with new weights for one kind."""
    named = {
        name: max(float(weight), LEAST.get(name, 0.0)) for name, weight in zip(feature_names(), weights, strict=True)
    }
    return Model({**model.weights, kind: named})


def train_files(engine: Engine, pairs: Sequence[tuple[str, str]], kind: Kind, out: Path) -> Iterator[str]:
    """Fit on all files of topics and judgments, write the model, and tell how it did: on each file when fitted on the others (of a single
    file, on its other topics), and when fitted on all."""
    sets = [examples(engine, read_topics(topics), read_grades(qrels), kind) for topics, qrels in pairs]
    if not any(one for one in sets):
        raise PorismError(
            "no topic has a relevant post that was judged", where=pairs[0][1], fix="give qrels of these topics"
        )
    weights = fit([example for one in sets for example in one], kind)
    before = engine.model.vector(kind).astype(np.float64)
    yield "topics\tnumber\tbefore\tothers\tall"
    for one, (topics, _), held_out in zip(sets, pairs, crossed(sets, kind), strict=True):
        yield f"{topics}\t{len(one)}\t{mean(one, before):.3f}\t{held_out:.3f}\t{mean(one, weights):.3f}"
    named = ", ".join(topics for topics, _ in pairs)
    save_model(as_model(engine.model, kind, weights), out, f"porism train: {kind} fitted on {named}.")


def read_grades(path: str | Path) -> dict[str, dict[int, int]]:
    """Judgments by topic and post."""
    return {
        topic: {int(item): grade for item, grade in items.items() if item.isdigit()}
        for topic, items in read_qrels(path).items()
    }
