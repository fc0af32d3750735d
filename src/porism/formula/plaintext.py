"""Formulas, trees and matches as text for people: one line of Unicode, an indented outline, a tree on one line; all
that is known of a formula, and a match, also as JSON."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import asdict

from porism.formula.canonical.forms import LEVELS, canonical
from porism.formula.latex.editable import Problem
from porism.formula.layout.tuples import tangent
from porism.formula.match.matcher import Match, MatchResult
from porism.formula.mathml.content_writer import to_content
from porism.formula.operators.parse import ambiguities
from porism.formula.parsed import Parsed
from porism.formula.tree import Node, elements_of, row_of

_UP = str.maketrans("0123456789+−=()niabcdefghjklmoprstuvwxyzT′*", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ′*")
_DOWN = str.maketrans("0123456789+−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_TIGHT = frozenset("!%/′∂∇√¬∀∃.:|‖()[]{}⟨⟩")
_ACCENTS = {"^": "\u0302", "~": "\u0303", "¯": "\u0304", "→": "\u20d7", "˙": "\u0307", "¨": "\u0308"}
_GROUP = re.compile(r"M!(\D*+)(\d++)x(\d++)", re.DOTALL)


def readable(layout: Node) -> str:
    """Write a layout tree as one line of Unicode: `x^2+\\frac{a+b}{c}` is `x² + (a + b)/c`."""
    out: list[str] = []
    previous = None
    for node in row_of(layout):
        label = node.label
        if label in (",", ";"):
            out.append(label + " ")
        elif label[1:2] == "!" or label in _TIGHT:
            if previous is not None and _needs_space(previous, node):
                out.append(" ")
            out.append(_symbol(node))
        elif previous is None or (previous.label[1:2] != "!" and previous.label not in _TIGHT):
            out.append(_symbol(node))
        else:
            out.append(f" {_symbol(node)} ")
        previous = node
    return re.sub(r" +", " ", "".join(out)).strip()


def _needs_space(left: Node, right: Node) -> bool:
    """Check for a name or a text next to something other than a bracket."""
    long = (left.label[:2] in ("V!", "T!") and len(left.label) > 3) or (
        left.label[1:2] != "!" and bool({"u", "o"} & set(left.edges))
    )
    after = right.label[:2] in ("V!", "T!") and len(right.label) > 3
    return (long and right.label[:3] not in ("M!(", "M![")) or (after and left.label[1:2] == "!")


def _symbol(node: Node) -> str:
    """Write one node with its scripts."""
    parts = dict(zip(node.edges, node.children, strict=True))
    text = _body(node, parts)
    for edge in "cd":
        if edge in parts and not node.label.startswith("O!root"):
            text = _script(parts[edge], edge == "c") + text
    is_symbol = node.label[1:2] == "!" and node.label[:2] != "O!"
    if is_symbol and len(text) == 1 and "o" in parts and parts["o"].label in _ACCENTS:
        text += _ACCENTS[parts.pop("o").label]
    for edge in "ba" if node.label in ("O!divide", "O!binom") else "buao":
        if edge in parts:
            text += _script(parts[edge], edge in "ao")
    return text


def _body(node: Node, parts: dict[str, Node]) -> str:
    label = node.label
    if label in ("O!divide", "O!binom"):
        between = "/" if label == "O!divide" else " over "
        return between.join(_closed(parts[edge]) for edge in "ou" if edge in parts)
    if label == "O!root":
        index = _script(parts["c"], True) if "c" in parts else ""
        return f"{index}√{_closed(parts['w'])}" if "w" in parts else "√"
    found = _GROUP.fullmatch(label)
    if found:
        return _group(node, found)
    if label[:2] == "O!":
        return f"{label[2:]}({readable(parts['w'])})" if "w" in parts else label[2:]
    if label[:2] == "E!":
        return f"⟪{readable(parts['w']) if 'w' in parts else label[2:]}⟫"
    return "" if label == "W!" else label[2:] if label[1:2] == "!" else label


def _group(node: Node, found: re.Match[str]) -> str:
    fences, rows, columns = found[1], int(found[2]), int(found[3])
    elements = [readable(element) for element in elements_of(node)]
    if rows == 1 and (fences or columns == 1):
        left, right = (fences[:1], fences[1:]) if fences else ("(", ")")
        return left + " ".join(elements) + right
    lines = [", ".join(elements[at : at + columns]) for at in range(0, len(elements), columns)]
    left, right = (fences[:1], fences[1:]) if fences else ("[", "]")
    return left + "; ".join(lines) + right


def _closed(node: Node) -> str:
    """Write an operand of a fraction or a root: in brackets unless it is a single symbol."""
    text = readable(node)
    single = "n" not in node.edges and node.label[1:2] == "!" and node.label != "O!divide"
    return text if single and " " not in text else f"({text})"


def _script(node: Node, up: bool) -> str:
    text = readable(node)
    tight = text.replace(" ", "")
    raised = tight.translate(_UP if up else _DOWN)
    if tight and all(before != after or before in "′*" for before, after in zip(tight, raised, strict=True)):
        return raised
    mark = "^" if up else "_"
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"


def outline(root: Node) -> str:
    """Write a tree as an indented outline, in a layout tree with the letter of its edge before each node.

    The symbols of a row share one indent, as do the elements of a group, so that a long formula stays narrow."""
    lines: list[str] = []
    stack: list[tuple[Node, str, str]] = [(root, "", "")]
    while stack:
        node, indent, mark = stack.pop()
        lines.append(f"{indent}{mark}{node.label}")
        edges = node.edges or " " * len(node.children)
        for edge, child in reversed(list(zip(edges, node.children, strict=True))):
            if edge in "ne":
                stack.append((child, indent, edge + " " if edge == "e" else " " * len(mark)))
            else:
                stack.append((child, indent + " " * len(mark) + "  ", "" if edge == " " else edge + " "))
        # First the scripts of this node, then the rest of its row, then the next element.
        if node.edges[:1] == "n":
            later = 1 if node.edges[-1] == "e" else 0
            stack.insert(len(stack) - len(node.children) + later, stack.pop())
    return "\n".join(lines)


def tree_text(node: Node) -> str:
    """Write an operator tree on one line, such as `U!plus(V!a, N!1)`."""
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
