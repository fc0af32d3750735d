r"""porism formula: take a formula apart, or match a pattern in it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from porism.cli.command import argument, command, section
from porism.cli.values import JSON

if TYPE_CHECKING:
    from porism.formula.parsed import Parsed

LEVELS = ("written", "normalised", "commutative", "renamed")


@command(
    r"porism formula '\sum_{k=1}^n k^2 = \frac{n(n+1)(2n+1)}{6}'",
    argument(
        "latex",
        metavar="LATEX",
        help="a formula in LaTeX, or in MathML if it begins with <math (- reads it from stdin)",
    ),
    argument("--wildcards", action="store_true", help=r"read ?x as a wildcard (\qvar{x} always is one)"),
    JSON,
    section(
        "match a pattern instead",
        argument("--match", metavar="PATTERN", help=r"find this formula in it, in LaTeX; ?x or \qvar{x} is a wildcard"),
        argument(
            "--level", choices=LEVELS, default="renamed", help="the loosest level of a match (default: %(default)s)"
        ),
        argument("--whole", action="store_true", help="match the whole formula only, not a part of it"),
    ),
)
def formula(args: argparse.Namespace) -> int:
    """Print the analysis or the match; exit with 1 if a part was not understood, or if there is no match."""
    from porism.formula import parse, parse_mathml
    from porism.formula.report import formula_json, formula_text, understood

    text = sys.stdin.read().rstrip("\n") if args.latex == "-" else args.latex
    parsed = parse_mathml(text) if text.lstrip().startswith("<math") else parse(text, wildcards=args.wildcards)
    if args.match is not None:
        return _match(args, parsed)
    if args.json:
        print(json.dumps(formula_json(parsed), ensure_ascii=False))
    else:
        print(formula_text(parsed))
    return 0 if understood(parsed) else 1


def _match(args: argparse.Namespace, parsed: Parsed) -> int:
    """Print how the pattern matches: its level, matching nodes, bindings of wildcards and variables."""
    from porism.formula import parse
    from porism.formula.match.matcher import find
    from porism.formula.operators.parse import operator_tree
    from porism.formula.report import match_json, match_lines

    pattern = operator_tree(parse(args.match, wildcards=True).layout)
    found = find(pattern, operator_tree(parsed.layout), args.level, args.whole)
    if args.json:
        print(json.dumps(match_json(found), ensure_ascii=False))
    elif found.match is not None:
        print("\n".join(match_lines(found.match)))
    else:
        print("no match; the search was given up" if found.exhausted else "no match", file=sys.stderr)
    return 0 if found.match is not None else 1
