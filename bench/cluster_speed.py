"""How long a cluster takes beside the embedded store: questions, formulas, pages, copies and builds, in one run.

    python -m bench cluster_speed --index INDEX [--slice INDEX --collection COLLECTION] [--nodes 1 3]

INDEX is an index of generated posts (`python -m bench answer_growth` with PORISM_BENCH_FOLDER keeps one). Nodes run on
this machine, one shard for each. A question goes to the embedded store, to the cluster with a cache that 100 other
questions have filled, and to the cluster with an empty cache, in an order that changes. No question is asked twice. A
ratio is the median over questions of the time beside the embedded store's.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from attack.cluster.nodes import Nodes

from bench.answer_growth import questions
from porism.records import Query
from porism.search.engine import Engine
from porism.store.embedded.store import EmbeddedStore
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.load import copy_store
from porism.store.opensearch.store import ClusterStore

WARM, ASKED, FORMULAS = 100, 60, 40
TAG = re.compile(r"<[^>]*>")
FORMULA = re.compile(r"\$+([^$]{4,80})\$+")
Action = Callable[[Engine], object]


class Side(NamedTuple):
    """An engine of one store, and what is done before each query."""

    name: str
    engine: Engine
    before: Callable[[], object]


class Requests:
    """Counts and times the requests of a cluster."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.count = 0

    @contextmanager
    def counted(self) -> Iterator[Requests]:
        """Count until the end of the block."""
        send = Cluster._send

        def counting(cluster: Cluster, request: Any, seconds: float) -> Any:
            began = time.perf_counter()
            answer = send(cluster, request, seconds)
            kind = request.path.rpartition("/")[2]
            self.times.setdefault(kind, []).append(1000 * (time.perf_counter() - began))
            self.count += 1
            return answer

        Cluster._send = counting  # type: ignore[method-assign,assignment]
        try:
            yield self
        finally:
            Cluster._send = send  # type: ignore[method-assign]


def asking(query: Query, offset: int = 0) -> Action:
    """Return what asks for a page."""
    return lambda engine: engine.search(query, offset=offset)


def _formulas(latex: str, engine: Engine) -> object:
    return engine.formulas(latex)


def milliseconds(action: Callable[[], object]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - began)


def compared(what: str, sides: Sequence[Side], actions: Sequence[Action], prepare: Sequence[Action] = ()) -> None:
    """Print a row for each store: median, 95th percentile, and the median ratio to the first store, with its quartiles.
    `prepare` is done first and not measured."""
    times = np.zeros((len(actions), len(sides)))
    calls: dict[str, list[int]] = {side.name: [] for side in sides}
    requests = Requests()
    with requests.counted():
        for number, action in enumerate(actions):
            for turn in range(len(sides)):
                at = (number + turn) % len(sides)
                side = sides[at]
                if prepare:
                    prepare[number](side.engine)
                side.before()
                before = requests.count
                times[number, at] = milliseconds(partial(action, side.engine))
                calls[side.name].append(requests.count - before)
    for at, side in enumerate(sides):
        ratios = times[:, at] / times[:, 0]
        low, middle, high = np.percentile(ratios, (25, 50, 75))
        p50, p95 = np.percentile(times[:, at], (50, 95))
        shown = f"{middle:.2f} ({low:.2f} to {high:.2f})" if at else "1"
        most = f"{np.median(calls[side.name]):.0f}, {max(calls[side.name])}" if at else "-"
        print(f"| {what} | {side.name} | {p50:.1f} | {p95:.1f} | {shown} | {most} |", flush=True)
    means = {kind: f"{len(one) / len(actions):.1f} x {np.mean(one):.1f} ms" for kind, one in requests.times.items()}
    print(f"  requests a question, all stores: {means}", file=sys.stderr)


