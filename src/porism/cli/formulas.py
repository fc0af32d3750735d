"""porism formulas: find formulas."""

from __future__ import annotations

import argparse

from porism.cli.values import not_negative, positive

HELP = "search for formulas: similar, equal, containing the query, or diverse"
EXAMPLE = "porism formulas demo/index 'a^2+b^2=c^2'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="an index: its folder, or its address in a cluster")
    parser.add_argument("latex", metavar="LATEX", help="a formula; ?x is a wildcard (- reads the formula from stdin)")
    parser.add_argument("-k", type=positive, default=10, metavar="N", help="number of formulas (default: %(default)s)")
    parser.add_argument("--offset", type=not_negative, default=0, metavar="N", help="number of formulas to skip")
    parser.add_argument(
        "--mode",
        choices=("similar", "exact", "subformula", "diverse"),
        default="similar",
        help="similar: by similarity (default); exact: equal formulas only; subformula: formulas that contain the query; "
        "diverse: similar ones that differ from each other",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per formula")


def run(args: argparse.Namespace) -> int:
    """Search and print the formulas."""
    from porism.cli.output import print_formulas, read_argument
    from porism.search.engine import Engine

    results = Engine.open(args.index).formulas(read_argument(args.latex), args.k, args.mode, args.offset)
    return print_formulas(results, args.json)
