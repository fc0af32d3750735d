"""porism update: bring an index to the state of a source."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "add, replace and delete posts of an index: a newer dump, a changed folder of documents, or JSON Lines"
EXAMPLE = "porism update notes-index notes"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="an index")
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="the source that the index was built from, in its present state, or - for JSON Lines on standard input",
    )
    parser.add_argument(
        "--source-kind", default="", metavar="KIND", help="the kind of the source, if it is detected wrongly"
    )
    parser.add_argument(
        "--delete-many", action="store_true", help="delete the posts that a dump lacks even if they are more than half"
    )


def run(args: argparse.Namespace) -> int:
    """Update the index and report what changed."""
    from porism.corpus.sources.detect import open_source
    from porism.store.updating import (
        changes_line,
        skipped_lines,
        update_from_lines,
        update_from_source,
    )

    if args.source == "-":
        delta = update_from_lines(args.index, sys.stdin, "standard input")
    else:
        delta = update_from_source(
            args.index, open_source(Path(args.source), args.source_kind), delete_many=args.delete_many
        )
    for line in skipped_lines(delta):
        print(line, file=sys.stderr)
    print(f"{args.index}: {changes_line(delta)}")
    return 0
