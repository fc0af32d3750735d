"""porism index: a collection becomes an index."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "index a collection: words, formulas, vectors and concepts"
EXAMPLE = "porism index demo/collection -o index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument("-o", "--output", required=True, metavar="INDEX", help="the folder to make")
    parser.add_argument(
        "--no-links",
        action="store_true",
        help="index neither the link list, nor linked titles, nor comments that point to other questions",
    )
    parser.add_argument(
        "--no-vectors",
        action="store_true",
        help="learn no vectors: a smaller index, sooner made, that ranks a little worse",
    )
    parser.add_argument(
        "--add", metavar="INDEX", help="take over what did not change from this index of the collection before it grew"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(args: argparse.Namespace) -> int:
    """Build, then tell what is in it."""
    from porism.corpus.store.collection import Collection
    from porism.index.build import build_index
    from porism.progress import Bars, Silent

    collection = Collection.open(Path(args.collection))
    progress = Silent() if args.quiet else Bars()
    manifest = build_index(
        collection,
        Path(args.output),
        links=not args.no_links,
        vectors=not args.no_vectors,
        progress=progress,
        base=args.add,
    )
    size = sum(part.size for part in manifest.files.values())
    counts = ", ".join(f"{number:,} {name}" for name, number in manifest.counts.items())
    print(f"{args.output}: {counts}, {size / 1e6:,.1f} MB", file=sys.stderr)
    return 0
