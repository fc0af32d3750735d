"""porism lab submissions, pool: collect the runs of teams, and choose the items to judge."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from porism.cli.command import argument, command
from porism.cli.options import JSON

FOLDER = argument("folder", metavar="FOLDER", help="the folder of submissions")


@command(
    "porism lab submissions add submitted --topics sample/topics/task1.xml --files "
    "sample/runs/Abacus-task1-words-auto-text-P.tsv",
    FOLDER,
    argument("--files", nargs="+", required=True, metavar="RUN", help="run files"),
    argument("--collection", metavar="DIR", help="look up every hit in this collection"),
    argument("--topics", nargs="*", default=[], metavar="FILE", help="topic files of the tasks"),
    description="Submit run files. The group in a file's name is its team.",
)
def submit(args: argparse.Namespace) -> int:
    """Submit runs; exit with 1 if one was refused."""
    from porism.lab.submissions import submit_files

    done = submit_files(Path(args.folder), args.files, args.topics, args.collection)
    for receipt in done:
        print(f"{receipt.number}\t{receipt.team}\t{receipt.file}\t{receipt.verdict}")
        for line in receipt.report:
            print(line, file=sys.stderr)
    return int(any(receipt.verdict == "refused" for receipt in done))


@command(
    "porism lab submissions list submitted",
    FOLDER,
    argument("--team", default="", help="only the receipts of this team"),
    description="List the receipts.",
)
def receipts(args: argparse.Namespace) -> None:
    """Print a line for each receipt."""
    from porism.lab.submissions import Submissions

    for receipt in Submissions(Path(args.folder)).receipts(args.team):
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(receipt.at))
        print(f"{receipt.number}\t{when}\t{receipt.team}\t{receipt.file}\t{receipt.verdict}\t{receipt.sha256}")


@command(
    "porism lab submissions withdraw submitted Abacus Abacus-task1-words-auto-text-P.tsv",
    FOLDER,
    argument("team", help="the team"),
    argument("file", help="the name of the run file"),
    description="Withdraw a run. Its file is kept.",
)
def withdraw(args: argparse.Namespace) -> None:
    """Withdraw a run and print the number of the receipt."""
    from porism.lab.submissions import Submissions

    print(Submissions(Path(args.folder)).withdraw(args.team, args.file).number)


@command(
    "porism lab pool build demo/collection --task 1 --topics sample/topics/task1.xml --runs "
    "sample/runs/Abacus-task1-words-auto-text-P.tsv -o pool1",
    argument("collection", metavar="COLLECTION", help="the collection that the runs were made on"),
    argument("--task", type=int, choices=(1, 2), required=True, help="1: answers, with those of Task 3; 2: formulas"),
    argument("--topics", required=True, metavar="FILE", help="the topic file of the task"),
    argument("--runs", nargs="+", required=True, metavar="RUN", help="run files in the lab's format"),
    argument("-o", "--output", required=True, metavar="DIR", help="the folder to create"),
    argument("--after", metavar="DIR", help="extend this pool: keep its items, and add new ones"),
    argument("--seed", type=int, default=0, help="seed of all random choices (default: %(default)s)"),
    argument(
        "--depth-primary", type=int, metavar="N", help="depth of primary runs (default: 45 items; Task 2: 25 formulas)"
    ),
    argument(
        "--depth-alternate", type=int, metavar="N", help="depth of other runs (default: 20 items; Task 2: 15 formulas)"
    ),
    argument(
        "--primary",
        nargs="*",
        default=[],
        metavar="RUN",
        help="runs to pool as deep as primary ones, such as baselines",
    ),
    argument(
        "--policy",
        choices=("votes", "threads"),
        default="votes",
        help="Task 2: how to choose the instances of a formula: votes (as in 2022, the default) or threads (as in "
        "2020)",
    ),
    argument(
        "--instances", type=int, default=5, metavar="N", help="Task 2: instances per formula (default: %(default)s)"
    ),
    argument("--prefix", action="store_true", help="Task 2: only the pooled part of a run votes for instances"),
    description="Pool run files into a new folder.",
)
def build(args: argparse.Namespace) -> None:
    """Pool the runs, and print how many items there are."""
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


@command(
    "porism lab pool report pool1",
    argument("pool", metavar="POOL", help="a folder made by porism lab pool build"),
    JSON,
    description="Report sizes, overlaps and unique contributions of a pool.",
)
def report(args: argparse.Namespace) -> None:
    """Print three tables: items of topics, contributions of runs, overlaps of runs."""
    from porism.lab.pooling.build import read_pool
    from porism.lab.pooling.pool import report

    pool = read_pool(Path(args.pool))
    found = report(pool.items, pool.origins)
    if args.json:
        runs = {share.run: {"pooled": share.pooled, "unique": share.unique} for share in found.runs}
        overlap = [{"runs": [pair.first, pair.second], "items": pair.items} for pair in found.overlap]
        print(json.dumps({"topics": found.sizes, "mean": found.mean, "runs": runs, "overlap": overlap}))
        return
    print("topic\titems")
    for topic, size in found.sizes.items():
        print(f"{topic}\t{size}")
    print(f"mean\t{found.mean:.2f}\n\nrun\tpooled\tunique")
    for share in found.runs:
        print(f"{share.run}\t{share.pooled}\t{share.unique}")
    print("\nrun\trun\tin common")
    for pair in found.overlap:
        print(f"{pair.first}\t{pair.second}\t{pair.items}")
