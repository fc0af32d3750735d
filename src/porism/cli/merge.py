"""porism merge: merge all segments of an index."""

from __future__ import annotations

import argparse
import sys

HELP = "merge all segments of an index that was updated, and learn vectors, concepts and spelling anew"
EXAMPLE = "porism merge demo/index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="an index")
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(args: argparse.Namespace) -> int:
    """Merge, and report the number of segments before and after."""
    from porism.progress import Silent, for_terminal
    from porism.store import open_store

    index, store = args.index, open_store(args.index)
    before = store.status().parts
    if not store.maintain(everything=True, progress=Silent() if args.quiet else for_terminal()):
        print(f"{index}: has one segment already", file=sys.stderr)
        return 0
    after = store.status()
    print(f"{index}: {before} segments are now {after.parts}, {after.bytes / 1e6:,.1f} MB", file=sys.stderr)
    return 0
