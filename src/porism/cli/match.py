"""Does one formula occur in another?"""

from __future__ import annotations

import argparse
import json
import sys

HELP = "tell whether a formula occurs in another, at which level, with which node pairs and bindings"
EXAMPLE = r"porism match '\qvar{a}^2+\qvar{b}^2' 'x^2+y^2=z^2'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("pattern", metavar="P", help=r"LaTeX; \qvar{x} or ?x is a wildcard")
    parser.add_argument("target", metavar="T", help="LaTeX")
    levels = ("written", "normalised", "commutative", "renamed")
    parser.add_argument(
        "--level", choices=levels, default="renamed", help="the loosest level allowed (default: renamed)"
    )
    parser.add_argument("--whole", action="store_true", help="only the whole formula, no part of it")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 when P occurs in T, 1 when not."""
    from porism.formula import parse
    from porism.formula.match.matcher import find
    from porism.formula.match.report import match_json, match_lines
    from porism.formula.operators.parse import operator_tree

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
