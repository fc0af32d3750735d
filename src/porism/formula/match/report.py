"""A match as tab-separated lines and as JSON."""

from __future__ import annotations

from porism.formula.match.matcher import Match, MatchResult
from porism.formula.plaintext import tree_text


def match_lines(found: Match) -> list[str]:
    """Return level, node pairs and bindings as tab-separated lines."""
    lines = [f"level\t{found.level}", f"whole\t{'yes' if found.whole else 'no'}"]
    lines += [
        f"pair\t{pair.pattern}\t{pair.target}\t{_places(pair.pattern_places)}\t{_places(pair.target_places)}"
        for pair in found.pairs
    ]
    lines += [f"binding\t{name}\t{tree_text(node)}" for name, node in found.bindings]
    return lines


def _places(places: tuple[int, ...]) -> str:
    return ",".join(map(str, places)) or "-"


def match_json(found: MatchResult) -> dict[str, object]:
    """Return the same as an object with fixed keys; `match` is null when there is no match."""
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
    bindings = {name: tree_text(node) for name, node in made.bindings}
    return {
        "match": {"level": made.level, "whole": made.whole, "pairs": pairs, "bindings": bindings},
        "exhausted": found.exhausted,
    }