def measure(index: Path, address: str, count: int, save: Path | None) -> None:
    """Compare queries on an index and on its copy in a cluster of some nodes."""
    embedded, warm, cold = EmbeddedStore(index), ClusterStore.open(address), ClusterStore.open(address)
    sides = [
        Side("embedded", Engine(embedded.snapshot(), store=embedded), lambda: None),
        Side(f"{count} node{'s' * (count > 1)}", Engine(warm.snapshot(), store=warm), lambda: None),
        Side(
            f"{count} node{'s' * (count > 1)}, empty cache",
            Engine(cold.snapshot(), store=cold),
            cold.forget,
        ),
    ]
    asked = [
        Query(unescape(TAG.sub(" ", body)), title, tags) for title, body, tags in questions(WARM + 2 * ASKED + FORMULAS)
    ]
    for query in asked[:WARM]:
        for side in sides:
            side.engine.search(query)
    whole = asked[WARM : WARM + ASKED]
    compared("whole question", sides, [asking(query) for query in whole])
    pages = asked[WARM + ASKED : WARM + 2 * ASKED]
    compared(
        "page 2",
        sides[:2],
        [asking(query, 10) for query in pages],
        [asking(query) for query in pages],
    )
    found = dict.fromkeys(latex for query in asked for latex in FORMULA.findall(query.text)[:1])
    formulas = list(found)
    for latex in formulas[:WARM]:
        for side in sides:
            side.engine.formulas(latex)
    measured = formulas[WARM : WARM + FORMULAS] or formulas[-FORMULAS:]
    compared("formula", sides, [partial(_formulas, latex) for latex in measured])
    if save is not None:
        own = Requests()
        with own.counted():
            for query in whole:  # the engine has these rankings no longer
                sides[1].engine.search(query)
        save.write_text("".join(f"{one:.2f}\n" for one in own.times["_msearch"]), "utf-8")


def copied(index: Path, address: str, shards: int) -> None:
    """Copy an index into a cluster, and print the rate."""
    began = time.perf_counter()
    copy_store(index, address, shards=shards)
    seconds = time.perf_counter() - began
    counts = ClusterStore.open(address).snapshot().info.counts
    posts = counts["question"] + counts["answer"]
    rate = counts["thread"] / seconds
    what = f"store copy of {posts:,} posts, {shards} shard{'s' * (shards > 1)}"
    print(f"| {what} | {seconds:.1f} s | {rate:,.0f} threads/s |", flush=True)


def built(collection: Path, address: str) -> None:
    """Index a collection into a folder and into a cluster, and print the ratio."""
    seconds = []
    with tempfile.TemporaryDirectory(prefix="porism-bench-") as work:
        for target in (str(Path(work) / "index"), address):
            began = time.perf_counter()
            command = [sys.executable, "-m", "porism.cli", "index", str(collection), "-o", target, "--quiet"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - began)
    both, ratio = f"{seconds[0]:.1f} s, {seconds[1]:.1f} s", f"{seconds[1] / seconds[0]:.2f}"
    print(f"| index -o, beside the embedded index | {both} | {ratio} |", flush=True)


def command(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--index", type=Path, required=True, help="an index of generated posts")
    parser.add_argument("--slice", type=Path, help="an index of real posts, whose copy is timed")
    parser.add_argument("--collection", type=Path, help="its collection, which is indexed into a folder and a cluster")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--heap", default="1g")
    parser.add_argument(
        "--save", type=Path, help="write the times of candidate searches on one node, for bench.fan_out"
    )
    options = parser.parse_args(arguments)
    for count in options.nodes:
        with Nodes(count, options.heap, 9800, measured=True) as nodes:
            print(f"\n| {count} node{'s' * (count > 1)} | time | |\n|---|--:|--:|")
            if options.slice is not None:
                copied(options.slice, nodes.address("slice"), 1)
                nodes.wait()
            if options.collection is not None and count == max(options.nodes):
                built(options.collection, nodes.address("built"))
                nodes.wait()
            copied(options.index, nodes.address("large"), count)
            nodes.wait()
            print("\n| query | store | median ms | 95 % ms | ratio (quartiles) | requests: median, most |")
            print("|---|---|--:|--:|--:|--:|")
            measure(options.index, nodes.address("large"), count, options.save if count == 1 else None)


if __name__ == "__main__":
    command(sys.argv[1:])
