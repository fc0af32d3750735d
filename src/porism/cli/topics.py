"""porism lab topics, published: topics, and the published tables of the lab."""

from __future__ import annotations

import argparse
import sys

from porism.cli.command import argument, command
from porism.cli.options import COLLECTION, FORMAT


@command(
    "porism lab topics make demo/collection -o demo/topics --number 5",
    COLLECTION,
    argument("-o", "--output", required=True, metavar="DIR", help="the folder for the topic files"),
    argument(
        "--oracle",
        metavar="FILE",
        help="the file for the links to duplicates, which participants must not see (default: DIR.oracle.tsv)",
    ),
    argument("--number", type=int, default=100, metavar="N", help="number of topics (default: %(default)s)"),
    argument("--first", type=int, default=1, metavar="N", help="number of the first topic (default: %(default)s)"),
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
    argument(
        "--seed", type=int, default=1, help="seed of the random selection within a stratum (default: %(default)s)"
    ),
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


@command(
    "porism lab published task1",
    argument("table", choices=NAMES, help="which table to print"),
    FORMAT,
)
def published(args: argparse.Namespace) -> None:
    """Print a table."""
    from porism.evaluate.published import published
    from porism.evaluate.table import render

    sys.stdout.write(render([published(args.table)], args.format))
