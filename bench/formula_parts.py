"""What each feature of formula search contributes: alone, summed, and with weights chosen on one year and tested on the
other."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench._judged import (
    FORMULA_SETS,
    POOL,
    SLICE,
    collection,
    folder,
    formula_searcher,
    formula_topics,
    is_missing,
    scores,
)
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.run import LIMIT, RunRanking, write_rankings
from porism.search.formulas.features import FEATURES, WEIGHTS
from porism.store import open_content
from porism.systems.runs.topics import SPARE

Array = npt.NDArray[np.float64]
TESTS = {
    "pool": (POOL / "qrels.txt", True),
    "t2-2021": (SLICE / "qrels/task2-2021.core.txt", False),
}  # whether the measure is a prime one
CHOICES = (0.5, 1.0, 1.5, 2.0)
SIMILARITIES = len(FEATURES) - 1  # the last feature is added to the similarities


class Topic(NamedTuple):
    """The candidates of a topic: visual ids, features (each between 0 and 1) and grades (-1: not judged); and the
    grades of all judged formulas."""

    name: str
    visual_ids: npt.NDArray[np.int64]
    features: Array
    grades: npt.NDArray[np.int64]
    pool: list[int]


def main() -> None:
    """Print the tables."""
    if is_missing("formula_parts"):
        return
    tests = {name: read(name) for name in TESTS}
    print("nDCG' / MAP' / P'@10 on the pool, MAP on the slice in 2021 (unjudged = not relevant)")
    for at, feature in enumerate(FEATURES[:-1]):
        report(f"{feature.name} alone", tests, np.eye(len(FEATURES))[at])
    even = np.append(np.full(SIMILARITIES, 1.0 / SIMILARITIES), 0.0)
    report("sum of the four", tests, even)
    report("+ the same, renamed, inside", tests, WEIGHTS)
    print(
        f"\nweights of {', '.join(feature.name for feature in FEATURES[:-1])}, each one of {CHOICES}, chosen by MAP on one set and tested on the other"
    )
    for name in TESTS:
        chosen = max(
            product(CHOICES, repeat=SIMILARITIES),
            key=lambda weights: mean_average_precision(name, tests[name], scaled(weights)),
        )
        report(f"chosen on {name}: {chosen}", tests, scaled(chosen))


def scaled(weights: tuple[float, ...]) -> Array:
    """Scale weights to the sum of those that ship."""
    return np.append(np.array(weights) / sum(weights), WEIGHTS[-1])


def read(test: str) -> list[Topic]:
    """Return the judged topics of a test, each with the candidates that `porism run` would rank."""
    name = FORMULA_SETS[test]
    searcher = formula_searcher(name)
    grades = read_qrels(TESTS[test][0])
    topics = []
    content = open_content(collection(name))
    for topic in formula_topics(test):
        if judged := grades.get(topic.id):
            scored = searcher.score(searcher.analyse(topic.latex), SPARE * LIMIT)
            ids = scored.batch.visual_ids
            kept = np.isin(ids, list(content.instances(ids.tolist(), 1, returnable=True)))
            found = np.array([judged.get(str(number), -1) for number in ids[kept].tolist()])
            topics.append(
                Topic(topic.id, ids[kept], scored.contributions[kept] / WEIGHTS, found, list(judged.values()))
            )
    return topics


def order(topic: Topic, weights: Array) -> npt.NDArray[np.int64]:
    """Return the positions of the best candidates, best first."""
    return np.lexsort((topic.visual_ids, -(topic.features @ weights)))[:LIMIT]


def mean_average_precision(test: str, topics: list[Topic], weights: Array) -> float:
    """Return the mean average precision of a test."""
    found = []
    for topic in topics:
        grades = topic.grades[order(topic, weights)]
        kept = grades[grades >= 0] if TESTS[test][1] else np.maximum(grades, 0)
        if any(grade >= 2 for grade in topic.pool) or TESTS[test][1]:
            found.append(average_precision(kept.tolist(), topic.pool))
    return float(np.mean(found))


def average_precision(grades: list[int], pool: list[int]) -> float:
    """Return the average precision of a ranking; `pool` has all grades of the topic."""
    ranks = [rank for rank, grade in enumerate(grades, 1) if grade >= 2]
    total = sum(grade >= 2 for grade in pool)
    return sum(found / rank for found, rank in enumerate(ranks, 1)) / total if total else 0.0


def report(title: str, tests: dict[str, list[Topic]], weights: Array) -> None:
    """Print one line of figures, computed by the independent script."""
    runs = folder() / "part-runs"
    for test, topics in tests.items():
        write_rankings(
            ((topic.name, ranking(topic, weights)) for topic in topics), runs / f"{test}.tsv", "task2", "part"
        )
    figures = [line.split("bar")[0].split(maxsplit=1) for line in scores(runs).splitlines()]
    print(f"  {'   '.join(' / '.join(one[1].split()) for one in figures)}   {title}", flush=True)


def ranking(topic: Topic, weights: Array) -> RunRanking:
    """Return the ranking of the candidates, by visual id."""
    best = order(topic, weights)
    ids = [str(number) for number in topic.visual_ids[best].tolist()]
    return RunRanking(ids, (topic.features @ weights)[best].tolist(), ["-"] * len(ids))


if __name__ == "__main__":
    main()
