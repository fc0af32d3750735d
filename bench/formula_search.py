"""Formula search: quality on judged topics, speed of building and of answering, beside Approach Zero (pya0) where it is at hand.

PORISM_PYA0 names a Python that has pya0 0.3.7; without it that row is left out, and said so. PORISM_BENCH_FORMULAS limits how many
formulas the speed is measured on. Processor seconds (all processes) are given beside the rates, since rates depend on what else runs.
"""

from __future__ import annotations

import html
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from porism.corpus.build import build
from porism.corpus.collection import Collection
from porism.corpus.sources import open_source
from porism.files import open_text
from porism.index.formulas import build_formula_index
from porism.search.formulas import FormulaSearcher

SHARED = Path(os.environ.get("PORISM_SHARED", Path(__file__).parents[2] / "shared"))
POOL, SLICE = SHARED / "data/formula-pool-2020", SHARED / "data/slice"
K = 1000
Topics = dict[str, str]


def main() -> None:
    """Print all tables."""
    if not POOL.exists():
        print(f"formula_search: no data at {SHARED}; set PORISM_SHARED")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quality(folder)
        speed(folder)


def pool_topics() -> Topics:
    """The query formulas of Task 2 in 2020."""
    with open_text(POOL / "topics.tsv") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    column = rows[0].index("latex")
    return {row[0]: row[column] for row in rows[1:]}


def topics_2021() -> Topics:
    """The query formulas of Task 2 in 2021."""
    text = (SLICE / "topics/task2-2021.xml").read_text("utf-8")
    found = re.findall(r'<Topic number="([^"]+)">.*?<Latex>(.*?)</Latex>', text, re.S)
    return {topic: html.unescape(latex) for topic, latex in found}


SETS: dict[str, tuple[tuple[Path, ...], Callable[[], Topics]]] = {
    "pool": ((POOL / "formulas.tsv",), pool_topics),
    "pool-slice": ((POOL / "formulas.tsv", SLICE), pool_topics),
    "t2-2021": ((SLICE,), topics_2021),
}


def quality(folder: Path) -> None:
    """Runs of the default engine, scored by the independent script."""
    runs = folder / "runs"
    runs.mkdir()
    for name, (sources, topics) in SETS.items():
        collection = build([open_source(path, "") for path in sources], folder / f"{name}.collection")
        with Collection.open(collection) as opened:
            build_formula_index(opened, folder / f"{name}.index")
        searcher = FormulaSearcher.open(folder / f"{name}.index")
        with (runs / f"{name}.tsv").open("w", encoding="utf-8") as out:
            for topic, latex in topics().items():
                for rank, hit in enumerate(searcher.search(latex, K), 1):
                    out.write(f"{topic}\t{hit.visual_id}\t-\t{rank}\t{hit.score:.9f}\tporism\n")
    print("quality (nDCG' MAP' P'@10; MAP with unjudged = 0 for t2-2021)")
    subprocess.run([sys.executable, SHARED / "tools/score_dev.py", runs], check=False)


def speed(folder: Path) -> None:
    """From LaTeX to an index, and from a query to 1,000 re-ranked formulas, on pool + slice."""
    searcher = FormulaSearcher.open(folder / "pool-slice.index")
    store = searcher.store
    number = min(store.formulas, int(os.environ.get("PORISM_BENCH_FORMULAS", store.formulas)))
    latex = [store.latex(row).replace("\n", " ") for row in range(number)]
    queries = [text.replace("\n", " ") for text in (*pool_topics().values(), *topics_2021().values())]
    built = porism_build(folder, latex)
    rows = {"porism": (*built, [*latencies(FormulaSearcher.open(folder / "latex.index"), queries)])}
    python = os.environ.get("PORISM_PYA0")
    if python:
        rows["pya0"] = pya0(python, folder, latex, queries)
    else:
        print("pya0: set PORISM_PYA0 to a Python that has it to see it here")
    print(f"\nspeed on {len(latex)} formulas, {len(queries)} queries, top {K}")
    print("system   formulas/s   per processor second   p50 ms   p95 ms   p99 ms")
    for name, (seconds, processor, times) in rows.items():
        p50, p95, p99 = np.percentile(times, (50, 95, 99)) * 1000
        rates = f"{len(latex) / seconds:10.0f} {len(latex) / processor:22.0f}"
        print(f"{name:8s} {rates} {p50:8.1f} {p95:8.1f} {p99:8.1f}")


def processor_seconds() -> float:
    """Of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def porism_build(folder: Path, latex: list[str]) -> tuple[float, float]:
    """Seconds and processor seconds to index formulas that are parsed (which is told apart)."""
    table = folder / "latex.tsv"
    rows = (f"{at}\t{text}\n" for at, text in enumerate(latex, 1))
    table.write_text("visual_id\tlatex\n" + "".join(rows), "utf-8")
    start = time.perf_counter()
    collection = build([open_source(table, "")], folder / "latex.collection")
    parsed, used = time.perf_counter(), processor_seconds()
    with Collection.open(collection) as opened:
        build_formula_index(opened, folder / "latex.index")
    done = time.perf_counter()
    print(f"\nparsing and storing {len(latex) / (parsed - start):.0f}/s, both {len(latex) / (done - start):.0f}/s")
    return done - parsed, processor_seconds() - used


def latencies(searcher: FormulaSearcher, queries: list[str]) -> Iterator[float]:
    """Seconds of each query, after one that is not counted (it loads the compiled code)."""
    searcher.search("x+1", K)
    for latex in queries:
        start = time.perf_counter()
        searcher.search(latex, K)
        yield time.perf_counter() - start


def pya0(python: str, folder: Path, latex: list[str], queries: list[str]) -> tuple[float, float, list[float]]:
    """Seconds and processor seconds of building (its own parsing included), and seconds of each query, under pya0."""
    (folder / "formulas.txt").write_text("\n".join(latex), "utf-8")
    (folder / "queries.txt").write_text("\n".join(queries), "utf-8")
    script = Path(__file__).with_name("_pya0.py")
    files = [folder / "formulas.txt", folder / "queries.txt", folder / "pya0"]
    done = subprocess.run([python, script, *files], check=True, capture_output=True, text=True, errors="replace")
    measured = json.loads(done.stdout.rsplit("\n", 2)[-2])
    return measured["build"], measured["processor"], measured["queries"]
