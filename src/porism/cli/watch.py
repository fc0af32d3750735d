"""porism watch: follow a folder of notes."""

from __future__ import annotations

import argparse
import sys

from porism.cli.values import positive_seconds

HELP = "follow a folder of notes: whenever a file changes, its index changes with it"
EXAMPLE = "porism watch notes --index notes-index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder of documents")
    parser.add_argument(
        "--index",
        required=True,
        metavar="INDEX",
        help="the index of the folder; built first if there is none, with its collection beside it (INDEX.collection)",
    )
    parser.add_argument(
        "--wait",
        type=positive_seconds,
        default=1.0,
        metavar="SECONDS",
        help="apply changes when none was made for this time (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Follow the folder until Ctrl-C, or until the system ends the process."""
    import signal

    from porism.store.updating import FolderWatcher

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    watcher = FolderWatcher(args.folder, args.index, lambda line: print(line, flush=True), debounce=args.wait)
    print(f"{args.folder}: following it; press Ctrl-C to stop", file=sys.stderr)
    try:
        watcher.run()
    except KeyboardInterrupt:
        print(f"{args.folder}: no longer followed", file=sys.stderr)
    return 0
