"""Fit the weights of the ranking model, none of them negative, so that relevant posts of judged topics rank first.

The loss of a topic is the mean over its relevant posts of -ln(e^s / (e^s + sum of e^t)), where s is the score of the
post and t runs over the scores of the posts that are not relevant. A penalty on the squared weights is added. Posts
without a judgment count as not relevant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.plugins import FEATURES, check_plugins
from porism.progress import Progress, Silent
from porism.records import Topic
from porism.search.answers.reranker import Model, save_model
from porism.search.engine import Engine
from porism.search.features import all_features, plugin_features
from porism.search.query import Kind, ReadQuery, read_query
from porism.text.segment import official_html

PENALTY: dict[Kind, float] = {"answers": 8.0, "questions": 0.03}
RELEVANT = 2  # the lowest grade that counts as relevant
MAX_ITERATIONS = 300
FOLDS = 5

Weights = npt.NDArray[np.float64]


class JudgedTopics(NamedTuple):
    """A file of topics and the file of their judgments."""

    topics: str
    qrels: str


@dataclass(frozen=True, slots=True)
class Example:
    """A judged topic: the features of its candidates in units of their standard deviations, which candidates are
    relevant, and how many posts are relevant in all. `weight` says how much the topic counts beside others."""

    topic: str
    features: npt.NDArray[np.float64]
    relevant: npt.NDArray[np.bool_]
    relevant_posts: int
    weight: float = 1.0


Measure = Callable[[Example, Weights], float]


def make_examples(
    engine: Engine, topics: Sequence[Topic], grades: Mapping[str, Mapping[int, int]], kind: Kind
) -> list[Example]:
    """Return an example for each topic with a relevant post. The engine's model ranks what feedback learns from."""
    found = []
    for topic in topics:
        relevant = {post for post, grade in grades.get(topic.id, {}).items() if grade >= RELEVANT}
        if not relevant:
            continue
        query = read_query(topic.title, topic.question, topic.tags)
        found.append(make_example(engine, topic.id, query, relevant, kind))
    return found


def make_example(
    engine: Engine, topic: str, query: ReadQuery, relevant: set[int], kind: Kind, left_out: Sequence[int] = ()
) -> Example:
    """Return the example of a query, given its relevant posts; posts that are `left_out` are no candidates."""
    table = engine.features(query, kind)
    posts = engine.snapshot.info.count("question" if kind == "questions" else "answer")
    ranked = slice(table.batch.ranked_count(kind))
    features = (table.matrix(kind)[ranked] / table.scales(kind, posts)).astype(np.float64)
    kept = ~np.isin(table.batch.ids(kind)[ranked], list(left_out))
    features, ids = features[kept], table.batch.ids(kind)[ranked][kept]
    return Example(topic, features, np.isin(ids, list(relevant)), len(relevant))


def fit(topics: Sequence[Example], kind: Kind, fixed: Mapping[str, float] = MappingProxyType({})) -> Weights:
    """Return the weights that minimise the loss, by `all_features()`. Those of `fixed` features are given."""
    from scipy.optimize import minimize

    usable = [topic for topic in topics if topic.relevant.any() and not topic.relevant.all()]
    bounds = [
        (fixed.get(feature.name, 0.0), fixed.get(feature.name, None if kind in feature.fitted_for else 0.0))
        for feature in all_features()
    ]
    if not usable:
        return np.array([low for low, _ in bounds])
    stacked = _stack(usable)
    result = minimize(
        lambda weights: _loss(weights, stacked, PENALTY[kind]),
        np.array([0.1 if high is None else high for _, high in bounds]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MAX_ITERATIONS},
    )
    return np.asarray(result.x, np.float64)


class _Stacked(NamedTuple):
    """Topics in common matrices, so that the loss of all is a few products.

    Rows of `others` are the posts that are not relevant: those of a topic start at `starts`, and there are `sizes` of
    them. Rows of `relevant` are relevant posts, with the number of their topic and their share of the whole loss."""

    others: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    relevant: npt.NDArray[np.float64]
    topics: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]


