"""porism export: a collection in other forms."""

from __future__ import annotations

import argparse
import sys

HELP = "write a collection as the lab's files, annotations, JSON lines, Parquet, TREC text or pages"
EXAMPLE = "porism export demo/collection -o lab-files --format lab"
FORMATS = ("lab", "annotations", "jsonl", "parquet", "trec", "pages")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("collection", metavar="COLLECTION")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument("--format", choices=FORMATS, default="lab", help="default: lab")


def run(args: argparse.Namespace) -> int:
    """Export."""
    from porism.corpus.export import export
    from porism.corpus.store.collection import Collection

    with Collection.open(args.collection) as collection:
        export(collection, args.output, args.format)
    print(f"wrote {args.output}", file=sys.stderr)
    return 0
