"""What one formula is: repairs, problems, MathML, trees, canonical forms."""

from __future__ import annotations

import argparse
import json
import sys

HELP = "show all that is known of one formula: problems, MathML, trees, canonical forms"
EXAMPLE = r"porism formula '\sum_{k=1}^n k^2 = \frac{n(n+1)(2n+1)}{6}'"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "latex", metavar="LATEX", help=r"the formula (- reads it from stdin); MathML when it starts with <math"
    )
    parser.add_argument("--wildcards", action="store_true", help=r"let ?x be a wildcard, as \qvar{x} always is")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 when the whole formula was understood, 1 when a part of it was not."""
    from porism.formula import parse, parse_mathml
    from porism.formula.report import formula_json, formula_text, understood

    text = sys.stdin.read().rstrip("\n") if args.latex == "-" else args.latex
    parsed = parse_mathml(text) if text.lstrip().startswith("<math") else parse(text, wildcards=args.wildcards)
    if args.json:
        print(json.dumps(formula_json(parsed), ensure_ascii=False))
    else:
        print(formula_text(parsed))
    return 0 if understood(parsed) else 1
