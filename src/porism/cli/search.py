"""porism search, formulas, ask, explain, formula: ask an index, or take a formula apart."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from porism.cli.command import argument, command, section
from porism.cli.options import ENDPOINT, INDEX, JSON, JSON_LINES, not_negative, positive

if TYPE_CHECKING:
    from porism.formula.parsed import Parsed


@command(
    "porism search demo/index 'proof that $\\sqrt{2}$ is irrational'",
    INDEX,
    argument(
        "query",
        metavar="QUERY",
        help="words and formulas, as people type them or between dollar signs (- reads the query from stdin)",
    ),
    argument("-k", type=positive, default=10, metavar="N", help="number of hits (default: %(default)s)"),
    argument("--offset", type=not_negative, default=0, metavar="N", help="number of hits to skip"),
    argument("--kind", choices=("answers", "questions"), default="answers", help="what to find (default: %(default)s)"),
    argument("--tag", action="append", default=[], help="only threads with this tag (repeat for several)"),
    argument("--years", metavar="FIRST-LAST", default="", help="only posts of these years, e.g. 2012-2015"),
    argument("--accepted", action="store_true", help="only accepted answers"),
    argument("--as-words", action="store_true", help="read only formulas between dollar signs as formulas"),
    argument("--verbatim", action="store_true", help="do not correct spelling, and add no synonyms"),
    JSON_LINES,
)
def search(args: argparse.Namespace) -> int:
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
        tags=tags,
        years=years,
        accepted=args.accepted,
        offset=args.offset,
        as_words=args.as_words,
        verbatim=args.verbatim,
    )
    return print_results(results, args.json)


@command(
    "porism formulas demo/index 'a^2+b^2=c^2'",
    INDEX,
    argument("latex", metavar="LATEX", help="a formula; ?x is a wildcard (- reads the formula from stdin)"),
    argument("-k", type=positive, default=10, metavar="N", help="number of formulas (default: %(default)s)"),
    argument("--offset", type=not_negative, default=0, metavar="N", help="number of formulas to skip"),
    argument(
        "--mode",
        choices=("similar", "exact", "subformula", "diverse"),
        default="similar",
        help="similar: by similarity (default); exact: equal formulas only; subformula: formulas that contain the "
        "query; diverse: similar ones that differ from each other",
    ),
    JSON_LINES,
)
def formulas(args: argparse.Namespace) -> int:
    """Search and print the formulas."""
    from porism.cli.output import print_formulas, read_argument
    from porism.search.engine import Engine

    results = Engine.open(args.index).formulas(read_argument(args.latex), args.k, args.mode, args.offset)
    return print_formulas(results, args.json)


@command(
    "porism ask demo/index 'why is $\\sqrt{2}$ irrational?'",
    INDEX,
    argument("query", metavar="QUERY", help="as for porism search (- reads the question from stdin)"),
    ENDPOINT,
    JSON,
)
def ask(args: argparse.Namespace) -> int:
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


@command(
    "porism explain demo/index 'square root of 2 irrational' 754",
    INDEX,
    argument("query", metavar="QUERY", help="as for porism search (- reads the query from stdin)"),
    argument("post", type=int, metavar="POST", help="the id of an answer or a question"),
    JSON,
)
def explain(args: argparse.Namespace) -> int:
    """Explain the score and print the explanation."""
    from porism.cli.output import print_explanation, read_argument
    from porism.search.engine import Engine

    return print_explanation(Engine.open(args.index).explain(read_argument(args.query), args.post), args.json)


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
    from porism.formula.plaintext import formula_json, formula_text, understood

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
    from porism.formula.plaintext import match_json, match_lines

    pattern = operator_tree(parse(args.match, wildcards=True).layout)
    found = find(pattern, operator_tree(parsed.layout), args.level, args.whole)
    if args.json:
        print(json.dumps(match_json(found), ensure_ascii=False))
    elif found.match is not None:
        print("\n".join(match_lines(found.match)))
    else:
        print("no match; the search was given up" if found.exhausted else "no match", file=sys.stderr)
    return 0 if found.match is not None else 1
