"""porism update: bring an index to the state of its source, once or whenever the source changes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from porism.cli.command import argument, command, section
from porism.cli.values import positive_seconds


@command(
    "porism update notes-index notes",
    argument("index", metavar="INDEX", help="an index"),
    argument(
        "source",
        metavar="SOURCE",
        help="the source that the index was built from, in its present state: a newer dump, a changed folder of documents; "
        "or - for JSON Lines on standard input",
    ),
    argument("--source-kind", default="", metavar="KIND", help="the kind of the source, if it is detected wrongly"),
    argument(
        "--delete-many", action="store_true", help="delete the posts that a dump lacks even if they are more than half"
    ),
    section(
        "watch a folder of documents",
        argument(
            "--watch",
            action="store_true",
            help="update the index whenever a file changes, until Ctrl-C; the index is built first if there is none, with its "
            "collection beside it (INDEX.collection)",
        ),
        argument(
            "--wait",
            type=positive_seconds,
            default=1.0,
            metavar="SECONDS",
            help="apply changes when none was made for this time (default: %(default)s)",
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
