"""Print search results: text for a terminal, or JSON for a program. Messages go to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict

from porism.records import Explanation
from porism.search.display.results import Extract, FormulaResults, HighlightedSegment, Results

MOST_BINDINGS = 8


def read_argument(text: str) -> str:
    """Return an argument of the command line, or all of standard input for `-`."""
    return sys.stdin.read() if text == "-" else text


def print_results(results: Results, as_json: bool) -> int:
    """Print a block per hit: score, id and title; snippet; tags, votes, accepted."""
    _print_messages(_found(results), (*results.notes, *_also(results)), results.suggestions)
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


def print_formulas(results: FormulaResults, as_json: bool) -> int:
    """Print a line per formula: score, visual id, number of posts, level of the match, bindings, LaTeX."""
    _print_messages(_found(results), results.notes, results.suggestions)
    for hit in results.hits:
        if as_json:
            print(json.dumps(asdict(hit), ensure_ascii=False))
            continue
        bindings = " ".join(f"{one.name}={one.value}" for one in hit.bindings) or "-"
        latex = " ".join(hit.latex.split())
        print(f"{hit.score:.3f}\t{hit.visual_id}\t{hit.use_count}\t{hit.level or 'similar'}\t{bindings}\t{latex}")
    return 0


def print_explanation(explanation: Explanation, as_json: bool) -> int:
    """Print the tree of an explanation: each value with its reason, its parts indented below it."""
    if as_json:
        print(json.dumps(asdict(explanation), ensure_ascii=False, indent=1))
        return 0
    stack = [(explanation, 0)]
    while stack:
        part, depth = stack.pop()
        bindings = "".join(f"; {one.name} is {one.value}" for one in part.bindings[:MOST_BINDINGS])
        print(f"{'  ' * depth}{part.value:8.3f}  {part.reason}{bindings}")
        stack.extend((one, depth + 1) for one in reversed(part.parts))
    return 0


def print_extract(extract: Extract, as_json: bool) -> int:
    """Print a passage and its sources. Return 1 if there is none."""
    _print_messages(f"answered in {extract.seconds * 1000:.0f} ms", extract.notes)
    if as_json:
        print(json.dumps(asdict(extract), ensure_ascii=False))
        return 0
    if extract.generated:
        _print_generated(extract)
        return 0
    print(extract.text)
    for source in extract.sources:
        print(f"source: {source.post_id}  {_line(source.title)}")
    return 0 if extract.text else 1


def _print_generated(extract: Extract) -> None:
    """Print a generated answer: sentences with the numbers of their sources, then the sources."""
    print("Written by a language model from the sources below:", file=sys.stderr)
    for sentence in extract.sentences:
        marks = "".join(f" [{number}]" for number in sentence.cited) or " [no source]"
        print(f"{_line(sentence.segments)}{marks}")
    for number, source in enumerate(extract.sources, 1):
        print(f"source [{number}]: {source.post_id}  {_line(source.title)}")


def _also(results: Results) -> list[str]:
    """Return one line that names what the engine added to the query."""
    added = [f"${one.text}$" if one.kind == "formula" else one.text for one in results.also_searched]
    return [f"also searched: {', '.join(added)}"] if added else []


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
