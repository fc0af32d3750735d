"""Answer and question search on the slice: bars, prime measures, cross-validation, latency, size."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from porism.corpus.build import build
from porism.corpus.collection import Collection
from porism.corpus.sources import open_source
from porism.corpus.topics import read_topics
from porism.index.build import build_index
from porism.search.engine import Engine
from porism.search.query import read_query
from porism.search.topic_run import run_topics
from porism.search.train import examples, fit, mean_average_precision, read_grades

SHARED = Path(os.environ.get("PORISM_SHARED", Path(__file__).resolve().parents[2] / "shared"))
SLICE = SHARED / "data" / "slice"
YEARS = ("2020", "2021")


def topic_file(year: str) -> Path:
    return SLICE / "topics" / f"task1-{year}.xml"


def qrels_file(year: str) -> Path:
    return SLICE / "qrels" / f"task1-{year}.core.txt"


def cross_validate(engine: Engine) -> None:
    """Fit on one year, test on the other."""
    weights = engine.model.vector("answers")
    sets = {
        year: examples(
            engine.searcher, read_topics(topic_file(year)), read_grades(qrels_file(year)), "answers", weights
        )
        for year in YEARS
    }
    for fitted, tested in (YEARS, YEARS[::-1]):
        print(
            f"answers fitted on {fitted}, tested on {tested}: MAP {mean_average_precision(sets[tested], fit(sets[fitted], 'answers')):.3f}"
        )


def latency(engine: Engine) -> None:
    """Whole questions as queries, one after another."""
    seconds = []
    for topic in read_topics(topic_file("2021")):
        began = time.perf_counter()
        engine.rank(read_query(topic.title, topic.question, topic.tags))
        seconds.append(time.perf_counter() - began)
    order = sorted(seconds)
    print(
        f"whole question as query: median {statistics.median(order) * 1000:.0f} ms, p95 {order[int(len(order) * 0.95)] * 1000:.0f} ms"
    )


def main() -> None:
    """Build, run, score."""
    if not SLICE.exists():
        print(f"answer_search: no data at {SHARED}; set PORISM_SHARED")
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        build([open_source(SLICE, "")], place / "collection")
        collection = Collection.open(place / "collection")
        for name, links in (("index", True), ("index-without-links", False)):
            began = time.perf_counter()
            manifest = build_index(collection, place / name, links=links)
            size = sum(part.size for part in manifest.files.values()) / 1e6
            print(f"{name}: {time.perf_counter() - began:.0f} s, {size:.1f} MB")
        runs = place / "runs"
        for year in YEARS:
            run_topics(place / "index", read_topics(topic_file(year)), 1, runs / f"t1-{year}.tsv")
        run_topics(place / "index-without-links", read_topics(SLICE / "topics" / "links.tsv"), 1, runs / "links.tsv")
        subprocess.run([sys.executable, str(SHARED / "tools" / "score_dev.py"), str(runs)], check=False)
        for year in YEARS:
            command = [sys.executable, "-m", "porism.cli", "eval", str(qrels_file(year)), str(runs / f"t1-{year}.tsv")]
            command += ["--measures", "nDCG'", "MAP'", "P'@10", "MAP", "R@100"]
            subprocess.run(command, check=False)
        engine = Engine.open(place / "index")
        latency(engine)
        print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most, building included")
        cross_validate(engine)


if __name__ == "__main__":
    main()
