"""porism collection show: print a post, a thread or a formula."""

from __future__ import annotations

import argparse

HELP = "show a post, a thread or a formula of a collection in the terminal"
EXAMPLE = "porism collection show demo/collection thread 45"
KINDS = ("post", "thread", "formula")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("collection", metavar="COLLECTION", help="a folder made by porism build")
    parser.add_argument("kind", choices=KINDS, help="what to show")
    parser.add_argument("number", type=int, metavar="ID", help="the id of the post, question or formula")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from porism.corpus import show
    from porism.store import open_content

    views = {"post": show.show_post, "thread": show.show_thread, "formula": show.show_formula}
    for line in views[args.kind](open_content(args.collection), args.number):
        print(line)
    return 0
