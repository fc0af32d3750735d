"""Rows of a layout tree: neighbours that are one symbol are joined, then brackets and bars are matched, the same way
whether or not a converter nested them."""

from __future__ import annotations

import functools
import html
import unicodedata

from porism.formula.latex.convert import command_mathml
from porism.formula.layout.labels import BARS, CLOSING, LONGEST_WITH_ENTITIES, OPENING, token_labels
from porism.formula.tree import Node, attach, chain, link_elements


@functools.lru_cache(maxsize=4096)
def command_label(command: str, argument: str = "") -> str:
    """Return the label of a command for one symbol (`\\gt`, `\\mathbb` with `R`), or the command itself as a name.

    LaTeXML knows some commands only with packages that a collection was not converted with."""
    from porism.formula.layout.build import layout_tree

    mathml = command_mathml(f"{command}{{{argument}}}" if argument else command)
    node = layout_tree(mathml) if mathml else None
    return node.label if node is not None and not node.children and node.label != "W!" else "V!" + command


# Labels that may join with a neighbour; a row without them stays as it is.
_FONTS = frozenset(("V!\\mathbb", "V!\\Bbb", "V!\\mathfrak", "V!\\mathscr", "V!\\mathcal", "V!\\mathbf"))
JOINABLE = frozenset((".", "⋅", ":", "′", "′′", "W!", "&", "\u0338")) | _FONTS
# Edges of scripts above and below the baseline, pre-scripts included.
_ABOVE, _BELOW = "aoc", "bud"
_TRIPLES = {".": "V!…", "⋅": "V!⋯"}


def join_neighbours(row: list[Node]) -> list[Node]:
    """Join dots, primes, `:=`, a point with decimals; turn scripts on an empty base into pre-scripts."""
    out: list[Node] = []
    for node in _join_primes(row):
        label = node.label
        if out:
            if label == ";":
                if _entity(out, node):
                    continue
            elif out[-1].label in _FONTS and not out[-1].children and label[:2] == "V!" and len(label) == 3:
                out[-1] = _joined(command_label(out[-1].label[2:], label[2]), out[-1], node)
                continue
            elif label == "\u0338":
                out[-1].label = unicodedata.normalize("NFC", out[-1].label + label)
                continue
            before = out[-1]
            if label in _TRIPLES and len(out) > 1 and before.label == label == out[-2].label:
                if not (before.children or out[-2].children):
                    out[-2:] = [_joined(_TRIPLES[label], out[-2], before, node)]
                    continue
            elif label == "=" and before.label == ":" and not before.children:
                out[-1] = _joined(":=", before, node)
                continue
            elif label[:1] == "′" == before.label[:1] and not before.children:
                out[-1] = _joined(before.label + label, before, node)
                continue
            elif label[:2] == "N!" and before.label == "." and not before.children and label[2] != ".":
                if len(out) == 1 or out[-2].label[1:2] != "!":
                    out[-1] = _joined("N!." + label[2:], before, node)
                    continue
            elif before.label == "W!" and label[1:2] == "!" and _prescripted(before, node):
                out[-1] = node
                continue
        out.append(node)
    return [node for node in out if node.label != "W!" or node.children]


def _entity(out: list[Node], last: Node) -> bool:
    """Join an entity that was escaped twice and set symbol by symbol (`&`, `l`, `t`, `;`)."""
    for at in range(len(out) - 1, max(len(out) - 8, -1), -1):
        if out[at].label == "&":
            break
    else:
        return False
    nodes = [*out[at:], last]
    text = "".join(node.label.split("!")[-1] for node in nodes)
    char = html.unescape(text[:LONGEST_WITH_ENTITIES])
    if len(char) != 1 or any(node.children for node in nodes[:-1]):
        return False
    del out[at:]
    found = [_joined(label, *nodes) for label in token_labels("mo", html.escape(char))]
    if found and found[0].label == "′" and out and "a" not in out[-1].edges:
        attach(out[-1], "a", found[0])
    else:
        out.extend(found)
    return True


def _join_primes(row: list[Node]) -> list[Node]:
    """Join runs of primes, each run at once: prime by prime, a long run would take quadratic time."""
    out: list[Node] = []
    at = 0
    while at < len(row):
        end = at + 1
        if row[at].label[:1] == "′":
            while end < len(row) and row[end].label[:1] == "′" and not row[end - 1].children:
                end += 1
        run = row[at:end]
        out.append(run[0] if len(run) == 1 else _joined("".join([node.label for node in run]), *run))
        at = end
    return out


def _joined(label: str, *nodes: Node) -> Node:
    places = tuple(place for node in nodes for place in node.places)
    return Node(label, nodes[-1].children, nodes[-1].edges, places)


def _prescripted(empty: Node, node: Node) -> bool:
    """Make the scripts of an empty base the pre-scripts of the next symbol, if it has none: `{}^n C`."""
    above = sum(edge in _ABOVE for edge in empty.edges)
    below = sum(edge in _BELOW for edge in empty.edges)
    if above > 1 or below > 1 or "c" in node.edges or "d" in node.edges:
        return False
    for edge, child in zip(empty.edges, empty.children, strict=True):
        attach(node, "c" if edge in _ABOVE else "d", child)
    return True


