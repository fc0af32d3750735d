"""Reports for people and programs: everything about one formula, and a match, as text and as JSON."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict

from porism.formula.canonical.forms import LEVELS, canonical
from porism.formula.latex.editable import Problem
from porism.formula.layout.tuples import tangent
from porism.formula.match.matcher import Match, MatchResult
from porism.formula.mathml.content_writer import to_content
from porism.formula.operators.parse import ambiguities
from porism.formula.parsed import Parsed
from porism.formula.plaintext import outline, readable, tree_text
from porism.formula.tree import Node


def understood(parsed: Parsed) -> bool:
    """Check that neither tree of a formula has an opaque part."""
    trees = [parsed.layout, parsed.operators]
    return not any(node.label.startswith("E!") for tree in trees for node in tree.walk())


def guesses(parsed: Parsed) -> list[str]:
    """Return the ambiguous readings: products or applications, and rules that rewrote a spelling."""
    read = [
        f"{tree_text(guess.node)} is read as {'an application' if guess.reading == 'application' else 'a product'}"
        for guess in ambiguities(parsed.layout)
    ]
    return read + [f"rule {name}" for name in canonical(parsed.operators, "normalised").flags]


def formula_json(parsed: Parsed) -> dict[str, object]:
    """Return everything as one object. Trees are objects with label, edges, places and children."""
    operators = parsed.operators
    return {
        "latex": parsed.latex,
        "readable": readable(parsed.layout),
        "path": parsed.path,
        "repairs": list(parsed.repairs),
        "problems": [asdict(problem) for problem in parsed.problems],
        "mathml": parsed.mathml,
        "tangent": tangent(parsed.layout),
        "layout": _object(parsed.layout),
        "operators": _object(operators),
        "content": to_content(operators),
        "canonical": {level: tree_text(canonical(operators, level).tree) for level in LEVELS},
        "names": canonical(operators, "renamed").names,
        "guesses": guesses(parsed),
        "understood": understood(parsed),
    }


def formula_text(parsed: Parsed) -> str:
    """Return everything as lines, each part with its name."""
    operators = parsed.operators
    parts = [
        ("formula", readable(parsed.layout)),
        ("converted by", parsed.path),
        ("repairs", ", ".join(parsed.repairs)),
        ("problems", "\n".join(underlined(parsed.latex, problem) for problem in parsed.problems)),
        ("layout", tangent(parsed.layout)),
        ("layout tree", outline(parsed.layout)),
        ("operator tree", outline(operators)),
    ]
    parts += [(f"canonical, {level}", tree_text(canonical(operators, level).tree)) for level in LEVELS]
    names = canonical(operators, "renamed").names
    parts.append(("names", ", ".join(f"{new[2:]} = {old[2:]}" for old, new in names.items())))
    parts.append(("guesses", ", ".join(guesses(parsed))))
    parts += [("MathML", parsed.mathml), ("Content MathML", to_content(operators))]
    return "\n".join(_part(name, text) for name, text in parts if text)


def _part(name: str, text: str) -> str:
    if "\n" not in text and len(text) < 100:
        return f"{name}: {text}"
    return "\n".join([f"{name}:", *(f"  {line}" for line in text.split("\n"))])


def underlined(latex: str, problem: Problem) -> str:
    """Return a problem below its line of LaTeX, with the wrong characters underlined.

    a + \\foo b
        ^^^^ unknown command \\foo
    """
    start = latex.rfind("\n", 0, problem.start) + 1
    stop = latex.find("\n", problem.start)
    line = latex[start : stop if stop >= 0 else len(latex)]
    at, end = problem.start - start, max(min(problem.end - start, len(line)), problem.start - start + 1)
    if len(line) > 100:
        cut = max(0, at - 40)
        line, at, end = line[cut : cut + 100], at - cut, min(end - cut, 100)
    line = line.replace("\t", " ")
    return f"{line}\n{' ' * _width(line[:at])}{'^' * max(_width(line[at:end]), 1)} {problem.message}"


def _width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def _object(root: Node) -> dict[str, object]:
    """Return a tree as nested objects, built from the leaves up so that no depth can overflow."""
    made: dict[int, dict[str, object]] = {}
    for node in reversed(list(root.walk())):
        entry: dict[str, object] = {"label": node.label}
        if node.edges:
            entry["edges"] = node.edges
        if node.places:
            entry["places"] = list(node.places)
        if node.children:
            entry["children"] = [made.pop(id(child)) for child in node.children]
        made[id(node)] = entry
    return made[id(root)]


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
        {name: list(value) if isinstance(value, tuple) else value for name, value in pair._asdict().items()}
        for pair in made.pairs
    ]
    bindings = {name: tree_text(node) for name, node in made.bindings}
    return {
        "match": {"level": made.level, "whole": made.whole, "pairs": pairs, "bindings": bindings},
        "exhausted": found.exhausted,
    }
