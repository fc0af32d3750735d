"""porism collection show, stats, export: look into a collection, and write it in other formats."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command, section
from porism.cli.options import COLLECTION, JSON

if TYPE_CHECKING:
    from porism.corpus.export.records import Benchmark

KINDS = ("post", "thread", "formula")


@command(
    "porism collection show demo/collection thread 45",
    COLLECTION,
    argument("kind", choices=KINDS, help="what to show"),
    argument("number", type=int, metavar="ID", help="the id of the post, question or formula"),
)
def show(args: argparse.Namespace) -> None:
    """Print it."""
    from porism.corpus import show
    from porism.store import open_content

    views = {"post": show.show_post, "thread": show.show_thread, "formula": show.show_formula}
    for line in views[args.kind](open_content(args.collection), args.number):
        print(line)


@command(
    "porism collection stats demo/collection",
    COLLECTION,
    JSON,
    argument("--plots", metavar="FOLDER", help="also draw each distribution as an SVG file in this folder"),
)
def stats(args: argparse.Namespace) -> None:
    """Print a table with the columns distribution, value and number, or JSON."""
    import json

    from porism.corpus.stats import distributions, plot
    from porism.store import open_content

    content = open_content(args.collection)
    found = list(distributions(content))
    counts = content.facts["counts"]
    if args.json:
        head = {"digest": content.digest, "sources": content.facts["sources"], "counts": counts}
        body = {distribution.name: distribution.as_json() for distribution in found}
        print(json.dumps(head | body, ensure_ascii=False, indent=1))
    else:
        rows = [("counts", name, number) for name, number in counts.items()]
        rows += [(one.title, label, number) for one in found for label, number in one.rows]
        for row in rows:
            print(*row, sep="\t")
    if args.plots:
        for path in plot(found, Path(args.plots)):
            print(f"wrote {path}", file=sys.stderr)


FORMATS = ("lab", "annotations", "jsonl", "parquet", "trec", "pages", "beir", "hf")


@command(
    "porism collection export demo/collection -o lab-files --format lab",
    COLLECTION,
    argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to create"),
    argument("--format", choices=FORMATS, default="lab", help="the format to write (default: %(default)s)"),
    section(
        "beir and hf",
        argument("--task", type=int, choices=(1, 2), help="1: answers, 2: formulas by visual id (default: 1)"),
        argument("--topics", metavar="FILE", help="the queries: the lab's XML, or a table"),
        argument("--qrels", metavar="FILE", help="the judgments"),
    ),
)
def export(args: argparse.Namespace) -> None:
    """Export the collection."""
    from porism.corpus.export import export
    from porism.store import open_content

    benchmark = _benchmark(args) if args.task or args.topics or args.qrels else None
    export(open_content(args.collection), args.output, args.format, benchmark)
    print(f"wrote {args.output}", file=sys.stderr)


def _benchmark(args: argparse.Namespace) -> Benchmark:
    from porism.corpus.export.records import Benchmark
    from porism.corpus.topics.files import read_topics
    from porism.evaluate.qrels import read_qrels
    from porism.records import Judgment

    topics = tuple(read_topics(args.topics)) if args.topics else ()
    qrels = read_qrels(args.qrels) if args.qrels else {}
    judgments = (Judgment(topic, item, grade) for topic, items in qrels.items() for item, grade in items.items())
    return Benchmark(args.task or 1, topics, tuple(judgments))
