"""From MathML elements to the symbol layout tree: what stands where, whoever wrote the MathML.

A row is a chain over the edge `n`. Converters nest `mrow` as they please, so rows are flattened and brackets matched here; a script on
a closing bracket belongs to the whole bracket group. Labels are those of Tangent-S; see `labels`.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from porism.formula.fences import group, group_whole
from porism.formula.labels import BARS, bold, token_labels
from porism.formula.unknown import known_symbol
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
_AS_WRITTEN = {"a": "a", "b": "b", "o": "o", "u": "u"}


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
            for label in token_labels(tag, _text(element)):
                out.append(Node(label, None, "", (place,)))
        elif tag in _SCRIPTS:
            self.scripts(element, out, depth + 1)
        elif tag == "mfrac":
            self.fraction(element, out, depth + 1, place)
        elif tag in ("msqrt", "mroot"):
            self.root(element, out, depth + 1, place)
        elif tag == "mtable":
            out.append(self.table(element, depth + 1, place))
        elif tag == "mmultiscripts":
            self.multiscripts(element, out, depth + 1)
        elif tag in _NOTHING:
            self.place += sum(1 for _ in element.iter()) - 1
        elif tag in _SKIPPED:
            self.place = place
        elif tag == "menclose":
            node = Node("O!" + (element.get("notation") or "longdiv").split()[0], None, "", (place,))
            self.within(node, "w", element, depth + 1)
            out.append(node)
        elif tag == "merror":
            out.append(error_node("".join(element.itertext()).strip(), place))
            self.place += sum(1 for _ in element.iter()) - 1
        else:
            out.extend(self.explicit(element, depth + 1))

    def explicit(self, element: Element, depth: int) -> list[Node]:
        """The nodes of an `mrow`; when it is exactly one fenced group it stays one."""
        row = self.row(element, depth)
        return group_whole(row)

    def within(self, node: Node, edge: str, element: Element, depth: int) -> None:
        """Hang the children of an element (an inferred row) below a node."""
        row = group(self.row(element, depth))
        attach(node, edge, chain(row) if row else Node("W!"))

    def argument(self, node: Node, edge: str, element: Element, depth: int) -> None:
        """Hang one element below a node."""
        row = self.argument_row(element, depth)
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

    def argument_row(self, element: Element, depth: int) -> list[Node]:
        """The row that one element stands for."""
        row: list[Node] = []
        self.one(element, row, depth)
        return group(row) if len(row) > 1 else row

    def scripts(self, element: Element, out: list[Node], depth: int) -> None:
        """A base with scripts or marks above and below."""
        edges = _SCRIPTS[element.tag]
        if len(element) != len(edges) + 1:
            self.fill(element, out, depth)
            return
        base = self.argument_row(element[0], depth)
        rows = [self.argument_row(child, depth) for child in element[1:]]
        if not any(rows):
            out.extend(base)
            return
        node = _carrier(base, out)
        scripts = [(edge, chain(row)) for edge, row in zip(edges, rows, strict=True) if row]
        label = node.label
        to = _TO_OPERATOR if label[1:2] != "!" else _TO_NAME if label[0] == "V" and len(label) > 3 else _AS_WRITTEN
        if any(to[edge] in node.edges for edge, _ in scripts):
            node, to = Node("M!1x1", [node], "w"), _AS_WRITTEN
        for edge, child in scripts:
            attach(node, to[edge], child)
        out.append(node)

    def multiscripts(self, element: Element, out: list[Node], depth: int) -> None:
        """A base with scripts on both sides."""
        if not len(element):
            return
        node = _carrier(self.argument_row(element[0], depth), out)
        edges, at = ("uo" if node.label[1:2] != "!" else "ba"), 0
        for child in element[1:]:
            if child.tag == "mprescripts":
                self.place += 1
                edges, at = "dc", 0
                continue
            row = self.argument_row(child, depth)
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
            nodes = []
            for number, cell in enumerate(line if line.tag in ("mtr", "mlabeledtr") else (line,)):
                if cell.tag == "mtd":
                    self.place += 1
                    row = group(_without_entity(self.row(cell, depth)))
                else:
                    row = self.argument_row(cell, depth)
                if line.tag == "mlabeledtr" and number == 0:
                    continue
                nodes.append(chain(row) if row else Node("W!"))
            rows.append(nodes)
        # Converters differ in what they draw after the last row and column with something in it.
        while len(rows) > 1 and all(map(_empty, rows[-1])):
            rows.pop()
        wide = max((at + 1 for nodes in rows for at, node in enumerate(nodes) if not _empty(node)), default=1)
        cells = [nodes[at] if at < len(nodes) else Node("W!") for nodes in rows for at in range(wide)]
        table = Node(f"M!{len(rows)}x{wide}", None, "", (place,))
        if cells:
            link_elements(table, cells)
        return table


# A script on one of these belongs to it alone, also when a converter wraps what stands before it (`\\left. x \\right|_0`, `n!^2`).
_POSTFIX = BARS | {"∣", "!"}


def _carrier(row: list[Node], out: list[Node]) -> Node:
    """The one node that scripts on a row hang on; what stands before it goes out."""
    if not row:
        return Node("W!")
    if len(row) == 1:
        return row[0]
    if row[-1].label in _POSTFIX:
        out.extend(row[:-1])
        return row[-1]
    return Node("M!1x1", [chain(row)], "w")


def _without_entity(row: list[Node]) -> list[Node]:
    """An escaped `&amp;` between cells leaves `amp;` at the start of one."""
    if len(row) > 3 and row[0].label == "V!a" and [node.label for node in row[1:4]] == ["V!m", "V!p", ";"]:
        return row[4:]
    return row


def _empty(node: Node) -> bool:
    return node.label == "W!" and not node.children


def error_node(text: str, place: int) -> Node:
    """A converter did not know a command: it stays a symbol of that name."""
    label = known_symbol(text) if text[:1] == "\\" else "E!" + text
    return Node(label, None, "", (place,))


def _text(element: Element) -> str:
    if not len(element):
        return element.text or ""
    return "".join(bold(text) if element[0].tag == "b" else text for text in element.itertext())
