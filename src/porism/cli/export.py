"""porism export: write a collection in other formats."""

from __future__ import annotations

import argparse
import sys

HELP = "export a collection: the lab's files, annotations, JSON lines, Parquet, TREC text or HTML pages"
EXAMPLE = "porism export demo/collection -o lab-files --format lab"
FORMATS = ("lab", "annotations", "jsonl", "parquet", "trec", "pages")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to create")
    parser.add_argument("--format", choices=FORMATS, default="lab", help="the format to write (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Export the collection."""
    from porism.corpus.export import export
    from porism.corpus.store.collection import Collection

    with Collection.open(args.collection) as collection:
        export(collection, args.output, args.format)
    print(f"wrote {args.output}", file=sys.stderr)
    return 0
