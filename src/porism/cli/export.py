"""porism collection export: write a collection in other formats."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.corpus.export.benchmark import Benchmark

HELP = "export a collection: the lab's files, annotations, JSON lines, Parquet, TREC text, HTML pages, BEIR or Hugging Face"
EXAMPLE = "porism collection export demo/collection -o lab-files --format lab"
FORMATS = ("lab", "annotations", "jsonl", "parquet", "trec", "pages", "beir", "hf")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to create")
    parser.add_argument("--format", choices=FORMATS, default="lab", help="the format to write (default: %(default)s)")
    benchmark = parser.add_argument_group("beir and hf")
    benchmark.add_argument("--task", type=int, choices=(1, 2), help="1: answers, 2: formulas by visual id (default: 1)")
    benchmark.add_argument("--topics", metavar="FILE", help="the queries: the lab's XML, or a table")
    benchmark.add_argument("--qrels", metavar="FILE", help="the judgments")


def run(args: argparse.Namespace) -> int:
    """Export the collection."""
    from porism.corpus.export import export
    from porism.store import open_content

    benchmark = _benchmark(args) if args.task or args.topics or args.qrels else None
    export(open_content(args.collection), args.output, args.format, benchmark)
    print(f"wrote {args.output}", file=sys.stderr)
    return 0


def _benchmark(args: argparse.Namespace) -> Benchmark:
    from porism.corpus.export.benchmark import Benchmark
    from porism.corpus.topics.files import read_topics
    from porism.evaluate.qrels import read_qrels
    from porism.records import Judgment

    topics = tuple(read_topics(args.topics)) if args.topics else ()
    qrels = read_qrels(args.qrels) if args.qrels else {}
    judgments = (Judgment(topic, item, grade) for topic, items in qrels.items() for item, grade in items.items())
    return Benchmark(args.task or 1, topics, tuple(judgments))
