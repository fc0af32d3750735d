"""Results as text for a terminal, or as JSON for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict

from porism.records import Explanation
from porism.search.display.results import Extract, FormulaResults, HighlightedSegment, Results


def typed(text: str) -> str:
    """A query from the command line, or all of standard input for `-`."""
    return sys.stdin.read() if text == "-" else text


def as_line(segments: Iterable[HighlightedSegment]) -> str:
    """Segments as one line with LaTeX between dollar signs."""
    pieces = (f"${one.text}$" if one.kind == "formula" else one.text for one in segments)
    return " ".join("".join(pieces).split())


def _tell(notes: Iterable[str], hints: Iterable[str], head: str) -> None:
    """Words for people go to standard error."""
    print(head, file=sys.stderr)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    for hint in hints:
        print(f"try: {hint}", file=sys.stderr)


def print_results(results: Results, as_json: bool) -> int:
    """One block a hit: score, id, title; the snippet; tags, votes, accepted."""
    _tell(results.notes, results.suggestions, f"{results.total} found in {results.seconds * 1000:.0f} ms")
    for hit in results.hits:
        if as_json:
            print(json.dumps(asdict(hit), ensure_ascii=False))
            continue
        facts = [f"[{tag}]" for tag in hit.tags] + [f"{hit.votes:+d} votes"] + ["accepted"] * hit.accepted
        print(
            f"{hit.score:7.3f}  {hit.id}  {as_line(hit.title)}\n         {as_line(hit.snippet)}\n         {' '.join(facts)}\n"
        )
    return 0


def print_formulas(results: FormulaResults, as_json: bool) -> int:
    """One line a formula: score, visual id, posts, how it matched, what was renamed, LaTeX."""
    _tell(results.notes, results.suggestions, f"{results.total} found in {results.seconds * 1000:.0f} ms")
    for hit in results.hits:
        if as_json:
            print(json.dumps(asdict(hit), ensure_ascii=False))
            continue
        names = " ".join(f"{one.name}={one.value}" for one in hit.bindings) or "-"
        latex = " ".join(hit.latex.split())
        print(f"{hit.score:.3f}\t{hit.visual_id}\t{hit.use_count}\t{hit.level or 'similar'}\t{names}\t{latex}")
    return 0


def print_explanation(explanation: Explanation, as_json: bool) -> int:
    """The tree of reasons, the parts of each below it."""
    if as_json:
        print(json.dumps(asdict(explanation), ensure_ascii=False, indent=1))
        return 0
    stack = [(explanation, 0)]
    while stack:
        part, depth = stack.pop()
        names = "".join(f"; {one.name} is {one.value}" for one in part.bindings[:8])
        print(f"{'  ' * depth}{part.value:8.3f}  {part.reason}{names}")
        stack.extend((one, depth + 1) for one in reversed(part.parts))
    return 0


def print_extract(extract: Extract, as_json: bool) -> int:
    """The passage to standard output, its source after it."""
    _tell(extract.notes, (), f"answered in {extract.seconds * 1000:.0f} ms")
    if as_json:
        print(json.dumps(asdict(extract), ensure_ascii=False))
        return 0
    print(extract.text)
    for source in extract.sources:
        print(f"source: {source.post_id}  {as_line(source.title)}")
    return 0 if extract.text else 1
