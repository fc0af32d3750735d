"""Answer and question search on the slice: measures, cross-validation, latency, memory.

Cross-validation fits answers on one year and on duplicates, and tests on the other year; it fits questions on four
fifths of the topics and tests on the last fifth. Repeating it without a group of features shows what the group
contributes. 43 and 57 topics are few, so answers are also fitted on random halves of both years and tested on the other
halves.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench._judged import SLICE, YEARS, folder, index, is_missing, scores
from porism.corpus.topics.files import read_topics
from porism.search.engine import Engine
from porism.search.features import feature_names
from porism.search.learning.train import (
    Example,
    Measure,
    Weights,
    average_precision,
    cross_validate,
    duplicate_examples,
    fit,
    make_examples,
    read_grades,
    reciprocal_rank,
)
from porism.search.query import Kind, read_query
from porism.systems.runs.run import RunOptions, make_run

HALVINGS = 20
HalfFit = tuple[Weights, npt.NDArray[np.int64]]
# The features of a group, by prefix or suffix of their names.
GROUPS = {
    "none left out": (),
    "words": (".words",),
    "pairs of words": (".pairs",),
    "tuples": (".tuples",),
    "paths": (".paths",),
    "parts": (".parts",),
    "formulas as wholes": ("formula_overlap.",),
    "the thread": ("thread.",),
    "its title": ("title.",),
    "titles of linked questions": ("links.",),
    "the answer": ("answer.",),
    "tags": ("tags",),
    "vectors": ("vectors.",),
    "concepts": ("concepts.",),
    "feedback": ("feedback.",),
}
# Answers use no feedback. A fit on 600 titles takes long, so questions have fewer groups.
GROUPS_OF = {
    "answers": tuple(group for group in GROUPS if group != "feedback"),
    "questions": ("none left out", "formulas as wholes", "feedback"),
}


def main() -> None:
    """Build the index, write runs, print all figures."""
    if is_missing("answer_search"):
        return
    runs = folder() / "answer-runs"
    for year in YEARS:
        make_run(index(True), read_topics(topic_file(year)), 1, runs / f"t1-{year}.tsv", RunOptions())
    make_run(index(False), read_topics(SLICE / "topics/links.tsv"), 1, runs / "links.tsv", RunOptions())
    print("MAP of Task 1, MRR of titles of duplicates (unjudged = not relevant)")
    print(scores(runs), end="", flush=True)
    for year in YEARS:
        prime_measures(year, runs)
    engine = Engine.open(index(True))
    latency(engine)
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most, building included")
    without_links = Engine.open(index(False))
    answers = [judged(engine, topic_file(year), qrels_file(year), "answers") for year in YEARS]
    duplicates = duplicate_examples(without_links)
    print("\nheld out: answers, MAP on 2020 and 2021")
    hold_out(answers, "answers", average_precision, duplicates)
    print("\nheld out: answers, random halves of both years, mean AP of each topic while it was held out")
    print(
        f"  {halves(answers, duplicates).mean():.3f}, without duplicates as further topics {halves(answers, []).mean():.3f}"
    )
    questions = [judged(without_links, SLICE / "topics/links.tsv", SLICE / "qrels/links.txt", "questions")]
    print("\nheld out: questions, MRR")
    hold_out(questions, "questions", reciprocal_rank)


def topic_file(year: str) -> Path:
    """Return the file of the topics of Task 1."""
    return SLICE / "topics" / f"task1-{year}.xml"


def qrels_file(year: str) -> Path:
    """Return the file of their judgments in the slice."""
    return SLICE / "qrels" / f"task1-{year}.core.txt"


def prime_measures(year: str, runs: Path) -> None:
    """Print the lab's measures, computed by `porism eval`."""
    command = [sys.executable, "-m", "porism.cli", "eval", str(qrels_file(year)), str(runs / f"t1-{year}.tsv")]
    subprocess.run([*command, "--measures", "nDCG'", "MAP'", "P'@10", "MAP", "R@100"], check=False)


def latency(engine: Engine) -> None:
    """Print the latency of whole questions as queries, without the first one, which loads compiled code."""
    seconds = []
    for topic in read_topics(topic_file("2021")):
        began = time.perf_counter()
        engine.rank(read_query(topic.title, topic.question, topic.tags))
        seconds.append(time.perf_counter() - began)
    p50, p95, p99 = np.percentile(seconds[1:], (50, 95, 99)) * 1000
    print(f"whole question as query: p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")


def judged(engine: Engine, topics: Path, qrels: Path, kind: Kind) -> list[Example]:
    """Return the judged topics with the features of their candidates."""
    return make_examples(engine, read_topics(topics), read_grades(qrels), kind)


def hold_out(sets: list[list[Example]], kind: Kind, measure: Measure, further: Sequence[Example] = ()) -> None:
    """Print cross-validated figures with all features and without each group; `further` topics are in every fit."""
    for group in GROUPS_OF[kind]:
        names = GROUPS[group]
        left_out = np.array(
            [any(feature.startswith(n) or feature.endswith(n) for n in names) for feature in feature_names()]
        )
        *reduced, also = [
            [replace(one, features=np.where(left_out, 0.0, one.features)) for one in examples]
            for examples in (*sets, further)
        ]
        figures = "  ".join(f"{figure:.3f}" for figure in cross_validate(reduced, kind, measure, also))
        print(f"  {figures}  {'without ' + group if names else group}", flush=True)


def halves(sets: list[list[Example]], further: list[Example]) -> npt.NDArray[np.float64]:
    """Return the average precision of each topic under weights fitted on the other half of a random split and on
    `further` topics, mean over HALVINGS splits."""
    return held_out([topic for one in sets for topic in one], half_fits(sets, further))


def held_out(topics: Sequence[Example], fits: Iterable[HalfFit]) -> npt.NDArray[np.float64]:
    """Return the average precision of each topic, mean over the fits of `half_fits` that held it out."""
    sums = np.zeros(len(topics))
    for weights, positions in fits:
        for at in positions:
            sums[at] += average_precision(topics[at], weights)
    return sums / HALVINGS


def half_fits(sets: list[list[Example]], further: list[Example]) -> Iterator[HalfFit]:
    """Yield the weights fitted on each half of HALVINGS random splits, and the positions of the topics of the other
    half."""
    random, topics = np.random.default_rng(0), [topic for one in sets for topic in one]
    for _ in range(HALVINGS):
        # Half of each set, so that the years stay balanced.
        first = np.concatenate([random.permutation(len(one)) < len(one) // 2 for one in sets])
        for training in (first, ~first):
            yield (
                fit([*(topics[at] for at in np.flatnonzero(training)), *further], "answers"),
                np.flatnonzero(~training),
            )


if __name__ == "__main__":
    main()