def _stack(topics: Sequence[Example]) -> _Stacked:
    sizes = np.array([int((~topic.relevant).sum()) for topic in topics])
    numbers = [int(topic.relevant.sum()) for topic in topics]
    total = sum(topic.weight for topic in topics)
    shares = [1 / number * topic.weight / total for topic, number in zip(topics, numbers, strict=True)]
    return _Stacked(
        np.concatenate([topic.features[~topic.relevant] for topic in topics]),
        np.cumsum(sizes) - sizes,
        sizes,
        np.concatenate([topic.features[topic.relevant] for topic in topics]),
        np.repeat(np.arange(len(topics)), numbers),
        np.repeat(shares, numbers),
    )


def _loss(weights: Weights, topics: _Stacked, penalty: float) -> tuple[float, Weights]:
    """Return the loss and its gradient."""
    scores, own = topics.others @ weights, topics.relevant @ weights
    high = np.maximum.reduceat(scores, topics.starts)
    np.maximum.at(high, topics.topics, own)
    others, own = np.exp(scores - np.repeat(high, topics.sizes)), np.exp(own - high[topics.topics])
    total = own + np.add.reduceat(others, topics.starts)[topics.topics]
    missing = topics.shares * (1 - own / total)
    factors = np.bincount(topics.topics, topics.shares / total, len(topics.sizes))
    gradient = topics.others.T @ (others * np.repeat(factors, topics.sizes)) - topics.relevant.T @ missing
    loss = -float(topics.shares @ np.log(own / total))
    return loss + penalty * float(weights @ weights), gradient + 2 * penalty * weights


def precision_at_relevant(relevant: npt.NDArray[np.bool_], number: int) -> float:
    """Return the average precision of a ranking, of which `relevant` says where relevant posts are; there are `number`
    in all. Posts without a judgment are not relevant."""
    ranks = np.flatnonzero(relevant) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / number)


def average_precision(topic: Example, weights: Weights) -> float:
    """Return the average precision of the candidates, ranked by the weights."""
    order = np.argsort(-(topic.features @ weights), kind="stable")
    return precision_at_relevant(topic.relevant[order], topic.relevant_posts)


def reciprocal_rank(topic: Example, weights: Weights) -> float:
    """Return 1 / the rank of the first relevant candidate, ranked by the weights; 0 if there is none."""
    order = np.argsort(-(topic.features @ weights), kind="stable")
    return 1.0 / (1 + int(np.argmax(topic.relevant[order]))) if topic.relevant.any() else 0.0


def mean_over_topics(topics: Sequence[Example], weights: Weights, measure: Measure = average_precision) -> float:
    """Return the mean of a measure over topics."""
    return float(np.mean([measure(topic, weights) for topic in topics])) if topics else 0.0


def cross_validate(
    sets: Sequence[Sequence[Example]], kind: Kind, measure: Measure = average_precision, further: Sequence[Example] = ()
) -> list[float]:
    """Return the mean of each set under weights fitted on the other sets and on `further` topics.

    A single set is split into FOLDS parts, and each topic is measured under weights fitted on the other parts."""
    if len(sets) == 1:
        folds = [list(sets[0][start::FOLDS]) for start in range(FOLDS)]
        figures = cross_validate(folds, kind, measure, further)
        return [float(np.average(figures, weights=[max(1e-9, len(fold)) for fold in folds]))]
    figures = []
    for number, held_out in enumerate(sets):
        training = [example for at, others in enumerate(sets) if at != number for example in others]
        figures.append(mean_over_topics(held_out, fit([*training, *further], kind), measure))
    return figures


def replace_weights(model: Model, kind: Kind, weights: Weights) -> Model:
    """Return the model with new weights for one kind, none below the feature's `least_weight`."""
    pairs = zip(all_features(), weights, strict=True)
    named = {feature.name: max(float(weight), feature.least_weight) for feature, weight in pairs}
    return Model({**model.weights, kind: named})


