"""porism collection stats: statistics of a collection."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "show statistics of a collection: counts, distributions, most common formulas and tags"
EXAMPLE = "porism collection stats demo/collection"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--plots", metavar="FOLDER", help="also draw each distribution as an SVG file in this folder")


def run(args: argparse.Namespace) -> int:
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
    return 0
