"""porism lab pool: choose the items to judge."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HELP = "pool runs: choose the items to judge, and report on a pool"
EXAMPLE = "porism lab pool build demo/collection --task 1 --topics sample/topics/task1.xml --runs sample/runs/Abacus-task1-words-auto-text-P.tsv -o pool1"
EXAMPLES = {"build": EXAMPLE, "report": "porism lab pool report pool1"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions build and report."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="pool run files", description="Pool run files into a new folder.")
    build.add_argument("collection", metavar="COLLECTION", help="the collection that the runs were made on")
    build.add_argument(
        "--task", type=int, choices=(1, 2), required=True, help="1: answers, with those of Task 3; 2: formulas"
    )
    build.add_argument("--topics", required=True, metavar="FILE", help="the topic file of the task")
    build.add_argument("--runs", nargs="+", required=True, metavar="RUN", help="run files in the lab's format")
    build.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder to create")
    build.add_argument("--after", metavar="DIR", help="extend this pool: keep its items, and add new ones")
    build.add_argument("--seed", type=int, default=0, help="seed of all random choices (default: %(default)s)")
    build.add_argument(
        "--depth-primary", type=int, metavar="N", help="depth of primary runs (default: 45 items; Task 2: 25 formulas)"
    )
    build.add_argument(
        "--depth-alternate", type=int, metavar="N", help="depth of other runs (default: 20 items; Task 2: 15 formulas)"
    )
    build.add_argument(
        "--primary",
        nargs="*",
        default=[],
        metavar="RUN",
        help="runs to pool as deep as primary ones, such as baselines",
    )
    build.add_argument(
        "--policy",
        choices=("votes", "threads"),
        default="votes",
        help="Task 2: how to choose the instances of a formula: votes (as in 2022, the default) or threads (as in 2020)",
    )
    build.add_argument(
        "--instances", type=int, default=5, metavar="N", help="Task 2: instances per formula (default: %(default)s)"
    )
    build.add_argument(
        "--prefix", action="store_true", help="Task 2: only the pooled part of a run votes for instances"
    )
    report = actions.add_parser(
        "report",
        help="report sizes, overlaps and unique contributions",
        description="Report sizes, overlaps and unique contributions of a pool.",
    )
    report.add_argument("pool", metavar="POOL", help="a folder made by porism lab pool build")
    report.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Do the action."""
    return _build(args) if args.action == "build" else _report(args)


def _build(args: argparse.Namespace) -> int:
    from porism.corpus.topics.files import read_topics
    from porism.evaluate.runs.lookup import CollectionLookup
    from porism.lab.pooling.build import PoolOptions, build_pool, read_base, read_pool_run, write_pool

    depths = {
        name: value for name, value in (("primary", args.depth_primary), ("alternate", args.depth_alternate)) if value
    }
    options = PoolOptions(args.task, args.seed, depths, tuple(args.primary), args.policy, args.instances, args.prefix)
    facts = CollectionLookup(args.collection)
    topics = [topic.id for topic in read_topics(args.topics)]
    runs = [read_pool_run(Path(path), options, topics, facts) for path in sorted(args.runs)]
    names = [one.run.name for one in runs]
    earlier = read_base(Path(args.after), args.task, names) if args.after else None
    pool = build_pool(runs, options, facts, earlier.pool if earlier else None)
    write_pool(pool, Path(args.output), options, runs, earlier.runs if earlier else ())
    new = len(pool.items) - (len(earlier.pool.items) if earlier else 0)
    print(
        f"{len(pool.items)} items of {len({item.topic for item in pool.items})} topics, {new} of them new",
        file=sys.stderr,
    )
    return 0


def _report(args: argparse.Namespace) -> int:
    from porism.lab.pooling.build import read_pool
    from porism.lab.pooling.pool import report

    pool = read_pool(Path(args.pool))
    found = report(pool.items, pool.origins)
    if args.json:
        runs = {share.run: {"pooled": share.pooled, "unique": share.unique} for share in found.runs}
        overlap = [{"runs": [pair.first, pair.second], "items": pair.items} for pair in found.overlap]
        print(json.dumps({"topics": found.sizes, "mean": found.mean, "runs": runs, "overlap": overlap}))
        return 0
    print("topic\titems")
    for topic, size in found.sizes.items():
        print(f"{topic}\t{size}")
    print(f"mean\t{found.mean:.2f}\n\nrun\tpooled\tunique")
    for share in found.runs:
        print(f"{share.run}\t{share.pooled}\t{share.unique}")
    print("\nrun\trun\tin common")
    for pair in found.overlap:
        print(f"{pair.first}\t{pair.second}\t{pair.items}")
    return 0
