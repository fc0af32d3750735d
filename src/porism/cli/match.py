"""porism match: match a formula with another."""

from __future__ import annotations

import argparse
import json
import sys

HELP = "match a pattern in a formula: level of the match, matching nodes, bindings of wildcards and variables"
EXAMPLE = r"porism match '\qvar{a}^2+\qvar{b}^2' 'x^2+y^2=z^2'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("pattern", metavar="PATTERN", help=r"a formula in LaTeX; ?x or \qvar{x} is a wildcard")
    parser.add_argument("target", metavar="FORMULA", help="the formula in which to find it, in LaTeX")
    levels = ("written", "normalised", "commutative", "renamed")
    parser.add_argument(
        "--level", choices=levels, default="renamed", help="the loosest level of a match (default: %(default)s)"
    )
    parser.add_argument("--whole", action="store_true", help="match the whole formula only, not a part of it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the match; exit with 1 if there is none."""
    from porism.formula import parse
    from porism.formula.match.matcher import find
    from porism.formula.operators.parse import operator_tree
    from porism.formula.report import match_json, match_lines

    pattern = operator_tree(parse(args.pattern, wildcards=True).layout)
    target = operator_tree(parse(args.target).layout)
    found = find(pattern, target, args.level, args.whole)
    if args.json:
        print(json.dumps(match_json(found), ensure_ascii=False))
    elif found.match is not None:
        print("\n".join(match_lines(found.match)))
    if found.match is None and not args.json:
        print("no match; the search was given up" if found.exhausted else "no match", file=sys.stderr)
    return 0 if found.match is not None else 1
