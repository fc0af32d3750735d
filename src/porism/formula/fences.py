"""Brackets and bars in a flat row become groups, the same whether or not a converter nested them."""

from __future__ import annotations

from porism.formula.labels import BARS, CLOSING, OPENING
from porism.formula.tree import Node, attach, chain, link_elements

_FENCES = frozenset(OPENING) | CLOSING | BARS | {"."}
_ENDS = frozenset("([{⟨⌊⌈⟦|‖)]}⟩⌋⌉⟧")


def group(row: list[Node], whole: bool = False) -> list[Node]:
    """Match the brackets of a row. A script on a closing bracket goes to its group.

    With `whole` only a row that is one fenced group is changed: what an `mrow` nests is a hint, not a rule.
    """
    if len(row) < 2 or not any(node.label in _FENCES or node.label == "W!" for node in row):
        return row
    if whole:
        return _whole(row)
    return _match(_ellipses(_prescripts(row)))


def _whole(row: list[Node]) -> list[Node]:
    """A row between two fences of any direction (`\\left] a, b \\right[`) is a group when nothing inside is a lone fence."""
    first, last = row[0].label, row[-1].label
    if first in _ENDS and last in _ENDS and not row[0].children:
        inside = _match(row[1:-1])
        if not any(node.label in _ENDS for node in inside):
            return [make_group(row[0], inside, row[-1])]
    return row


def _prescripts(row: list[Node]) -> list[Node]:
    """`{}^n C` : scripts on nothing, before a symbol, are that symbol's pre-scripts."""
    out: list[Node] = []
    for node in row:
        if out and out[-1].label == "W!" and node.label[1:2] == "!" and "c" not in node.edges and "d" not in node.edges:
            empty = out.pop()
            for edge, child in zip(empty.edges, empty.children, strict=True):
                attach(node, "c" if edge in "ao" else "d", child)
        out.append(node)
    return [node for node in out if node.label != "W!" or node.children]


def _ellipses(row: list[Node]) -> list[Node]:
    """Three dots are an ellipsis, however they were typed."""
    out: list[Node] = []
    for node in row:
        out.append(node)
        if node.label == "." and len(out) > 2 and out[-2].label == "." == out[-3].label:
            if out[-2].children or out[-3].children:
                continue
            places = out[-3].places + out[-2].places + node.places
            out[-3:] = [Node("V!…", node.children, node.edges, places)]
    return out


def _match(row: list[Node]) -> list[Node]:
    """Match brackets with a stack; what stays unmatched stays a plain symbol."""
    stack: list[tuple[Node, list[Node]]] = []
    out: list[Node] = []
    for at, node in enumerate(row):
        label = node.label
        if label in OPENING and not node.children:
            stack.append((node, out))
            out = []
        elif label in CLOSING:
            while stack and stack[-1][0].label in BARS:
                out = _give_up(stack, out)
            if stack:
                opening, outer = stack.pop()
                outer.append(make_group(opening, out, node))
                out = outer
            else:
                out.append(node)
        elif label in BARS:
            if stack and stack[-1][0].label == label and out and not _expects_operand(out[-1]):
                opening, outer = stack.pop()
                outer.append(make_group(opening, out, node))
                out = outer
            elif not node.children and (not out or _expects_operand(out[-1]) or _pairs_up(row, at)):
                stack.append((node, out))
                out = []
            else:
                out.append(node)
        else:
            out.append(node)
    while stack:
        out = _give_up(stack, out)
    return out


def _expects_operand(node: Node) -> bool:
    """After an operator or a comma a bar opens; after a value it closes."""
    label = node.label
    return label[1:2] != "!" and label not in CLOSING and label not in "!′″‴" and label not in BARS


def _pairs_up(row: list[Node], at: int) -> bool:
    """After a value, with no bar open: the bar opens when the bars from here to the end of the bracket come in pairs (`2|x|`)."""
    label, count, depth = row[at].label, 0, 0
    for node in row[at:]:
        if node.label in OPENING:
            depth += 1
        elif node.label in CLOSING:
            depth -= 1
            if depth < 0:
                break
        elif node.label == label and depth == 0:
            count += 1
    return count % 2 == 0


def _give_up(stack: list[tuple[Node, list[Node]]], inside: list[Node]) -> list[Node]:
    """The innermost opening bracket has no partner. A brace before a table is the brace of `cases`."""
    opening, outer = stack.pop()
    if inside and opening.label in OPENING and _bare_table(inside[0]):
        table = inside[0]
        table.label = "M!" + opening.label + table.label[2:]
        table.places = opening.places + table.places
    else:
        outer.append(opening)
    outer.extend(inside)
    return outer


def _bare_table(node: Node) -> bool:
    return node.label[:2] == "M!" and node.label[2:3].isdigit() and node.label != "M!1x1"


def make_group(opening: Node, inside: list[Node], closing: Node) -> Node:
    """One node for a bracket group: elements split at commas, the comma staying at the end of its element."""
    fences = opening.label + closing.label
    places = opening.places + closing.places
    if len(inside) == 1 and _bare_table(inside[0]) and "a" not in inside[0].edges and "b" not in inside[0].edges:
        node = inside[0]
        node.label = "M!" + fences + node.label[2:]
        node.places = opening.places + node.places + closing.places
    else:
        parts: list[list[Node]] = [[]]
        for item in inside:
            parts[-1].append(item)
            if item.label == ",":
                parts.append([])
        if not parts[-1] and len(parts) > 1:
            parts.pop()
        node = Node(f"M!{fences}1x{len(parts)}", None, "", places)
        link_elements(node, [chain(part) if part else Node("W!") for part in parts])
    for edge, child in zip(closing.edges, closing.children, strict=True):
        # The closing bracket was read as an operator; the group is not one.
        attach(node, {"o": "a", "u": "b"}.get(edge, edge), child)
    return node
