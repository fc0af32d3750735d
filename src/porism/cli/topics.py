"""porism lab topics: select topics from a collection, or list a topic file."""

from __future__ import annotations

import argparse
import sys

HELP = "select topics from a collection, or list the topics of a file"
EXAMPLE = "porism lab topics make demo/collection -o demo/topics --number 5"
EXAMPLES = {"make": EXAMPLE, "show": "porism lab topics show sample/topics/task1.xml"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    make = actions.add_parser(
        "make",
        help="select topics from a collection",
        description="Select questions with a formula and a known duplicate, and write them as topics of Tasks 1 and 2.",
    )
    make.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    make.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for the topic files")
    make.add_argument(
        "--oracle",
        metavar="FILE",
        help="the file for the links to duplicates, which participants must not see (default: DIR.oracle.tsv)",
    )
    make.add_argument("--number", type=int, default=100, metavar="N", help="number of topics (default: %(default)s)")
    make.add_argument(
        "--first", type=int, default=1, metavar="N", help="number of the first topic (default: %(default)s)"
    )
    make.add_argument(
        "--since",
        default="",
        metavar="DATE",
        help="select questions from this day on (e.g. 2021-01-01), with a duplicate before it",
    )
    make.add_argument("--earlier", metavar="TOPICS", help="leave out near-duplicates of the topics in this file")
    make.add_argument(
        "--limit",
        nargs="+",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="limits of terms, formulas, score, answers, comments or views, e.g. formulas=1:10",
    )
    make.add_argument(
        "--seed", type=int, default=1, help="seed of the random selection within a stratum (default: %(default)s)"
    )
    show = actions.add_parser("show", help="list the topics of a file", description="List the topics of a file.")
    show.add_argument("file", metavar="FILE", help="a topic file: the lab's XML, or a table")
    show.add_argument(
        "--formulas", metavar="TSV", help="the table of topic formulas of the year; its LaTeX replaces that of the XML"
    )


def run(args: argparse.Namespace) -> int:
    """Do the action."""
    return make(args) if args.action == "make" else show(args)


def make(args: argparse.Namespace) -> int:
    """Write a set of topics."""
    from porism.lab.topics import Limits, TopicSelection, make_topics

    selection = TopicSelection(args.number, Limits.parse(args.limit), args.since, args.earlier, args.seed)
    counts = make_topics(args.collection, args.output, selection, args.oracle, args.first)
    print(f"{counts.topics} topics of {counts.candidates} candidates in {args.output}", file=sys.stderr)
    return 0


def show(args: argparse.Namespace) -> int:
    """Print topic, number of formulas, query formula or title, tags."""
    from porism.corpus.topics.files import read_topics
    from porism.text.read import read_official

    print("topic\tformulas\tasks\ttags")
    for topic in read_topics(args.file, args.formulas):
        asks = topic.latex or read_official(topic.title).plain()
        print(topic.id, len(topic.formulas), " ".join(asks.split()), ",".join(topic.tags), sep="\t")
    return 0
