"""porism explain: why a post has its score."""

from __future__ import annotations

import argparse

HELP = "explain the score of a post for a query"
EXAMPLE = "porism explain demo/index 'square root of 2 irrational' 754"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="an index: its folder, or its address in a cluster")
    parser.add_argument("query", metavar="QUERY", help="as for porism search (- reads the query from stdin)")
    parser.add_argument("post", type=int, metavar="POST", help="the id of an answer or a question")
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


def run(args: argparse.Namespace) -> int:
    """Explain the score and print the explanation."""
    from porism.cli.output import print_explanation, read_argument
    from porism.search.engine import Engine

    return print_explanation(Engine.open(args.index).explain(read_argument(args.query), args.post), args.json)
