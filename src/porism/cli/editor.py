"""porism site editor: the visual formula editor of the search page."""

from __future__ import annotations

import argparse
import sys

HELP = "install or remove the visual formula editor (MathLive) of the search page"
EXAMPLE = "porism site editor install"
EXAMPLES = {"install": "porism site editor install", "remove": "porism site editor remove"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("install", help="fetch MathLive from the npm registry, pinned and checked by its digest")
    actions.add_parser("remove", help="remove it")


def run(args: argparse.Namespace) -> int:
    """Install or remove the editor."""
    import shutil

    from porism.web.server.editor import PACKAGE, editor_folder, fetch_package, install

    target = editor_folder()
    if args.action == "install":
        print(f"fetching {PACKAGE}", file=sys.stderr)
        install(fetch_package(), target)
        print(f"installed in {target}; restart the server to see it", file=sys.stderr)
    else:
        shutil.rmtree(target, ignore_errors=True)
        print("removed the formula editor", file=sys.stderr)
    return 0
