"""porism stats: what a collection holds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "show what a collection holds: counts, distributions, commonest formulas and tags"
EXAMPLE = "porism stats demo/collection"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("collection", metavar="COLLECTION")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--plots", metavar="FOLDER", help="also write a picture of each distribution (SVG)")


def run(args: argparse.Namespace) -> int:
    """Print distribution, value and number as a table."""
    import json

    from porism.corpus.plots import plot
    from porism.corpus.stats import Distribution, distributions
    from porism.corpus.store.collection import Collection

    with Collection.open(args.collection) as collection:
        found = [Distribution("counts", tuple(collection.manifest["counts"].items())), *distributions(collection)]
        if args.json:
            head = {"digest": collection.digest, "sources": collection.manifest["sources"]}
            print(
                json.dumps(
                    {**head, **{d.name: [list(row) for row in d.rows] for d in found}}, ensure_ascii=False, indent=1
                )
            )
        else:
            for distribution in found:
                for value, number in distribution.rows:
                    print(f"{distribution.name}\t{value}\t{number}")
    if args.plots:
        for path in plot(found[1:], Path(args.plots)):
            print(f"wrote {path}", file=sys.stderr)
    return 0
