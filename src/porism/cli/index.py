"""porism index: index a collection."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from porism.cli.encode import encode, encoder_arguments, load_encoder
from porism.cli.values import add_jobs_option

HELP = "index a collection for searching: words, formulas, vectors and concepts"
EXAMPLE = "porism index demo/collection -o index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="INDEX",
        help="the folder to create, or the address of a collection in a cluster",
    )
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
    add_jobs_option(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(args: argparse.Namespace) -> int:
    """Build the index and print its size."""
    from porism.errors import PorismError
    from porism.progress import Bars, Silent
    from porism.search.index import Adaptation
    from porism.search.learning.teaching import record_choice
    from porism.store import is_folder, open_content, open_store
    from porism.store.maintenance import build_index

    if args.encoder and not is_folder(args.output):
        fix = "leave --encoder out"
        raise PorismError("a collection in a cluster has no vectors of a model", where=args.output, fix=fix)
    content = open_content(args.collection)
    if args.encoder and Path(args.output).exists():  # encoding was interrupted, or comes later
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
        args.output,
        links=not args.no_links,
        vectors=not args.no_vectors,
        jobs=args.jobs,
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
