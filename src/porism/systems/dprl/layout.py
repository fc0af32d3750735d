"""Layout trees as DPRL's learning to rank reads them.

Its reader recognises only bars as brackets. Every other bracket is a symbol on the baseline, a script on a bracketed
expression is attached to a wrapper `M!1x1`, neighbouring wrappers are merged as tables are, and of a table only the
first column is kept.
"""

from __future__ import annotations

import re
from itertools import pairwise

from porism.formula.tree import Node, attach, chain, elements_of, link_elements

_GROUP = re.compile(r"M!(\D*)(\d+)x(\d+)")
_TABLE = re.compile(r"M!(\d+)x(\d+)")
_BARS = frozenset(("||", "∥∥"))


def with_plain_brackets(root: Node) -> Node:
    """Return a copy of a layout tree in which brackets are symbols of the baseline."""
    return _copy_row(root)[0]


def _copy_row(first: Node) -> list[Node]:
    """Return copies of a node and all that follow it on its baseline, linked."""
    row: list[Node] = []
    node: Node | None = first
    while node is not None:
        group = _GROUP.fullmatch(node.label)
        if group and group[1] and group[1] not in _BARS:
            row.extend(_spelled(node, group[1], int(group[2])))
        else:
            row.append(_plain(node, group))
        node = node.child("n")
    row = _merged(row)
    for left, right in pairwise(row):
        attach(left, "n", right)
    return row


def _merged(row: list[Node]) -> list[Node]:
    """Merge neighbouring tables and wrappers with equally many rows; the scripts of the first stay."""
    merged: list[Node] = []
    for node in row:
        table, before = _TABLE.fullmatch(node.label), _TABLE.fullmatch(merged[-1].label) if merged else None
        if table and before and table[1] == before[1]:
            _extend(merged[-1], node, int(before[1]), int(before[2]), int(table[2]))
        else:
            merged.append(node)
    return merged


def _extend(left: Node, right: Node, rows: int, left_columns: int, right_columns: int) -> None:
    """Add the columns of a table to another."""
    cells: list[Node] = []
    first, second = elements_of(left), elements_of(right)
    for row in range(rows):
        cells.extend(first[row * left_columns : (row + 1) * left_columns])
        cells.extend(second[row * right_columns : (row + 1) * right_columns])
    for cell in cells:
        _drop(cell, "e")
    left.label = f"M!{rows}x{left_columns + right_columns}"
    _drop(left, "w")
    _link(left, cells)


def _plain(node: Node, group: re.Match[str] | None) -> Node:
    """Return a copy of a node that is no bracketed group, with its scripts and contents but without what follows it."""
    if group and int(group[3]) > 1 and int(group[2]) > 1:
        return _table(node, int(group[2]), int(group[3]))
    if group and group[1] in _BARS:
        return _between_bars(node, group[1])
    copy = Node(node.label)
    for edge, child in zip(node.edges, node.children, strict=True):
        if edge not in "new":
            attach(copy, edge, _copy_row(child)[0])
    _link(copy, [_copy_row(element)[0] for element in elements_of(node)])
    return copy


def _between_bars(node: Node, bars: str) -> Node:
    """Return a group in bars. Every comma of its row ends an element, also one between brackets."""
    row = [item for element in elements_of(node) for item in _copy_row(element)]
    for item in row:
        _drop(item, "n")
    elements: list[list[Node]] = [[]]
    for item in row:
        elements[-1].append(item)
        if item.label == ",":
            elements.append([])
    group = Node(f"M!{bars}1x{len(elements)}")
    _link(group, [chain(element) for element in elements if element])
    _attach_scripts(node, group, "abou", "abou")
    return group


def _table(node: Node, rows: int, columns: int) -> Node:
    """Return a table of which only the first column is left."""
    table = Node(f"M!{rows}x1")
    _link(table, [_copy_row(cell)[0] for cell in elements_of(node)[::columns]])
    _attach_scripts(node, table, "ab", "ab")
    return table


def _link(group: Node, elements: list[Node]) -> None:
    """Put elements within a group, linked one to the next."""
    if elements:
        link_elements(group, elements)


def _spelled(node: Node, fences: str, rows: int) -> list[Node]:
    """Return a bracketed group as a row; with scripts the row is in a wrapper."""
    opening, closing = fences[:1], fences[1:]
    row = [Node(opening)]
    if rows > 1:
        columns = int(node.label.rpartition("x")[2])
        within = node.child("w")
        inner = Node(node.label, [within], "w") if within is not None else Node(node.label)
        row.append(_table(inner, rows, columns))
    else:
        for element in elements_of(node):
            row.extend(_copy_row(element))
    if closing:
        row.append(Node(closing))
    for item, following in pairwise(row):
        if item.child("n") is None:
            attach(item, "n", following)
    if not set(node.edges) - set("new"):
        for item in row:
            _drop(item, "n")
        return row
    wrapper = Node("M!1x1")
    attach(wrapper, "w", row[0])
    _attach_scripts(node, wrapper, "abou", "ouou")
    return [wrapper]


def _drop(node: Node, edge: str) -> None:
    """Remove the child at an edge."""
    at = node.edges.find(edge)
    if at >= 0:
        del node.children[at]
        node.edges = node.edges[:at] + node.edges[at + 1 :]


def _attach_scripts(source: Node, target: Node, edges: str, to: str) -> None:
    """Copy scripts of a node to another; a script on a bracket is over or under it, as on any operator."""
    for edge, new in zip(edges, to, strict=True):
        child = source.child(edge)
        if child is not None and target.child(new) is None:
            attach(target, new, _copy_row(child)[0])
