"""porism build, index, update: make a collection from its sources, an index from it, and keep it up to date."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from porism.cli.command import COLLECTION, JOBS, QUIET, argument, command, flag, positive_seconds, section, with_default
from porism.cli.model import ENCODER, encode_index, load_encoder
from porism.errors import PorismError
from porism.progress import Bars, Lines, Silent


@command(
    "porism build sample/dump -o sample-collection",
    argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a Stack Exchange dump (folder or .7z), the lab's files, formulas.tsv, or a folder of documents",
    ),
    argument("-o", "--output", required=True, metavar="COLLECTION", help="the folder to create"),
    argument(
        "--add",
        default="",
        metavar="COLLECTION",
        help="start from this collection: the new one holds its posts and those of the sources",
    ),
    flag("--apart", "with --add: the sources are of another site, so equal ids are different posts"),
    argument("--source-kind", default="", metavar="KIND", help="the kind of the sources, if it is detected wrongly"),
    argument(
        "--years", default="", metavar="FIRST-LAST", help="keep only posts of these years, e.g. 2010-2018 or -2018"
    ),
    flag("--compat", "find formulas and select years exactly as the lab did, with its errors"),
    argument(
        "--without",
        action="append",
        default=[],
        choices=("answers", "comments"),
        help="leave these out (repeat for both)",
    ),
    argument(
        "--trees",
        default="latex",
        choices=("latex", "official"),
        help="build the trees of formulas from LaTeX (default), or from the MathML of the source where it has any",
    ),
    JOBS,
    QUIET,
    resume="run the same command again to continue the build",
)
def build(args: argparse.Namespace) -> None:
    """Build the collection and report how many rows were read, kept and left out."""
    from porism.corpus.build.ledger import report_lines
    from porism.corpus.build.pipeline import Base, build
    from porism.corpus.build.select import Options, parse_years
    from porism.corpus.sources.detect import describe, open_source
    from porism.store import open_content

    first, last = parse_years(args.years) if args.years else (None, None)
    sources = [open_source(Path(path), args.source_kind) for path in args.sources]
    for source in sources:
        print(describe(source), file=sys.stderr)
    options = Options(
        first, last, args.compat, "answers" not in args.without, "comments" not in args.without, args.trees
    )
    folder = build(
        sources,
        args.output,
        options,
        base=Base.open(args.add, args.apart) if args.add else None,
        jobs=args.jobs,
        progress=Lines(math.inf) if args.quiet else Bars(),
    )
    for line in report_lines(open_content(folder).facts):
        print(line)


@command(
    "porism index demo/collection -o index",
    COLLECTION,
    argument(
        "-o",
        "--output",
        required=True,
        metavar="INDEX",
        help="the folder to create, or the address of a collection in a cluster",
    ),
    flag(
        "--no-links",
        "leave out the links between questions: the link list, titles of linked questions, and comments with links",
    ),
    flag("--no-vectors", "do not learn vectors: the index is smaller and faster to build, but ranks slightly worse"),
    ENCODER,
    JOBS,
    QUIET,
)
def index(args: argparse.Namespace) -> None:
    """Build the index and print its size."""
    from porism.search.index import Adaptation
    from porism.search.learning.teaching import record_choice
    from porism.store import is_folder, open_content, open_store
    from porism.store.maintenance import build_index
    from porism.store.protocols import IndexOptions

    if args.encoder and not is_folder(args.output):
        fix = "leave --encoder out"
        raise PorismError("a collection in a cluster has no vectors of a model", where=args.output, fix=fix)
    content = open_content(args.collection)
    if args.encoder and Path(args.output).exists():  # encoding was interrupted, or comes later
        found = open_store(args.output).status().fingerprint
        if found != content.digest:
            fact = f"was built from another collection ({found[:12]}, not {content.digest[:12]})"
            raise PorismError(fact, where=args.output, fix="name another index, or the collection of this one")
        encode_index(Path(args.output), args)
        return
    # A wrong model is reported before the work.
    encoder = load_encoder(Path(args.output), args) if args.encoder else None
    chosen: list[Adaptation] = []
    is_taught = not args.default_ranking and encoder is None  # with an encoder, after the vectors are there
    made = build_index(
        content,
        args.output,
        IndexOptions(links=not args.no_links, vectors=not args.no_vectors),
        jobs=args.jobs,
        progress=Silent() if args.quiet else Bars(),
        finish=lambda work: chosen.append(record_choice(work)) if is_taught else None,
    )
    counts = ", ".join(f"{number:,} {name}" for name, number in made.counts.items())
    print(f"{args.output}: {counts}, {made.bytes / 1e6:,.1f} MB", file=sys.stderr)
    if encoder:
        encode_index(Path(args.output), args, encoder)
    for choice in chosen:
        print(f"{args.output}: ranking: {choice}", file=sys.stderr)


@command(
    "porism update notes-index notes",
    argument("index", metavar="INDEX", help="an index"),
    argument(
        "source",
        metavar="SOURCE",
        help="the source that the index was built from, in its present state: a newer dump, a changed folder of "
        "documents; "
        "or - for JSON Lines on standard input",
    ),
    argument("--source-kind", default="", metavar="KIND", help="the kind of the source, if it is detected wrongly"),
    flag("--delete-many", "delete the posts that a dump lacks even if they are more than half"),
    section(
        "watch a folder of documents",
        flag(
            "--watch",
            "update the index whenever a file changes, until Ctrl-C; the index is built first if there is none, "
            "with its "
            "collection beside it (INDEX.collection)",
        ),
        with_default(
            "--wait", 1.0, "apply changes when none was made for this time", type=positive_seconds, metavar="SECONDS"
        ),
    ),
    description="Add, replace and delete posts of an index, so that it is as if built from its source as this is now.",
)
def update(args: argparse.Namespace) -> int:
    """Update the index and report what changed."""
    from porism.corpus.sources.detect import open_source
    from porism.store.updating import changes_line, skipped_lines, update_from_lines, update_from_source

    if args.watch:
        return _watch(args)
    if args.source == "-":
        delta = update_from_lines(args.index, sys.stdin, "standard input")
    else:
        source = open_source(Path(args.source), args.source_kind)
        delta = update_from_source(args.index, source, delete_many=args.delete_many)
    for line in skipped_lines(delta):
        print(line, file=sys.stderr)
    print(f"{args.index}: {changes_line(delta)}")
    return 0


def _watch(args: argparse.Namespace) -> int:
    """Watch the folder until Ctrl-C, or until the system ends the process."""
    import signal

    from porism.store.updating import FolderWatcher

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    watcher = FolderWatcher(args.source, args.index, lambda line: print(line, flush=True), debounce=args.wait)
    print(f"watching {args.source}; press Ctrl-C to stop", file=sys.stderr)
    try:
        watcher.run()
    except KeyboardInterrupt:
        print(f"stopped watching {args.source}", file=sys.stderr)
    return 0
