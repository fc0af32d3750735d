"""Pages of results on the slice: processor milliseconds of the first page, the second page and the explanation of the
first hit.

Queries are whole questions of Task 1 (2021), and their titles as people type them. Each query is new, as for a server
without a cache. PORISM_BENCH_INDEX names an index of the slice; without it the slice is built and indexed first.
PORISM_BENCH_TOPICS limits the topics.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench._data import SHARED
from bench.web import build
from porism.corpus.topics.files import read_topics
from porism.records import Query
from porism.search.engine import Engine
from porism.text.read import read_official
from porism.web.http.requests import encode
from porism.web.server.run import collect_rarely

TOPICS = SHARED / "data/slice/topics/task1-2021.xml"
WARM_UP = 3  # first queries, which load compiled code and compile patterns; they are not counted
HEAD = f"{'query':16s} {'step':34s} {'p50 ms':>7s} {'p95 ms':>7s} {'mean ms':>7s}"


def main() -> None:
    """Open or build the index and print a table."""
    if not TOPICS.is_file():
        print(f"{TOPICS} is missing; nothing was measured")
        return
    with tempfile.TemporaryDirectory() as name:
        index = Path(os.environ["PORISM_BENCH_INDEX"]) if "PORISM_BENCH_INDEX" in os.environ else build(Path(name))
        topics = list(read_topics(TOPICS))[: int(os.environ.get("PORISM_BENCH_TOPICS", "0")) or None]
        print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
        print(HEAD)
        measure(index, "whole question", [Query(topic.question, topic.title, topic.tags) for topic in topics])
        measure(index, "typed title", [read_official(topic.title).plain() for topic in topics])


def measure(index: Path, name: str, queries: Sequence[str | Query]) -> None:
    """Search for queries one after another and print a row for each step."""
    engine = Engine.open(index)
    collect_rarely()  # as the processes of a server do
    rows: dict[str, list[float]] = {}
    for query in queries:
        for step, milliseconds in steps(engine, query).items():
            rows.setdefault(step, []).append(milliseconds)
    for step, found in rows.items():
        p50, p95 = np.percentile(found[WARM_UP:], (50, 95))
        print(f"{name:16s} {step:34s} {p50:7.1f} {p95:7.1f} {np.mean(found[WARM_UP:]):7.1f}", flush=True)


def steps(engine: Engine, query: str | Query) -> dict[str, float]:
    """Return the processor milliseconds of each step of a search, in the order in which a reader takes them."""
    spent: dict[str, float] = {}

    def timed(step: str, action: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = action()
        spent[step] = (time.process_time() - began) * 1000
        return result

    read = timed("reading the query", lambda: engine.read(query))
    timed("ranking", lambda: engine.rank(read, "answers"))
    first = timed("first page, ten snippets", lambda: engine.search(query))
    timed("the same as JSON", lambda: encode(first))
    timed("second page", lambda: engine.search(query, offset=10))
    if first.hits:
        timed("explanation of the first hit", lambda: engine.explain(query, first.hits[0].id))
    whole = ("reading the query", "ranking", "first page, ten snippets")
    spent["all of a new search with snippets"] = sum(spent[step] for step in whole)
    return spent


if __name__ == "__main__":
    main()
