"""porism index: index a collection."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from porism.cli.encode import encode, encoder_arguments, load_encoder

HELP = "index a collection for searching: words, formulas, vectors and concepts"
EXAMPLE = "porism index demo/collection -o index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument("-o", "--output", required=True, metavar="INDEX", help="the folder to create")
    parser.add_argument(
        "--no-links",
        action="store_true",
        help="leave out the links between questions: the link list, titles of linked questions, and comments with links",
    )
    parser.add_argument(
        "--no-vectors",
        action="store_true",
        help="do not learn vectors: the index is smaller and faster to build, but ranks slightly worse",
    )
    encoder_arguments(parser, required=False)
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(args: argparse.Namespace) -> int:
    """Build the index and print its size."""
    from porism.errors import PorismError
    from porism.progress import Bars, Silent
    from porism.search.index import Adaptation
    from porism.search.learning.teaching import record_choice
    from porism.store import open_content, open_store
    from porism.store.maintenance import build_index

    content = open_content(args.collection)
    if Path(args.output).exists() and args.encoder:  # encoding was interrupted, or comes later
        found = open_store(args.output).status().fingerprint
        if found != content.digest:
            fact = f"was built from another collection ({found[:12]}, not {content.digest[:12]})"
            raise PorismError(fact, where=args.output, fix="name another index, or the collection of this one")
        return encode(Path(args.output), args)
    encoder = (
        load_encoder(Path(args.output), args) if args.encoder else None
    )  # a wrong model is reported before the work
    chosen: list[Adaptation] = []
    is_taught = not args.default_ranking and encoder is None  # with an encoder, after the vectors are there
    made = build_index(
        content,
        Path(args.output),
        links=not args.no_links,
        vectors=not args.no_vectors,
        progress=Silent() if args.quiet else Bars(),
        finish=lambda work: chosen.append(record_choice(work)) if is_taught else None,
    )
    counts = ", ".join(f"{number:,} {name}" for name, number in made.counts.items())
    print(f"{args.output}: {counts}, {made.bytes / 1e6:,.1f} MB", file=sys.stderr)
    if encoder:
        return encode(Path(args.output), args, encoder)
    for choice in chosen:
        print(f"{args.output}: ranking: {choice}", file=sys.stderr)
    return 0
