"""porism ask: one passage for a question."""

from __future__ import annotations

import argparse

HELP = "answer a question by the best passage of at most 1,200 characters, with its source"
EXAMPLE = "porism ask demo/index 'why is $\\sqrt{2}$ irrational?'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("query", metavar="QUERY", help="as for porism search; - reads it from stdin")
    parser.add_argument("--json", action="store_true", help="the passage and its sources as JSON")


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    from porism.search.display.show import print_extract, typed
    from porism.search.engine import Engine

    return print_extract(Engine.open(args.index).ask(typed(args.query)), args.json)
