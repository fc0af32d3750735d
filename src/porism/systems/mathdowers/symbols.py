"""Nodes of the symbol tree from which Tangent-L takes its tuples; rows, bracket groups and matrices of them.

A label is `V!x` (identifier), `N!12` (number), `T!if` (text), the bare text of an operator, `F!` (fraction), `R!`
(root), `M!` + fences + size (bracket group, matrix), `E!` (error) or `W!` (nothing). Edges: `n` next on the baseline,
`a`/`b` script above/below a symbol, `o`/`u` over/under (also scripts of an operator), `c`/`d` scripts in front, `w`
within, `e` next element of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest

EDGES = "nabcoudwe"


class UnreadableMathML(ValueError):
    """MathML that the original program reports as an error."""


class Symbol:
    """Node of a symbol tree: a label and one child per edge."""

    __slots__ = ("label", "links")

    def __init__(self, label: str, **links: Symbol | None) -> None:
        self.label = label
        self.links: dict[str, Symbol] = {edge: child for edge, child in links.items() if child is not None}

    def link(self, edge: str, child: Symbol | None) -> None:
        """Set or remove the child of an edge."""
        if child is None:
            self.links.pop(edge, None)
        else:
            self.links[edge] = child

    def last(self, edge: str = "n") -> Symbol:
        """Return the end of the chain over an edge."""
        node = self
        while edge in node.links:
            node = node.links[edge]
        return node

    def is_invisible(self) -> bool:
        """Check whether the node has no visible label and no children."""
        return self.label in ("W!", "") and not self.links

    def is_operator(self) -> bool:
        """Check whether scripts of this node are written over and under it."""
        return self.label[:1] != "?" and self.label[1:2] != "!"


Item = Symbol | None
PRESCRIPTS = Symbol("prescripts")  # marks the position of `mprescripts` among the items of an element
_OPENING = ("", "(", "{", "|", "∥", "({", "{|", "|∥", "&lsqb;")
_COMMAS = ("", ",", "&comma;")


def make_row(items: Sequence[Item]) -> Item:
    """Link the items of a row, or make a group of them when the first is an opening bracket."""
    row = [item for item in items if item is not None and not item.is_invisible()]
    if len(row) > 1 and row[0].label in _OPENING:
        return make_group(row, _COMMAS)
    at: Symbol | None = None
    for position, item in enumerate(row):
        if at is None:
            at = item
        elif at.label.startswith("M!") and item.label.startswith("M!"):
            at = _merge(at, item)
        elif position == 1 and at.label == "-" and item.label.startswith("N!"):
            at.label = "N!-" + item.label[2:]
        else:
            at.last().links["n"] = item
            at = item
    return row[0] if row else None


def make_group(row: list[Symbol], separators: Sequence[str]) -> Symbol:
    """Make the group of a row whose first item is the opening bracket and whose last one counts as the closing
    bracket."""
    first, inner, last = row[0], row[1:-1], row[-1]
    if len(row) < 4 and _is_bare_matrix(row[1]):
        closing = last.label if len(row) == 3 else ""
        row[1].label = "M!" + first.label + closing + row[1].label[2:]
        return row[1]
    if not inner:
        return Symbol("M!" + first.label + last.label)
    if inner[0].label in separators:
        inner = [Symbol("W!", n=inner[0])] if len(inner) == 1 else [Symbol("W!"), *inner]
    columns = _split_chain(inner[0], separators) if len(inner) == 1 else _split_items(inner, separators)
    return Symbol(f"M!{first.label}{last.label}1x{columns}", w=inner[0])


def _is_bare_matrix(node: Symbol) -> bool:
    """Check whether a node is a matrix without fences and without scripts."""
    return node.label.startswith("M!") and node.label[2:3] not in tuple("({|&∥") and not set(node.links) - set("we")


def _split_chain(node: Symbol, separators: Sequence[str]) -> int:
    """Split a chain at its separators, which vanish, and return the number of elements."""
    columns, element, at = 1, node, node
    while "n" in at.links:
        following = at.links["n"]
        if following.label not in separators:
            at = following
            continue
        columns += 1
        del at.links["n"]
        element.link("e", following.links.get("n"))
        if "e" not in element.links:
            break
        element = at = element.links["e"]
    return columns


def _split_items(items: list[Symbol], separators: Sequence[str]) -> int:
    """Link items to elements, a new one after each separator, and return the number of elements."""
    columns, element, at = 1, items[0], items[0]
    for before, item in pairwise(items):
        if item.label in separators:
            columns += 1
        elif before.label in separators:
            element.links["e"] = item
            element = at = item
        else:
            at = at.last()
            at.links["n"] = item
    return columns


def _merge(left: Symbol, right: Symbol) -> Symbol:
    """Merge adjacent matrices without fences that have equally many rows; link other groups. Return the node to go on
    from."""
    rows, _, columns = left.label[2:].partition("x")
    other_rows, _, other_columns = right.label[2:].partition("x")
    if not rows.isdecimal() or rows != other_rows:
        left.last().links["n"] = right
        return right
    cells = _cells(left, int(rows) * int(columns))
    others = _cells(right, int(rows) * int(other_columns))
    wide, narrow = int(columns), int(other_columns)
    merged = [
        cell
        for row in range(int(rows))
        for cell in (*cells[row * wide : (row + 1) * wide], *others[row * narrow : (row + 1) * narrow])
    ]
    for cell, following in zip_longest(merged, merged[1:]):
        cell.link("e", following)
    left.label = f"M!{rows}x{wide + narrow}"
    return left


def _cells(matrix: Symbol, number: int) -> list[Symbol]:
    """Return the cells of a matrix in the order of rows."""
    cells: list[Symbol] = []
    at = matrix.links.get("w")
    while at is not None:
        cells.append(at)
        at = at.links.get("e")
    if len(cells) != number:
        raise UnreadableMathML("a matrix whose cells do not fill its rows")
    return cells


def make_matrix(rows: Sequence[Item]) -> Symbol:
    """Make a matrix of rows that are chains over `e`; each row gets as many cells as the first."""
    if not rows:
        return Symbol("M!0x0")
    first = rows[0] or Symbol("W!")
    at, columns = first, 1
    while "e" in at.links:
        at, columns = at.links["e"], columns + 1
    for row in rows[1:]:
        at.link("e", row)
        for _ in range(columns):
            at = at.links.setdefault("e", Symbol("W!"))
    at.link("e", None)
    return Symbol(f"M!{len(rows)}x{columns}", w=first)


def make_matrix_row(cells: Sequence[Item]) -> Symbol:
    """Link the cells of a matrix row over `e`."""
    row = [cell or Symbol("W!") for cell in cells] or [Symbol("W!")]
    for cell, following in pairwise(row):
        cell.links["e"] = following
    return row[0]


def make_cell(items: Sequence[Item]) -> Symbol:
    """Link the items of a cell; a comma at its end vanishes."""
    row = list(items)
    if row and row[-1] is not None and row[-1].label == "&comma;":
        row.pop()
    first = (row and row[0]) or Symbol("W!")
    for item in row[1:]:
        if item is not None:
            first.last().links["n"] = item
    at = first
    while "n" in at.links:
        following = at.links["n"]
        if following.label == "&comma;" and "n" not in following.links:
            del at.links["n"]
        else:
            at = following
    return first
