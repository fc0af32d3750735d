"""porism search, formulas, ask, explain, formula: ask an index, or take a formula apart."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from porism.cli.command import (
    ENDPOINT,
    INDEX,
    JSON,
    JSON_LINES,
    argument,
    command,
    flag,
    not_negative,
    positive,
    section,
    with_default,
)

if TYPE_CHECKING:
    from porism.formula.parsed import Parsed
    from porism.search.display.results import FormulaResults, HighlightedSegment, Results

MOST_BINDINGS = 8  # of a reason, that are printed


def _given(text: str) -> str:
    """Return an argument of the command line, or all of standard input for `-`."""
    return sys.stdin.read() if text == "-" else text


def print_results(results: Results, as_json: bool) -> int:
    """Print a block per hit: score, id and title; snippet; tags, votes, accepted."""
    added = [f"${one.text}$" if one.kind == "formula" else one.text for one in results.also_searched]
    also = [f"also searched: {', '.join(added)}"] if added else []
    _print_messages(_found(results), (*results.notes, *also), results.suggestions)
    for hit in results.hits:
        if as_json:
            print(json.dumps(asdict(hit), ensure_ascii=False))
            continue
        votes = [] if hit.votes is None else [f"{hit.votes:+d} votes"]
        details = [f"[{tag}]" for tag in hit.tags] + votes + ["accepted"] * hit.accepted
        print(f"{hit.score:7.3f}  {hit.id}  {_line(hit.title)}")
        print(f"         {_line(hit.snippet)}")
        print(f"         {' '.join(details)}\n" if details else "")
    return 0


def _line(segments: Iterable[HighlightedSegment]) -> str:
    """Return segments as one line, with LaTeX between dollar signs."""
    pieces = (f"${one.text}$" if one.kind == "formula" else one.text for one in segments)
    return " ".join("".join(pieces).split())


def _found(results: Results | FormulaResults) -> str:
    return f"{results.total} found in {results.seconds * 1000:.0f} ms"


def _print_messages(summary: str, notes: Iterable[str], suggestions: Iterable[str] = ()) -> None:
    print(summary, file=sys.stderr)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    for suggestion in suggestions:
        print(f"try: {suggestion}", file=sys.stderr)


@command(
    "porism search demo/index 'proof that $\\sqrt{2}$ is irrational'",
    INDEX,
    argument(
        "query",
        metavar="QUERY",
        help="words and formulas, as people type them or between dollar signs (- reads the query from stdin)",
    ),
    with_default("-k", 10, "number of hits", type=positive, metavar="N"),
    argument("--offset", type=not_negative, default=0, metavar="N", help="number of hits to skip"),
    with_default("--kind", "answers", "what to find", choices=("answers", "questions")),
    argument("--tag", action="append", default=[], help="only threads with this tag (repeat for several)"),
    argument("--years", metavar="FIRST-LAST", default="", help="only posts of these years, e.g. 2012-2015"),
    flag("--accepted", "only accepted answers"),
    flag("--as-words", "read only formulas between dollar signs as formulas"),
    flag("--verbatim", "do not correct spelling, and add no synonyms"),
    JSON_LINES,
)
def search(args: argparse.Namespace) -> int:
    """Search and print the hits."""
    from porism.corpus.build.select import parse_years
    from porism.search.engine import Engine

    first, last = parse_years(args.years) if args.years else (None, None)
    years = (first or 0, last or 9999) if args.years else None
    query, tags = _given(args.query), tuple(args.tag)
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
    with_default("-k", 10, "number of formulas", type=positive, metavar="N"),
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
    from porism.search.engine import Engine

    results = Engine.open(args.index).formulas(_given(args.latex), args.k, args.mode, args.offset)
    _print_messages(_found(results), results.notes, results.suggestions)
    for hit in results.hits:
        if args.json:
            print(json.dumps(asdict(hit), ensure_ascii=False))
            continue
        # Score, visual id, number of posts, level of the match, bindings, LaTeX.
        bindings = " ".join(f"{one.name}={one.value}" for one in hit.bindings) or "-"
        latex = " ".join(hit.latex.split())
        print(f"{hit.score:.3f}\t{hit.visual_id}\t{hit.use_count}\t{hit.level or 'similar'}\t{bindings}\t{latex}")
    return 0


@command(
    "porism ask demo/index 'why is $\\sqrt{2}$ irrational?'",
    INDEX,
    argument("query", metavar="QUERY", help="as for porism search (- reads the question from stdin)"),
    ENDPOINT,
    JSON,
)
def ask(args: argparse.Namespace) -> int:
    """Find a passage and print it; exit with 1 if there is none."""
    from porism.search.engine import Engine

    engine = Engine.open(args.index)
    if args.endpoint:
        from porism.search.generation.endpoint import KEY_VARIABLE, Endpoint

        key = os.environ.get(KEY_VARIABLE, "")
        engine.endpoint = Endpoint(args.endpoint, args.endpoint_model, key, args.endpoint_seconds)
    extract = engine.ask(_given(args.query))
    _print_messages(f"answered in {extract.seconds * 1000:.0f} ms", extract.notes)
    if args.json:
        print(json.dumps(asdict(extract), ensure_ascii=False))
        return 0
    if extract.generated:
        print("Written by a language model from the sources below:", file=sys.stderr)
        for sentence in extract.sentences:
            marks = "".join(f" [{number}]" for number in sentence.cited) or " [no source]"
            print(f"{_line(sentence.segments)}{marks}")
        for number, source in enumerate(extract.sources, 1):
            print(f"source [{number}]: {source.post_id}  {_line(source.title)}")
        return 0
    print(extract.text)
    for source in extract.sources:
        print(f"source: {source.post_id}  {_line(source.title)}")
    return 0 if extract.text else 1


@command(
    "porism explain demo/index 'square root of 2 irrational' 754",
    INDEX,
    argument("query", metavar="QUERY", help="as for porism search (- reads the query from stdin)"),
    argument("post", type=int, metavar="POST", help="the id of an answer or a question"),
    JSON,
)
def explain(args: argparse.Namespace) -> int:
    """Explain the score and print the explanation."""
    from porism.search.engine import Engine

    explanation = Engine.open(args.index).explain(_given(args.query), args.post)
    if args.json:
        print(json.dumps(asdict(explanation), ensure_ascii=False, indent=1))
        return 0
    stack = [(explanation, 0)]
    while stack:  # each value with its reason, its parts indented below it
        part, depth = stack.pop()
        bindings = "".join(f"; {one.name} is {one.value}" for one in part.bindings[:MOST_BINDINGS])
        print(f"{'  ' * depth}{part.value:8.3f}  {part.reason}{bindings}")
        stack.extend((one, depth + 1) for one in reversed(part.parts))
    return 0


LEVELS = ("written", "normalised", "commutative", "renamed")


@command(
    r"porism formula '\sum_{k=1}^n k^2 = \frac{n(n+1)(2n+1)}{6}'",
    argument(
        "latex",
        metavar="LATEX",
        help="a formula in LaTeX, or in MathML if it begins with <math (- reads it from stdin)",
    ),
    flag("--wildcards", r"read ?x as a wildcard (\qvar{x} always is one)"),
    JSON,
    section(
        "match a pattern instead",
        argument("--match", metavar="PATTERN", help=r"find this formula in it, in LaTeX; ?x or \qvar{x} is a wildcard"),
        with_default("--level", "renamed", "the loosest level of a match", choices=LEVELS),
        flag("--whole", "match the whole formula only, not a part of it"),
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
