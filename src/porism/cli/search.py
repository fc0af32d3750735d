"""porism search: find answers or questions."""

from __future__ import annotations

import argparse

from porism.cli.values import not_negative, positive

HELP = "search for answers or questions, with words and formulas"
EXAMPLE = "porism search demo/index 'proof that $\\sqrt{2}$ is irrational'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="an index: its folder, or its address in a cluster")
    parser.add_argument(
        "query",
        metavar="QUERY",
        help="words and formulas, as people type them or between dollar signs (- reads the query from stdin)",
    )
    parser.add_argument("-k", type=positive, default=10, metavar="N", help="number of hits (default: %(default)s)")
    parser.add_argument("--offset", type=not_negative, default=0, metavar="N", help="number of hits to skip")
    parser.add_argument(
        "--kind", choices=("answers", "questions"), default="answers", help="what to find (default: %(default)s)"
    )
    parser.add_argument("--tag", action="append", default=[], help="only threads with this tag (repeat for several)")
    parser.add_argument("--years", metavar="FIRST-LAST", default="", help="only posts of these years, e.g. 2012-2015")
    parser.add_argument("--accepted", action="store_true", help="only accepted answers")
    parser.add_argument("--as-words", action="store_true", help="read only formulas between dollar signs as formulas")
    parser.add_argument("--verbatim", action="store_true", help="do not correct spelling, and add no synonyms")
    parser.add_argument("--json", action="store_true", help="print one JSON object per hit")


def run(args: argparse.Namespace) -> int:
    """Search and print the hits."""
    from porism.cli.output import print_results, read_argument
    from porism.corpus.build.select import parse_years
    from porism.search.engine import Engine

    first, last = parse_years(args.years) if args.years else (None, None)
    years = (first or 0, last or 9999) if args.years else None
    query, tags = read_argument(args.query), tuple(args.tag)
    results = Engine.open(args.index).search(
        query,
        args.k,
        args.kind,
        tags,
        years,
        args.accepted,
        args.offset,
        as_words=args.as_words,
        verbatim=args.verbatim,
    )
    return print_results(results, args.json)
