"""porism ask: answer a question by a passage."""

from __future__ import annotations

import argparse

from porism.cli.options import add_endpoint_options

HELP = "answer a question with the best passage of the collection, at most 1,200 characters, with its source"
EXAMPLE = "porism ask demo/index 'why is $\\sqrt{2}$ irrational?'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="an index: its folder, or its address in a cluster")
    parser.add_argument("query", metavar="QUERY", help="as for porism search (- reads the question from stdin)")
    add_endpoint_options(parser)
    parser.add_argument("--json", action="store_true", help="print the passage and its sources as JSON")


def run(args: argparse.Namespace) -> int:
    """Find a passage and print it; exit with 1 if there is none."""
    from porism.cli.output import print_extract, read_argument
    from porism.search.engine import Engine

    engine = Engine.open(args.index)
    if args.endpoint:
        import os

        from porism.search.generation.endpoint import KEY_VARIABLE, Endpoint

        key = os.environ.get(KEY_VARIABLE, "")
        engine.endpoint = Endpoint(args.endpoint, args.endpoint_model, key, args.endpoint_seconds)
    return print_extract(engine.ask(read_argument(args.query)), args.json)
