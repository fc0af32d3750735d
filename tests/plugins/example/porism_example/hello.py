"""porism hello: say how many posts an index has."""

from __future__ import annotations

import argparse

HELP = "say how many posts an index has"
EXAMPLE = "porism hello demo/index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="the index")


def run(args: argparse.Namespace) -> int:
    """Print the number of posts."""
    from porism.store import open_content

    print(f"{args.index} has {open_content(args.index).count('posts')} posts")
    return 0
