"""porism topics: make topics of a collection, show those of a file."""

from __future__ import annotations

import argparse
import sys

HELP = "make topics from a collection, or show a topic file"
EXAMPLE = "porism topics make demo/collection -o demo/topics --number 5"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    make = actions.add_parser(
        "make",
        help="choose topics",
        description="choose questions with a formula and a known duplicate, and write them as topics of Tasks 1 and 2",
    )
    make.add_argument("collection", help="a collection made by porism build")
    make.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the published files")
    make.add_argument("--oracle", metavar="FILE", help="where the links go; DIR.oracle.tsv if not given")
    make.add_argument("--number", type=int, default=100, help="how many topics")
    make.add_argument("--first", type=int, default=1, help="number of the first topic")
    make.add_argument(
        "--since", default="", metavar="DATE", help="topics from this day on, duplicates before it (2021-01-01)"
    )
    make.add_argument("--earlier", metavar="TOPICS", help="topic file whose near-duplicates are left out")
    make.add_argument(
        "--limit",
        nargs="+",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="of terms, formulas, score, answers, comments, views",
    )
    make.add_argument("--seed", type=int, default=1, help="of the choice within a stratum")
    show = actions.add_parser("show", help="list the topics of a file", description="list the topics of a file")
    show.add_argument("file", help="the lab's XML, or a table")
    show.add_argument("--formulas", metavar="TSV", help="the year's table of topic formulas, which wins over the XML")


def run(args: argparse.Namespace) -> int:
    """Make or show."""
    return make(args) if args.action == "make" else show(args)


def make(args: argparse.Namespace) -> int:
    """Write a set of topics."""
    from porism.lab.topics.make import make_topics
    from porism.lab.topics.select import Limits

    counts = make_topics(
        args.collection,
        args.output,
        args.oracle,
        args.number,
        args.first,
        Limits.parse(args.limit),
        args.since,
        args.earlier,
        args.seed,
    )
    print(f"{counts.topics} topics of {counts.candidates} candidates in {args.output}", file=sys.stderr)
    return 0


def show(args: argparse.Namespace) -> int:
    """Print topic, number of formulas, query formula or title, tags."""
    from porism.corpus.topics.files import dollars, read_topics
    from porism.text.html import plain

    print("topic\tformulas\tasks\ttags")
    for topic in read_topics(args.file, args.formulas):
        asks = topic.latex or plain(dollars(topic.title))
        print(topic.id, len(topic.formulas), " ".join(asks.split()), ",".join(topic.tags), sep="\t")
    return 0
