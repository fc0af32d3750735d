"""porism explain: why a post was found."""

from __future__ import annotations

import argparse

HELP = "explain the score of a post for a query"
EXAMPLE = "porism explain demo/index 'square root of 2 irrational' 754"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("query", metavar="QUERY", help="as for porism search; - reads it from stdin")
    parser.add_argument("post", type=int, metavar="POST", help="the id of an answer or a question")
    parser.add_argument("--json", action="store_true", help="the whole explanation as JSON")


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    from porism.search.display.show import print_explanation, typed
    from porism.search.engine import Engine

    return print_explanation(Engine.open(args.index).explain(typed(args.query), args.post), args.json)
