"""porism search: answers or questions for words and formulas together."""

from __future__ import annotations

import argparse

HELP = "search answers or questions with words and formulas together"
EXAMPLE = "porism search demo/index 'proof that $\\sqrt{2}$ is irrational'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("query", metavar="QUERY", help="words and formulas between dollar signs; - reads it from stdin")
    parser.add_argument("-k", type=int, default=10, help="hits to show")
    parser.add_argument("--offset", type=int, default=0, help="hits to skip")
    parser.add_argument("--kind", choices=("answers", "questions"), default="answers", help="what to find")
    parser.add_argument("--tag", action="append", default=[], help="only threads with this tag (may be repeated)")
    parser.add_argument("--years", metavar="FIRST-LAST", default="", help="only posts of these years, e.g. 2012-2015")
    parser.add_argument("--accepted", action="store_true", help="only accepted answers")
    parser.add_argument("--json", action="store_true", help="one JSON object per hit")


def run(args: argparse.Namespace) -> int:
    """Search and print."""
    from porism.corpus.build.options import parse_years
    from porism.search.display.show import print_results, typed
    from porism.search.engine import Engine

    first, last = parse_years(args.years) if args.years else (None, None)
    years = (first or 0, last or 9999) if args.years else None
    engine = Engine.open(args.index)
    results = engine.search(typed(args.query), args.k, args.kind, tuple(args.tag), years, args.accepted, args.offset)
    return print_results(results, args.json)
