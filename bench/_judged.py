"""The judged sets that several benchmarks need: their topics, collections and indexes, made once for all that run together.

PORISM_BENCH_KEEP names a folder in which collections and indexes stay; what is there already is used as it is.
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

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.corpus.topics.files import read_topics
from porism.index.build import build_index
from porism.index.formulas.build import build_formula_index
from porism.records import Topic
from porism.search.formulas.searcher import FormulaSearcher

SHARED = Path(os.environ.get("PORISM_SHARED", Path(__file__).resolve().parents[2] / "shared"))
POOL, SLICE = SHARED / "data/formula-pool-2020", SHARED / "data/slice"
YEARS = ("2020", "2021")
SOURCES = {"pool": (POOL / "formulas.tsv",), "slice": (SLICE,), "pool-slice": (POOL / "formulas.tsv", SLICE)}
FORMULA_SETS = {"pool": "pool", "pool-slice": "pool-slice", "t2-2021": "slice"}  # test: collection


def missing(name: str) -> bool:
    """Say so where the data is absent."""
    if POOL.exists() and SLICE.exists():
        return False
    print(f"{name}: no data at {SHARED}; set PORISM_SHARED")
    return True


@cache
def folder() -> Path:
    """Where collections and indexes lie until all benchmarks are done."""
    if kept := os.environ.get("PORISM_BENCH_KEEP"):
        place = Path(kept)
        place.mkdir(parents=True, exist_ok=True)
        return place
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    return Path(made.name)


@cache
def collection(name: str) -> Path:
    """A collection of SOURCES."""
    place = folder() / f"{name}.collection"
    return place if place.exists() else build([open_source(path, "") for path in SOURCES[name]], place)


@cache
def index(links: bool) -> Path:
    """The whole index of the slice, with or without its list of links; its time and size are printed when it is made."""
    place = folder() / ("slice.index" if links else "slice-without-links.index")
    if not place.exists():
        began = time.perf_counter()
        with Collection.open(collection("slice")) as opened:
            manifest = build_index(opened, place, links=links)
        size = sum(part.size for part in manifest.files.values()) / 1e6
        print(f"{place.name}: {time.perf_counter() - began:.0f} s, {size:.1f} MB")
    return place


@cache
def formula_searcher(name: str) -> FormulaSearcher:
    """The formulas of a collection of SOURCES; those of the slice stand in its whole index."""
    if name == "slice":
        return FormulaSearcher.open(index(True) / "formulas")
    place = folder() / f"{name}.formulas"
    if not place.exists():
        with Collection.open(collection(name)) as opened:
            build_formula_index(opened, place)
    return FormulaSearcher.open(place)


def formula_topics(test: str) -> list[Topic]:
    """The topics of a test of FORMULA_SETS: Task 2 of 2020 for the pool, of 2021 for the slice."""
    return list(read_topics(SLICE / "topics/task2-2021.xml" if test == "t2-2021" else POOL / "topics.tsv"))


def scores(runs: Path) -> str:
    """What the independent script says of the runs in a folder."""
    command = [sys.executable, str(SHARED / "tools/score_dev.py"), str(runs)]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout
