"""From MathML elements to the symbol layout tree: what stands where, whoever wrote the MathML.

A row is a chain over the edge `n`. Converters nest `mrow` as they please, so rows are flattened and brackets matched here; a script on
a closing bracket belongs to the whole bracket group. Labels are those of Tangent-S; see `labels`.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from porism.formula.fences import group
from porism.formula.labels import token_label
from porism.formula.tree import Node, attach, chain, link_elements

MAX_DEPTH = 120
MAX_NODES = 5000

_TOKENS = frozenset(("mi", "mo", "mn", "mtext", "ms"))
_NOTHING = frozenset(("mspace", "none", "mprescripts", "mphantom", "maligngroup", "malignmark"))
_SKIPPED = frozenset(("annotation", "annotation-xml"))
# Which relation each script child stands for: on a symbol, on an operator.
_SCRIPTS = {
    "msub": "b",
    "msup": "a",
    "msubsup": "ba",
    "munder": "u",
    "mover": "o",
    "munderover": "uo",
}
_TO_OPERATOR = {"a": "o", "b": "u", "o": "o", "u": "u"}
_TO_NAME = {"a": "a", "b": "b", "o": "a", "u": "b"}


class TooLarge(Exception):
    """The formula is nested or long beyond the limits; the caller makes it opaque."""


def layout_tree(root: Element) -> Node:
    """The layout tree of a MathML element; `W!` when there is nothing to see."""
    reader = _Reader()
    reader.place = 1
    row = group(reader.row(root, 0))
    return chain(row) if row else Node("W!", places=(0,))


class _Reader:
    """Walks elements in document order, numbering them as it goes."""

    __slots__ = ("nodes", "place")

    def __init__(self) -> None:
        self.place = 0
        self.nodes = 0

    def row(self, parent: Element, depth: int) -> list[Node]:
        """The nodes of the children of an element, `mrow`s flattened."""
        out: list[Node] = []
        self.fill(parent, out, depth)
        return out

    def fill(self, parent: Element, out: list[Node], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise TooLarge("nested deeper than the limit")
        self.nodes += len(parent)
        if self.nodes > MAX_NODES * 3:
            raise TooLarge("longer than the limit")
        for child in parent:
            self.one(child, out, depth)

    def one(self, element: Element, out: list[Node], depth: int) -> None:
        """Append what one element shows."""
        tag = element.tag
        place = self.place
        self.place = place + 1
        if tag in _TOKENS:
            label = token_label(tag, _text(element))
            if label:
                out.append(Node(label, None, "", (place,)))
            if len(element):
                self.place += sum(1 for _ in element.iter()) - 1
        elif tag in _SCRIPTS:
            self.scripts(element, out, depth + 1, place)
        elif tag == "mfrac":
            self.fraction(element, out, depth + 1, place)
        elif tag in ("msqrt", "mroot"):
            self.root(element, out, depth + 1, place)
        elif tag == "mtable":
            out.append(self.table(element, depth + 1, place))
        elif tag == "mmultiscripts":
            self.multiscripts(element, out, depth + 1, place)
        elif tag in _NOTHING:
            self.place += sum(1 for _ in element.iter()) - 1
        elif tag in _SKIPPED:
            self.place = place
        elif tag == "menclose":
            node = Node("O!" + (element.get("notation") or "longdiv").split()[0], None, "", (place,))
            self.within(node, "w", element, depth + 1)
            out.append(node)
        elif tag == "merror":
            out.append(Node("E!" + "".join(element.itertext()).strip(), None, "", (place,)))
            self.place += sum(1 for _ in element.iter()) - 1
        else:
            out.extend(self.explicit(element, depth + 1))

    def explicit(self, element: Element, depth: int) -> list[Node]:
        """The nodes of an `mrow`; when it is exactly one fenced group it stays one."""
        row = self.row(element, depth)
        return group(row, whole=True) if len(row) > 2 else row

    def within(self, node: Node, edge: str, element: Element, depth: int) -> None:
        """Hang the children of an element (an inferred row) below a node."""
        row = group(self.row(element, depth))
        attach(node, edge, chain(row) if row else Node("W!"))

    def argument(self, node: Node, edge: str, element: Element, depth: int) -> None:
        """Hang one element below a node."""
        row: list[Node] = []
        self.one(element, row, depth)
        row = group(row)
        attach(node, edge, chain(row) if row else Node("W!"))

    def fraction(self, element: Element, out: list[Node], depth: int, place: int) -> None:
        if len(element) != 2:
            self.fill(element, out, depth)
            return
        thin = re.match(r"0+(?!\.?\d*[1-9])", element.get("linethickness") or "1")
        node = Node("O!binom" if thin else "O!divide", None, "", (place,))
        self.argument(node, "o", element[0], depth)
        self.argument(node, "u", element[1], depth)
        out.append(node)

    def root(self, element: Element, out: list[Node], depth: int, place: int) -> None:
        node = Node("O!root", None, "", (place,))
        if element.tag == "mroot" and len(element) == 2:
            self.argument(node, "w", element[0], depth)
            self.argument(node, "c", element[1], depth)
        else:
            self.within(node, "w", element, depth)
        out.append(node)

    def base(self, element: Element, depth: int) -> Node:
        """The one node that scripts hang on."""
        row: list[Node] = []
        self.one(element, row, depth)
        row = group(row)
        if not row:
            return Node("W!")
        return row[0] if len(row) == 1 else Node("M!1x1", [chain(row)], "w")

    def scripts(self, element: Element, out: list[Node], depth: int, place: int) -> None:
        edges = _SCRIPTS[element.tag]
        if len(element) != len(edges) + 1:
            self.fill(element, out, depth)
            return
        node = self.base(element[0], depth)
        label = node.label
        if label[1:2] != "!":
            to = _TO_OPERATOR
        elif label[0] == "V" and len(label) > 3:
            to = _TO_NAME
        else:
            to = {}
        for edge, child in zip(edges, element[1:], strict=True):
            row: list[Node] = []
            self.one(child, row, depth)
            row = group(row)
            if not row:
                continue
            edge = to.get(edge, edge)
            if edge in node.edges:
                node = Node("M!1x1", [node], "w")
                edge = {"o": "a", "u": "b"}.get(edge, edge) if element.tag[1] == "s" else edge
            attach(node, edge, chain(row))
        out.append(node)

    def multiscripts(self, element: Element, out: list[Node], depth: int, place: int) -> None:
        if not len(element):
            return
        node = self.base(element[0], depth)
        operator = node.label[1:2] != "!"
        edges, at = ("uo" if operator else "ba"), 0
        for child in element[1:]:
            if child.tag == "mprescripts":
                self.place += 1
                edges, at = "dc", 0
                continue
            row: list[Node] = []
            self.one(child, row, depth)
            row = group(row)
            edge = edges[at % 2]
            at += 1
            if row:
                if edge in node.edges:
                    node = Node("M!1x1", [node], "w")
                attach(node, edge, chain(row))
        out.append(node)

    def table(self, element: Element, depth: int, place: int) -> Node:
        rows: list[list[Node]] = []
        for line in element:
            self.place += 1
            cells = list(line) if line.tag in ("mtr", "mlabeledtr") else [line]
            nodes = []
            for number, cell in enumerate(cells):
                if cell.tag == "mtd":
                    self.place += 1
                    row = group(self.row(cell, depth))
                else:
                    row = []
                    self.one(cell, row, depth)
                    row = group(row)
                if line.tag == "mlabeledtr" and number == 0:
                    continue
                nodes.append(chain(row) if row else Node("W!"))
            rows.append(nodes)
        wide = max(map(len, rows), default=0)
        cells = [node for nodes in rows for node in [*nodes, *(Node("W!") for _ in range(wide - len(nodes)))]]
        table = Node(f"M!{len(rows)}x{wide}", None, "", (place,))
        if cells:
            link_elements(table, cells)
        return table


def _text(element: Element) -> str:
    if len(element):
        return "".join(element.itertext())
    return element.text or ""