def train_files(
    engine: Engine, files: Sequence[JudgedTopics], kind: Kind, out: Path, further: Sequence[Example] = ()
) -> Iterator[str]:
    """Fit on all files and on `further` topics, write the model, and yield the lines of a table of figures.

    The columns are: the file of topics, the number of topics, the figure of the engine's model, that of weights fitted
    on the other files (for a single file, on its other topics) and on `further` topics, and that of the new model."""
    check_plugins(FEATURES, plugin_features)
    sets = [make_examples(engine, read_topics(topics), read_grades(qrels), kind) for topics, qrels in files]
    if not any(sets):
        fact = "no topic has a relevant post that was judged"
        raise PorismError(fact, where=files[0].qrels, fix="give qrels of these topics")
    weights = fit([*(example for examples in sets for example in examples), *further], kind)
    before = engine.model.vector(kind).astype(np.float64)
    yield "topics\tnumber\tbefore\tothers\tall"
    for examples, (topics, _), held_out in zip(sets, files, cross_validate(sets, kind, further=further), strict=True):
        figures = (mean_over_topics(examples, before), held_out, mean_over_topics(examples, weights))
        yield "\t".join((topics, str(len(examples)), *(f"{figure:.3f}" for figure in figures)))
    named = ", ".join(topics for topics, _ in files)
    if further:
        named += f" and {len(further):,} duplicates"
        yield f"and {len(further):,} duplicates, each counted {further[0].weight:g}"
    remark = f"porism model train ranking: {kind} fitted on {named}."
    save_model(replace_weights(engine.model, kind, weights), out, remark)


def read_grades(path: str | Path) -> dict[str, dict[int, int]]:
    """Read judgments: the grade of each post by topic."""
    return {
        topic: {int(item): grade for item, grade in items.items() if item.isdigit()}
        for topic, items in read_qrels(path).items()
    }


SILENT = Silent()
WEIGHT = 0.1  # of a duplicate, where a judged topic counts 1
MOST_TOPICS = 1000  # further ones add time and little else


def duplicate_examples(engine: Engine, progress: Progress = SILENT) -> list[Example]:
    """Return an example for each question that is a duplicate of another one of the collection.

    The engine's index must have no links, or a query would find its title in the threads that are linked with it."""
    where, content = engine.snapshot.info.address, engine.content
    if engine.snapshot.info.has_links:
        fix = "porism index COLLECTION -o INDEX --no-links, and give that index to --duplicates"
        raise PorismError("the index has links, which tell the answers", where=where, fix=fix)
    duplicates = find_duplicates(content)
    chosen = sorted(duplicates)[:: max(1, -(-len(duplicates) // MOST_TOPICS))]
    found: list[Example] = []
    with progress.stage("duplicates", len(chosen)) as report:
        for number in chosen:
            answers = content.answers_by_question([number, *sorted(duplicates[number])])
            own = [answer.id for answer in answers.pop(number, ())]
            relevant = {answer.id for others in answers.values() for answer in others}
            if relevant:
                question = content.posts_by_id([number])[number]
                query = read_query(official_html(question.title), official_html(question.body), question.tags)
                example = make_example(engine, str(number), query, relevant, "answers", left_out=own)
                found.append(replace(example, weight=WEIGHT))
            report(1)
    if not found:
        fact = "its collection has no duplicates with answers"
        raise PorismError(fact, where=where, fix="train without --duplicates")
    return found


def find_duplicates(content: Content) -> dict[int, set[int]]:
    """Return for each question its duplicates in the collection, whichever of the two was marked."""
    questions = set(content.question_ids())
    found: dict[int, set[int]] = defaultdict(set)
    for link in content.all_links():
        if link.kind == "duplicate" and link.post_id != link.other_id and {link.post_id, link.other_id} <= questions:
            found[link.post_id].add(link.other_id)
            found[link.other_id].add(link.post_id)
    return found
