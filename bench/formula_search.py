"""Formula search: quality on judged topics, and speed of indexing and searching, compared with Approach Zero (pya0) if
it is installed.

PORISM_PYA0 names a Python that has pya0 0.3.7. PORISM_BENCH_FORMULAS limits the number of formulas for the measurement
of speed. Both systems index on disk and in memory (/dev/shm), where neither waits for a disk. They answer each query
one after the other, so that other load on the machine affects both. Rates are also given per processor second (of all
processes), and Porism's queries in processor time, of all threads: other load affects these less.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from bench._judged import (
    FORMULA_SETS,
    collection,
    folder,
    formula_searcher,
    formula_topics,
    is_missing,
    scores,
    write_formula_run,
)
from porism.corpus.build.pipeline import build
from porism.corpus.content import Content, batched
from porism.corpus.sources.detect import open_source
from porism.search.formulas.searcher import FormulaSearcher
from porism.store import open_content, open_store
from porism.store.maintenance import build_index

K = 1000
CHUNK = 500
MEMORY = Path("/dev/shm")
SCRIPT = Path(__file__).with_name("_pya0.py")


class Used(NamedTuple):
    """Wall-clock and processor seconds."""

    clock: float
    processor: float


def main() -> None:
    """Print all tables."""
    if not is_missing("formula_search"):
        quality()
        speed()


def quality() -> None:
    """Print the measures of runs, computed by the independent script."""
    runs = folder() / "formula-runs"
    for test, name in FORMULA_SETS.items():
        write_formula_run(runs / f"{test}.tsv", formula_searcher(name), open_content(collection(name)), test)
    print("quality (nDCG' MAP' P'@10; MAP with unjudged = 0 for t2-2021)")
    print(scores(runs), end="", flush=True)


def speed() -> None:
    """Measure indexing from LaTeX, and searching for 1,000 re-ranked formulas, on pool + slice."""
    latex = [text.replace("\n", " ") for text in distinct_latex(open_content(collection("pool-slice")))]
    queries = [topic.latex.replace("\n", " ") for test in ("pool", "t2-2021") for topic in formula_topics(test)]
    place = folder() / "speed"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    built = porism_build(place, latex)
    built |= in_memory(latex)
    searcher = FormulaSearcher(open_store(place / "index").snapshot())
    python = os.environ.get("PORISM_PYA0")
    if not python:
        print("pya0: not measured; set PORISM_PYA0 to a Python that has it")
        report(len(latex), built, by_system(latencies(searcher, queries)))
        return
    with pya0(python, place, latex) as other:
        built["pya0, from LaTeX to an index"] = other.built
        report(len(latex), built, alternate(searcher, other, queries))


def distinct_latex(content: Content) -> Iterator[str]:
    """Yield the LaTeX of distinct formulas in the order of visual ids, all or as many as PORISM_BENCH_FORMULAS says."""
    returnable = {one.visual_id for one in content.occurrences()}
    found = (one.expression_id for one in content.visuals() if one.id in returnable)
    for chunk in batched(islice(found, int(os.environ.get("PORISM_BENCH_FORMULAS", len(returnable)))), CHUNK):
        expressions = content.expressions_by_id(chunk)
        yield from (expressions[number].latex for number in chunk)


def in_memory(latex: list[str]) -> dict[str, Used]:
    """Measure indexing by both systems in a file system in memory, where there is one: neither waits for a disk
    there."""
    if not MEMORY.is_dir():
        return {}
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        built = {f"{what}, in memory": used for what, used in porism_build(Path(name), latex).items()}
        if python := os.environ.get("PORISM_PYA0"):
            with pya0(python, Path(name), latex) as other:
                built["pya0, from LaTeX to an index, in memory"] = other.built
    return built


def report(formulas: int, built: dict[str, Used], times: dict[str, list[float]]) -> None:
    """Print both tables."""
    print(f"\nbuilding on {formulas} formulas\n  formulas/s   per processor second")
    for what, used in built.items():
        print(f"{formulas / used.clock:12.0f} {formulas / used.processor:22.0f}   {what}")
    print(f"\nanswering {len(next(iter(times.values())))} queries, top {K}\n  p50 ms   p95 ms   p99 ms")
    for system, seconds in times.items():
        p50, p95, p99 = np.percentile(seconds, (50, 95, 99)) * 1000
        print(f"{p50:8.1f} {p95:8.1f} {p99:8.1f}   {system}")


def used_since(start: tuple[float, float]) -> Used:
    """Return what was used since a call of `now()`."""
    clock, processor = now()
    return Used(clock - start[0], processor - start[1])


def now() -> tuple[float, float]:
    """Return the wall clock, and the processor seconds of this process and of finished child processes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)


def porism_build(place: Path, latex: list[str]) -> dict[str, Used]:
    """Measure indexing from LaTeX, and the part of it that follows the parsed collection."""
    table = place / "latex.tsv"
    rows = (f"{at}\t{text}\n" for at, text in enumerate(latex, 1))
    table.write_text("visual_id\tlatex\n" + "".join(rows), "utf-8")
    start = now()
    made = build([open_source(table, "")], place / "collection")
    parsed = now()
    build_index(open_content(made), place / "index")
    return {
        "porism, from LaTeX to an index": used_since(start),
        "porism, from parsed formulas to an index": used_since(parsed),
    }


def latencies(searcher: FormulaSearcher, queries: list[str]) -> Iterator[Used]:
    """Yield the seconds of each query, after one that is not counted because it loads compiled code."""
    searcher.search("x+1", K)
    for latex in queries:
        start = time.perf_counter(), time.process_time()
        searcher.search(latex, K)
        yield Used(time.perf_counter() - start[0], time.process_time() - start[1])


def by_system(ours: Iterable[Used]) -> dict[str, list[float]]:
    """Return what our queries used, as rows of the table."""
    used = list(ours)
    return {"porism": [one.clock for one in used], "porism, processor time": [one.processor for one in used]}


class Pya0(NamedTuple):
    """Approach Zero in a process of its own: what its indexing took, and the pipes for queries and answers."""

    built: Used
    queries: IO[str]
    answers: IO[str]

    def seconds(self, latex: str) -> float:
        """Send a query; return the seconds that the process reports."""
        self.queries.write(json.dumps(latex) + "\n")
        self.queries.flush()
        return float(_next_report(self.answers))


def _next_report(answers: IO[str]) -> Any:
    """Read the next line of our script; the library prints lines of its own."""
    for line in answers:
        if line.startswith("pya0:"):
            return json.loads(line.removeprefix("pya0:"))
    raise RuntimeError("pya0 ended early")


@contextmanager
def pya0(python: str, place: Path, latex: list[str]) -> Iterator[Pya0]:
    """Index the formulas, parsing included, and keep the process open for queries."""
    (place / "formulas.txt").write_text("\n".join(latex), "utf-8")
    command = [python, str(SCRIPT), str(place / "formulas.txt"), str(place / "pya0")]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Pya0(Used(*_next_report(process.stdout)), process.stdin, process.stdout)
        process.stdin.close()
        for _ in process.stdout:  # drain its output, or it would block
            pass


def alternate(searcher: FormulaSearcher, other: Pya0, queries: list[str]) -> dict[str, list[float]]:
    """Return the seconds of each query for both systems, which answer in turn."""
    other.seconds("x+1")
    ours, theirs = [], []
    for seconds, latex in zip(latencies(searcher, queries), queries, strict=True):
        ours.append(seconds)
        theirs.append(other.seconds(latex))
    return {**by_system(ours), "pya0": theirs}


if __name__ == "__main__":
    main()
