"""A match as lines for a terminal and as JSON."""

from __future__ import annotations

from porism.formula.match.matcher import Found, Match
from porism.formula.tree import Node


def write(node: Node) -> str:
    """An operator tree on one line: `U!plus(V!a, N!1)`."""
    out: list[str] = []
    stack: list[Node | str] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        out.append(item.label)
        if item.children:
            stack.append(")")
            for child in reversed(item.children):
                stack.extend((child, ", "))
            stack[-1] = "("
    return "".join(out)


def as_lines(found: Match) -> list[str]:
    """Level, node pairs and bindings as tab-separated lines."""
    lines = [f"level\t{found.level}", f"whole\t{'yes' if found.whole else 'no'}"]
    lines += [
        f"pair\t{pair.pattern}\t{pair.target}\t{_places(pair.pattern_places)}\t{_places(pair.target_places)}"
        for pair in found.pairs
    ]
    lines += [f"binding\t{name}\t{write(node)}" for name, node in found.bindings]
    return lines


def _places(places: tuple[int, ...]) -> str:
    return ",".join(map(str, places)) or "-"


def as_json(found: Found) -> dict[str, object]:
    """The same facts with fixed keys; `match` is null when there is none."""
    made = found.match
    if made is None:
        return {"match": None, "exhausted": found.exhausted}
    pairs = [
        {
            "pattern": pair.pattern,
            "target": pair.target,
            "pattern_places": list(pair.pattern_places),
            "target_places": list(pair.target_places),
        }
        for pair in made.pairs
    ]
    bindings = {name: write(node) for name, node in made.bindings}
    return {
        "match": {"level": made.level, "whole": made.whole, "pairs": pairs, "bindings": bindings},
        "exhausted": found.exhausted,
    }
