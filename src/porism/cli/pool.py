"""porism lab topics, submissions, pool, published: topics, the runs of teams, the items to judge, and the published
tables."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from porism.cli.command import COLLECTION, FORMAT, JSON, argument, command, flag, with_default

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
    with_default("--seed", 0, "seed of all random choices"),
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
    with_default("--instances", 5, "Task 2: instances per formula", metavar="N"),
    flag("--prefix", "Task 2: only the pooled part of a run votes for instances"),
    description="Pool run files into a new folder.",
)
def build(args: argparse.Namespace) -> None:
    """Pool the runs, and print how many items there are."""
    from porism.corpus.topics.files import read_topics
    from porism.evaluate.runs.lookup import CollectionLookup
    from porism.lab.pooling.build import PoolOptions, build_pool, read_base, read_pool_run, write_pool

    chosen = {"primary": args.depth_primary, "alternate": args.depth_alternate}
    depths = {name: value for name, value in chosen.items() if value}
    options = PoolOptions(args.task, args.seed, depths, tuple(args.primary), args.policy, args.instances, args.prefix)
    facts = CollectionLookup(args.collection)
    topics = [topic.id for topic in read_topics(args.topics)]
    runs = [read_pool_run(Path(path), options, topics, facts) for path in sorted(args.runs)]
    names = [one.run.name for one in runs]
    earlier = read_base(Path(args.after), args.task, names) if args.after else None
    pool = build_pool(runs, options, facts, earlier.pool if earlier else None)
    write_pool(pool, Path(args.output), options, runs, earlier.runs if earlier else ())
    new = len(pool.items) - (len(earlier.pool.items) if earlier else 0)
    found = {item.topic for item in pool.items}
    print(f"{len(pool.items)} items of {len(found)} topics, {new} of them new", file=sys.stderr)


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


@command(
    "porism lab topics make demo/collection -o demo/topics --number 5",
    COLLECTION,
    argument("-o", "--output", required=True, metavar="DIR", help="the folder for the topic files"),
    argument(
        "--oracle",
        metavar="FILE",
        help="the file for the links to duplicates, which participants must not see (default: DIR.oracle.tsv)",
    ),
    with_default("--number", 100, "number of topics", metavar="N"),
    with_default("--first", 1, "number of the first topic", metavar="N"),
    argument(
        "--since",
        default="",
        metavar="DATE",
        help="select questions from this day on (e.g. 2021-01-01), with a duplicate before it",
    ),
    argument("--earlier", metavar="TOPICS", help="leave out near-duplicates of the topics in this file"),
    argument(
        "--limit",
        nargs="+",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="limits of terms, formulas, score, answers, comments or views, e.g. formulas=1:10",
    ),
    with_default("--seed", 1, "seed of the random selection within a stratum"),
    description="Select questions with a formula and a known duplicate, and write them as topics of Tasks 1 and 2.",
)
def make(args: argparse.Namespace) -> None:
    """Write a set of topics."""
    from porism.lab.topics import Limits, TopicSelection, make_topics

    selection = TopicSelection(args.number, Limits.parse(args.limit), args.since, args.earlier, args.seed)
    counts = make_topics(args.collection, args.output, selection, args.oracle, args.first)
    print(f"{counts.topics} topics of {counts.candidates} candidates in {args.output}", file=sys.stderr)


@command(
    "porism lab topics show sample/topics/task1.xml",
    argument("file", metavar="FILE", help="a topic file: the lab's XML, or a table"),
    argument(
        "--formulas", metavar="TSV", help="the table of topic formulas of the year; its LaTeX replaces that of the XML"
    ),
    description="List the topics of a file.",
)
def show(args: argparse.Namespace) -> None:
    """Print topic, number of formulas, query formula or title, tags."""
    from porism.corpus.topics.files import read_topics
    from porism.text.read import read_official

    print("topic\tformulas\tasks\ttags")
    for topic in read_topics(args.file, args.formulas):
        asks = topic.latex or read_official(topic.title).plain()
        print(topic.id, len(topic.formulas), " ".join(asks.split()), ",".join(topic.tags), sep="\t")


NAMES = ("teams", "scale", "task1", "task2", "task3", "correlations", "task1-as-task3", "qrels")


@command("porism lab published task1", argument("table", choices=NAMES, help="which table to print"), FORMAT)
def published(args: argparse.Namespace) -> None:
    """Print a table."""
    from porism.evaluate.published import published
    from porism.evaluate.table import render

    sys.stdout.write(render([published(args.table)], args.format))
