"""Formula search: quality on judged topics, speed of building and of answering, beside Approach Zero (pya0) where it is at hand.

PORISM_PYA0 names a Python that has pya0 0.3.7; without it that row is left out, and said so. PORISM_BENCH_FORMULAS limits how many
formulas the speed is measured on. Queries of both systems are asked by turns, each first by one and then by the other, so that what else
runs meets both. Processor seconds (all processes) are given beside the rates, since rates depend on what else runs.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from bench._judged import (
    FORMULA_SETS,
    collection,
    folder,
    formula_searcher,
    formula_topics,
    missing,
    scores,
)
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.evaluate.runs.run import write_rankings
from porism.index.formulas.build import build_formula_index
from porism.search.formulas.retriever import FormulaRetriever
from porism.search.formulas.searcher import FormulaSearcher
from porism.systems.run import formula_rankings

K = 1000
SCRIPT = Path(__file__).with_name("_pya0.py")


class Used(NamedTuple):
    """Seconds by the clock, and of processors."""

    clock: float
    processor: float


def main() -> None:
    """Print all tables."""
    if not missing("formula_search"):
        quality()
        speed()


def quality() -> None:
    """Runs as `porism run` makes them, scored by the independent script."""
    runs = folder() / "formula-runs"
    for test, name in FORMULA_SETS.items():
        with Collection.open(collection(name)) as opened:
            found = formula_rankings(FormulaRetriever(formula_searcher(name)), opened, formula_topics(test), K)
            write_rankings(found, runs / f"{test}.tsv", "task2", "porism")
    print("quality (nDCG' MAP' P'@10; MAP with unjudged = 0 for t2-2021)")
    print(scores(runs), end="", flush=True)


def speed() -> None:
    """From LaTeX to an index, and from a query to 1,000 re-ranked formulas, on pool + slice."""
    store = formula_searcher("pool-slice").store
    number = min(store.formulas, int(os.environ.get("PORISM_BENCH_FORMULAS", store.formulas)))
    latex = [store.latex(row).replace("\n", " ") for row in range(number)]
    queries = [topic.latex.replace("\n", " ") for test in ("pool", "t2-2021") for topic in formula_topics(test)]
    place = folder() / "speed"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    built = porism_build(place, latex)
    searcher = FormulaSearcher.open(place / "index")
    python = os.environ.get("PORISM_PYA0")
    if not python:
        print("pya0: set PORISM_PYA0 to a Python that has it to see it here")
        report(len(latex), built, {"porism": list(latencies(searcher, queries))})
        return
    with pya0(python, place, latex) as other:
        built["pya0, from LaTeX to an index"] = other.built
        report(len(latex), built, by_turns(searcher, other, queries))


def report(formulas: int, built: dict[str, Used], times: dict[str, list[float]]) -> None:
    """Both tables."""
    print(f"\nbuilding on {formulas} formulas\n  formulas/s   per processor second")
    for what, used in built.items():
        print(f"{formulas / used.clock:12.0f} {formulas / used.processor:22.0f}   {what}")
    print(f"\nanswering {len(next(iter(times.values())))} queries, top {K}\n  p50 ms   p95 ms   p99 ms")
    for system, seconds in times.items():
        p50, p95, p99 = np.percentile(seconds, (50, 95, 99)) * 1000
        print(f"{p50:8.1f} {p95:8.1f} {p99:8.1f}   {system}")


def used_since(start: tuple[float, float]) -> Used:
    """What was used since `now()`."""
    clock, processor = now()
    return Used(clock - start[0], processor - start[1])


def now() -> tuple[float, float]:
    """The clock, and processor seconds of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)


def porism_build(place: Path, latex: list[str]) -> dict[str, Used]:
    """From LaTeX to a finished formula index, and of it what follows the parsed and stored collection."""
    table = place / "latex.tsv"
    rows = (f"{at}\t{text}\n" for at, text in enumerate(latex, 1))
    table.write_text("visual_id\tlatex\n" + "".join(rows), "utf-8")
    start = now()
    made = build([open_source(table, "")], place / "collection")
    parsed = now()
    with Collection.open(made) as opened:
        build_formula_index(opened, place / "index")
    return {
        "porism, from LaTeX to an index": used_since(start),
        "porism, from parsed formulas to an index": used_since(parsed),
    }


def latencies(searcher: FormulaSearcher, queries: list[str]) -> Iterator[float]:
    """Seconds of each query, after one that is not counted (it loads the compiled code)."""
    searcher.search("x+1", K)
    for latex in queries:
        start = time.perf_counter()
        searcher.search(latex, K)
        yield time.perf_counter() - start


class Pya0(NamedTuple):
    """Approach Zero in a process of its own: what its index took, and the pipes to ask it."""

    built: Used
    asked: IO[str]
    answers: IO[str]

    def seconds(self, latex: str) -> float:
        """Ask; the seconds that it says it took."""
        self.asked.write(json.dumps(latex) + "\n")
        self.asked.flush()
        return float(_said(self.answers))


def _said(answers: IO[str]) -> Any:
    """The next line that is ours: its library prints lines of its own."""
    for line in answers:
        if line.startswith("pya0:"):
            return json.loads(line.removeprefix("pya0:"))
    raise RuntimeError("pya0 ended early")


@contextmanager
def pya0(python: str, place: Path, latex: list[str]) -> Iterator[Pya0]:
    """Index the formulas, parsing included, and stay to be asked."""
    (place / "formulas.txt").write_text("\n".join(latex), "utf-8")
    command = [python, str(SCRIPT), str(place / "formulas.txt"), str(place / "pya0")]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as done:
        assert done.stdin is not None
        assert done.stdout is not None
        yield Pya0(Used(*_said(done.stdout)), done.stdin, done.stdout)
        done.stdin.close()
        for _ in done.stdout:  # what it still prints must not block it
            pass


def by_turns(searcher: FormulaSearcher, other: Pya0, queries: list[str]) -> dict[str, list[float]]:
    """Seconds of each query, one system after the other."""
    other.seconds("x+1")
    ours, theirs = [], []
    for seconds, latex in zip(latencies(searcher, queries), queries, strict=True):
        ours.append(seconds)
        theirs.append(other.seconds(latex))
    return {"porism": ours, "pya0": theirs}


if __name__ == "__main__":
    main()
