"""porism formulas: distinct formulas like the one given."""

from __future__ import annotations

import argparse

HELP = "search formulas: similar, exact, as a part, or in different ways"
EXAMPLE = "porism formulas demo/index 'a^2+b^2=c^2'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("latex", metavar="LATEX", help="a formula, ?x for a wildcard; - reads it from stdin")
    parser.add_argument("-k", type=int, default=10, help="formulas to show")
    parser.add_argument("--offset", type=int, default=0, help="formulas to skip")
    parser.add_argument(
        "--mode",
        choices=("similar", "exact", "subformula", "diverse"),
        default="similar",
        help="how alike a formula must be",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per formula")


def run(args: argparse.Namespace) -> int:
    """Search and print."""
    from porism.search.display.show import print_formulas, typed
    from porism.search.engine import Engine

    return print_formulas(
        Engine.open(args.index).formulas(typed(args.latex), args.k, args.mode, args.offset), args.json
    )
