"""All that is known of one formula, as text for a person and as an object for a program."""

from __future__ import annotations

import unicodedata

from porism.formula.canonical.forms import LEVELS, canonical
from porism.formula.layout.tangent import tangent
from porism.formula.match.text import write
from porism.formula.mathml.content import to_content
from porism.formula.operators.parse import ambiguities
from porism.formula.parsed import Parsed
from porism.formula.problems import Problem
from porism.formula.text import draw, readable
from porism.formula.tree import Node


def understood(parsed: Parsed) -> bool:
    """Whether no part of a formula stayed opaque in either tree."""
    trees = [parsed.layout, parsed.operators]
    return not any(node.label.startswith("E!") for tree in trees for node in tree.walk())


def guesses(parsed: Parsed) -> list[str]:
    """Readings that could be others: products taken for applications (or not), and rules that rewrote an ambiguous spelling."""
    read = [
        f"{write(node)} is taken for {'an application' if guess == 'application' else 'a product'}"
        for guess, node in ambiguities(parsed.layout)
    ]
    return read + [f"rule {name}" for name in canonical(parsed.operators, "normalised").flags]


def as_json(parsed: Parsed) -> dict[str, object]:
    """Everything as one object; trees are objects with label, edges, places and children."""
    operators = parsed.operators
    return {
        "latex": parsed.latex,
        "readable": readable(parsed.layout),
        "path": parsed.path,
        "repairs": list(parsed.repairs),
        "problems": [{"message": it.message, "start": it.start, "end": it.end} for it in parsed.problems],
        "mathml": parsed.mathml,
        "tangent": tangent(parsed.layout),
        "layout": _object(parsed.layout),
        "operators": _object(operators),
        "content": to_content(operators),
        "canonical": {level: write(canonical(operators, level).tree) for level in LEVELS},
        "names": canonical(operators, "renamed").names,
        "guesses": guesses(parsed),
        "understood": understood(parsed),
    }


def as_text(parsed: Parsed) -> str:
    """Everything as lines, each part under its name."""
    operators = parsed.operators
    parts = [
        ("formula", readable(parsed.layout)),
        ("converted by", parsed.path),
        ("repairs", ", ".join(parsed.repairs)),
        ("problems", "\n".join(underlined(parsed.latex, problem) for problem in parsed.problems)),
        ("layout", tangent(parsed.layout)),
        ("layout tree", draw(parsed.layout)),
        ("operator tree", draw(operators)),
    ]
    parts += [(f"canonical, {level}", write(canonical(operators, level).tree)) for level in LEVELS]
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
    """A problem below the line it concerns, the culprit marked.

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
    """How many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def _object(root: Node) -> dict[str, object]:
    """A tree as nested objects, made from the leaves up so that no depth can overflow."""
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