_FENCES = frozenset(OPENING) | CLOSING | BARS
_NOTABLE = _FENCES | JOINABLE


def group(row: list[Node]) -> list[Node]:
    """Match the brackets of a row. A script on a closing bracket belongs to its group."""
    if len(row) < 2:
        return row
    joinable = fenced = False
    for node in row:
        label = node.label
        if label in _NOTABLE:
            joinable = joinable or label in JOINABLE
            fenced = fenced or label in _FENCES
    if joinable:
        row = join_neighbours(row)
    return _match(row) if fenced else row


def group_whole(row: list[Node]) -> list[Node]:
    """Group an `mrow` that is exactly one fenced group (also `\\left] a, b \\right[`); any other stays flat."""
    if len(row) < 3 or row[0].children or row[0].label not in _FENCES or row[-1].label not in _FENCES:
        return row
    inside = row[1:-1]
    bars = row[0].label in BARS or row[-1].label in BARS
    depth = 0
    for node in inside:
        label = node.label
        if label in OPENING:
            depth += 1
        elif label in CLOSING:
            depth -= 1
            if depth < 0:
                return row
        elif bars and depth == 0 and label in BARS:
            return row
    return row if depth else [make_group(row[0], group(inside), row[-1])]


def _match(row: list[Node]) -> list[Node]:
    """Match brackets with a stack. An unmatched bracket stays a plain symbol."""
    stack: list[tuple[Node, list[Node]]] = []
    out: list[Node] = []
    for at, node in enumerate(row):
        label = node.label
        if label in OPENING and not node.children:
            stack.append((node, out))
            out = []
        elif label in CLOSING:
            while stack and stack[-1][0].label in BARS:
                out = _drop_opening(stack, out)
            out = _close(stack, out, node)
        elif label in BARS:
            if (
                stack
                and stack[-1][0].label == label
                and out
                and (not _expects_operand(out[-1]) or (len(out) == 1 and out[0].label == "⋅"))
            ):
                out = _close(stack, out, node)
            elif not node.children and (not out or _expects_operand(out[-1]) or _pairs_up(row, at)):
                stack.append((node, out))
                out = []
            else:
                out.append(node)
        else:
            out.append(node)
    while stack:
        out = _drop_opening(stack, out)
    return _french_intervals(out)


def _french_intervals(row: list[Node]) -> list[Node]:
    """Group unmatched square brackets around a separator, an interval in French notation: `]0,1[`, `[0,1[`, `]0,1]`."""
    left = [at for at, node in enumerate(row) if node.label in _SQUARE]
    for first, last in zip(left[-2::-1], left[:0:-1], strict=True):
        if last < len(row) and row[last].label in _SQUARE and not row[first].children:
            inside = row[first + 1 : last]
            if any(node.label in _SEPARATORS for node in inside):
                row[first : last + 1] = [make_group(row[first], inside, row[last])]
    return row


_SQUARE = frozenset("[]")
_SEPARATORS = frozenset(",;")


def _close(stack: list[tuple[Node, list[Node]]], inside: list[Node], closing: Node) -> list[Node]:
    if not stack:
        inside.append(closing)
        return inside
    opening, outer = stack.pop()
    outer.append(make_group(opening, inside, closing))
    return outer


def _expects_operand(node: Node) -> bool:
    """Check for an operator or a comma: after it a bar opens, after a value it closes."""
    label = node.label
    return label[1:2] != "!" and label not in CLOSING and label not in BARS and label[0] not in "!′?"


def _pairs_up(row: list[Node], at: int) -> bool:
    """Check that the bars up to the end of the bracket come in pairs, so that one after a value opens."""
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


def _drop_opening(stack: list[tuple[Node, list[Node]]], inside: list[Node]) -> list[Node]:
    """Drop the innermost opening bracket, which has no partner. A brace before a table is the brace of `cases`."""
    opening, outer = stack.pop()
    if inside and opening.label in OPENING and _is_bare_table(inside[0]):
        table = inside[0]
        table.label = "M!" + opening.label + table.label[2:]
        table.places = opening.places + table.places
    else:
        outer.append(opening)
    outer.extend(inside)
    return outer


def _is_bare_table(node: Node) -> bool:
    return node.label[:2] == "M!" and node.label[2:3].isdigit() and node.label != "M!1x1"


def make_group(opening: Node, inside: list[Node], closing: Node) -> Node:
    """Return the node of a bracket group, with elements split at commas and each comma at the end of its element."""
    fences = opening.label + closing.label
    if fences == "||" and len(inside) == 1 and inside[0].label == "M!||1x1" and inside[0].edges == "w":
        # Two bars on each side are double bars.
        node = inside[0]
        inside = [node.children[0]]
        opening.places += node.places
        fences = "‖‖"
    if len(inside) == 1 and _is_bare_table(inside[0]) and inside[0].edges == "w":
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
        node = Node(f"M!{fences}1x{len(parts)}", None, "", opening.places + closing.places)
        link_elements(node, [chain(part) if part else Node("W!") for part in parts])
    for edge, child in zip(closing.edges, closing.children, strict=True):
        # The closing bracket was taken for an operator; the group is none.
        attach(node, {"o": "a", "u": "b"}.get(edge, edge), child)
    return node
