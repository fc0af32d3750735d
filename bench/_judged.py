"""The judged sets of several benchmarks: topics, collections and indexes, built once for all benchmarks that run
together.

PORISM_BENCH_KEEP names a folder that keeps collections and indexes; those in it are used as they are.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from bench._data import SHARED
from porism.corpus.build.pipeline import build
from porism.corpus.content import Content
from porism.corpus.sources.detect import open_source
from porism.corpus.topics.files import read_topics
from porism.evaluate.runs.run import LIMIT, write_rankings
from porism.records import Topic
from porism.search.formulas.searcher import FormulaRetriever, FormulaSearcher
from porism.store import open_content, open_store
from porism.store.maintenance import build_index
from porism.store.protocols import IndexOptions
from porism.systems.runs.topics import topic_ranking

POOL, SLICE = SHARED / "data/formula-pool-2020", SHARED / "data/slice"
YEARS = ("2020", "2021")
SOURCES = {"pool": (POOL / "formulas.tsv",), "slice": (SLICE,), "pool-slice": (POOL / "formulas.tsv", SLICE)}
FORMULA_SETS = {"pool": "pool", "pool-slice": "pool-slice", "t2-2021": "slice"}  # test: collection


def is_missing(name: str) -> bool:
    """Return whether the real data is missing, and print it."""
    if POOL.exists() and SLICE.exists():
        return False
    print(f"{name}: no data at {SHARED}; set PORISM_SHARED")
    return True


@cache
def folder() -> Path:
    """Return the folder of collections and indexes; a temporary one is deleted at exit."""
    if kept := os.environ.get("PORISM_BENCH_KEEP"):
        place = Path(kept)
        place.mkdir(parents=True, exist_ok=True)
        return place
    temporary = tempfile.TemporaryDirectory()
    atexit.register(temporary.cleanup)
    return Path(temporary.name)


@cache
def collection(name: str) -> Path:
    """Return a collection of SOURCES; build it if needed."""
    place = folder() / f"{name}.collection"
    return place if place.exists() else build([open_source(path, "") for path in SOURCES[name]], place)


@cache
def index(links: bool) -> Path:
    """Return the index of the slice, with or without links. If it must be built, print the time and the size."""
    place = folder() / ("slice.index" if links else "slice-without-links.index")
    if not place.exists():
        began = time.perf_counter()
        made = build_index(open_content(collection("slice")), place, IndexOptions(links=links))
        print(f"{place.name}: {time.perf_counter() - began:.0f} s, {made.bytes / 1e6:.1f} MB")
    return place


@cache
def formula_searcher(name: str) -> FormulaSearcher:
    """Return the searcher of the formulas of a collection of SOURCES."""
    place = index(True) if name == "slice" else folder() / f"{name}.index"
    if not place.exists():
        build_index(open_content(collection(name)), place)
    return FormulaSearcher(open_store(place).snapshot())


def formula_topics(test: str) -> list[Topic]:
    """Return the topics of a test of FORMULA_SETS: Task 2 of 2020 for the pool, of 2021 for the slice."""
    return list(read_topics(SLICE / "topics/task2-2021.xml" if test == "t2-2021" else POOL / "topics.tsv"))


def write_formula_run(path: Path, searcher: FormulaSearcher, content: Content, test: str) -> None:
    """Write the run of a searcher for the topics of a test, as `porism run` does."""
    retriever = FormulaRetriever(searcher)
    found = ((one.id, topic_ranking(retriever, content, one, 2, LIMIT)) for one in formula_topics(test))
    write_rankings(found, path, "task2", "porism")


def scores(runs: Path) -> str:
    """Return what the independent script prints for the runs in a folder."""
    command = [sys.executable, str(SHARED / "tools/score_dev.py"), str(runs)]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout
