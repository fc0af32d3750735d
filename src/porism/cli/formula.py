"""porism formula: analyse one formula."""

from __future__ import annotations

import argparse
import json
import sys

HELP = "analyse a formula: repairs, problems, MathML, trees, canonical forms"
EXAMPLE = r"porism formula '\sum_{k=1}^n k^2 = \frac{n(n+1)(2n+1)}{6}'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "latex",
        metavar="LATEX",
        help="a formula in LaTeX, or in MathML if it begins with <math (- reads it from stdin)",
    )
    parser.add_argument("--wildcards", action="store_true", help=r"read ?x as a wildcard (\qvar{x} always is one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the analysis; exit with 1 if a part of the formula was not understood."""
    from porism.formula import parse, parse_mathml
    from porism.formula.report import formula_json, formula_text, understood

    text = sys.stdin.read().rstrip("\n") if args.latex == "-" else args.latex
    parsed = parse_mathml(text) if text.lstrip().startswith("<math") else parse(text, wildcards=args.wildcards)
    if args.json:
        print(json.dumps(formula_json(parsed), ensure_ascii=False))
    else:
        print(formula_text(parsed))
    return 0 if understood(parsed) else 1
