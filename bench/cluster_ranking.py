"""Whether a cluster ranks as the embedded store does: runs of all development topics from a folder and from a cluster,
compared topic by topic.

    python -m bench cluster_ranking [--nodes 3] [--titles 1]

Topics of Task 1 and Task 2 are searched in the slice, and titles of duplicates in the slice without links. The cluster
runs on this machine, one shard for each node. For each topic whose ranking differs, a line says where the first
difference is, by how much the scores differ there, and what the stores' scores of the same item differ by at most:
near-ties, whose order single-precision scores of candidates decide.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from attack.cluster.nodes import Nodes

from bench._judged import SLICE, YEARS, index, is_missing
from porism.corpus.topics.files import read_topics
from porism.evaluate.runs.run import RunRanking, read_run
from porism.store.opensearch.load import copy_store
from porism.systems.runs.run import RunOptions, make_run

FIRST = 10
SETS = (
    *((f"Task 1, {year}", f"task1-{year}.xml", 1, True) for year in YEARS),
    *((f"Task 2, {year}", f"task2-{year}.xml", 2, True) for year in YEARS),
    ("titles of duplicates", "links.tsv", 1, False),
)


class Difference(NamedTuple):
    """How two rankings of a topic differ: the first rank, the relative gap of the embedded scores of the two items
    there, the largest relative difference of the scores of an item, and how many items only one of them has."""

    rank: int
    gap: float
    scores: float
    missing: int


def difference(one: RunRanking, other: RunRanking) -> Difference | None:
    """Return how two rankings differ; None if they have the same items in the same order."""
    if list(one.items) == list(other.items):
        return None
    own, its = dict(zip(one.items, one.scores, strict=True)), dict(zip(other.items, other.scores, strict=True))
    most = max(map(abs, own.values()), default=1.0) or 1.0
    pairs = list(zip(one.items, other.items, strict=False))
    rank = next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), len(pairs))
    gap = 0.0
    if rank < len(pairs) and pairs[rank][1] in own:
        gap = abs(own[pairs[rank][0]] - own[pairs[rank][1]]) / most
    common = own.keys() & its.keys()
    scores = max((abs(own[item] - its[item]) / most for item in common), default=0.0)
    return Difference(rank + 1, gap, scores, len(own.keys() ^ its.keys()))


def command(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--titles", type=int, default=1, metavar="N", help="only every N-th title (default: all)")
    options = parser.parse_args(arguments)
    if is_missing("cluster_ranking"):
        return
    with Nodes(options.nodes, "1g", 9450, measured=True) as nodes, tempfile.TemporaryDirectory() as work:
        addresses = {}
        for links in (True, False):
            addresses[links] = nodes.address("with" if links else "without")
            copy_store(index(links), addresses[links], shards=options.nodes)
        nodes.wait()
        print(f"| topics | | first {FIRST} equal | whole ranking equal |\n|---|--:|--:|--:|", flush=True)
        for name, file, task, links in SETS:
            topics = list(read_topics(SLICE / "topics" / file))[:: options.titles if file == "links.tsv" else 1]
            runs: list[dict[str, RunRanking]] = []
            for place in (index(links), addresses[links]):
                path = Path(work) / f"{len(runs)}.tsv"
                make_run(place, topics, task, path, RunOptions())
                runs.append(read_run(path).rankings)
            equal = np.zeros(2, np.int64)
            for topic, ranking in runs[0].items():
                found = difference(ranking, runs[1][topic])
                equal += (found is None or found.rank > FIRST, found is None)
                if found is not None:
                    print(f"{name}, {topic}: {found}", file=sys.stderr)
            shares = " | ".join(f"{number:,} ({100 * number / len(topics):.1f} %)" for number in equal.tolist())
            print(f"| {name} | {len(topics):,} | {shares} |", flush=True)


if __name__ == "__main__":
    command(sys.argv[1:])
