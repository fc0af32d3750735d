"""Presentation MathML as the symbol tree from which Tangent-L takes its tuples.

It differs from Porism's own layout tree: it follows the MathML element by element, with the losses of the original
program, because documents and queries must contain the tokens that the original wrote. Two losses are part of the
definition: brackets are recognised by the opening one only, so the last item of such a row counts as the closing
bracket and loses its scripts; a leading ASCII minus merges with a number and drops what the number's item held.

A label is `V!x` (identifier), `N!12` (number), `T!if` (text), the bare text of an operator, `F!` (fraction), `R!`
(root), `M!` + fences + size (bracket group, matrix), `E!` (error) or `W!` (nothing). Edges: `n` next on the baseline,
`a`/`b` script above/below a symbol, `o`/`u` over/under (also scripts of an operator), `c`/`d` scripts in front, `w`
within, `e` next element of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from xml.parsers import expat

EDGES = "nabcoudwe"


class UnreadableMathML(ValueError):
    """MathML that the original program reports as an error."""


class SymbolNode:
    """Node of a symbol tree: a label and one child per edge."""

    __slots__ = ("label", "links")

    def __init__(self, label: str, **links: SymbolNode | None) -> None:
        self.label = label
        self.links: dict[str, SymbolNode] = {edge: child for edge, child in links.items() if child is not None}

    def link(self, edge: str, child: SymbolNode | None) -> None:
        """Set or remove the child of an edge."""
        if child is None:
            self.links.pop(edge, None)
        else:
            self.links[edge] = child

    def last(self) -> SymbolNode:
        """Return the end of the baseline."""
        node = self
        while "n" in node.links:
            node = node.links["n"]
        return node

    def is_invisible(self) -> bool:
        """Check whether the node has no visible label and no children."""
        return self.label in ("W!", "") and not self.links

    def is_operator(self) -> bool:
        """Check whether scripts of this node are written over and under it."""
        return self.label[:1] != "?" and self.label[1:2] != "!"


Item = SymbolNode | None
PRESCRIPTS = SymbolNode("prescripts")  # marks the position of `mprescripts` among the items of an element
_OPENING = ("", "(", "{", "|", "∥", "({", "{|", "|∥", "&lsqb;")
_COMMAS = ("", ",", "&comma;")


def make_row(items: Sequence[Item]) -> Item:
    """Link the items of a row, or make a group of them when the first is an opening bracket."""
    row = [item for item in items if item is not None and not item.is_invisible()]
    if len(row) > 1 and row[0].label in _OPENING:
        return make_group(row, _COMMAS)
    at: SymbolNode | None = None
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


def make_group(row: list[SymbolNode], separators: Sequence[str]) -> SymbolNode:
    """Make the group of a row whose first item is the opening bracket; the last one counts as the closing bracket."""
    first, inner, last = row[0], row[1:-1], row[-1]
    inside = row[1]
    is_matrix = inside.label.startswith("M!") and inside.label[2:3] not in tuple("({|&∥")
    if len(row) < 4 and is_matrix and not set(inside.links) - set("we"):  # without fences and without scripts
        closing = last.label if len(row) == 3 else ""
        inside.label = "M!" + first.label + closing + inside.label[2:]
        return inside
    if not inner:
        return SymbolNode("M!" + first.label + last.label)
    if inner[0].label in separators:
        inner = [SymbolNode("W!", n=inner[0])] if len(inner) == 1 else [SymbolNode("W!"), *inner]
    columns = _split_chain(inner[0], separators) if len(inner) == 1 else _split_items(inner, separators)
    return SymbolNode(f"M!{first.label}{last.label}1x{columns}", w=inner[0])


def _split_chain(node: SymbolNode, separators: Sequence[str]) -> int:
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


def _split_items(items: list[SymbolNode], separators: Sequence[str]) -> int:
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


def _merge(left: SymbolNode, right: SymbolNode) -> SymbolNode:
    """Merge bare matrices with equally many rows; link other groups. Return the node to go on from."""
    rows, _, columns = left.label[2:].partition("x")
    other_rows, _, other_columns = right.label[2:].partition("x")
    if not rows.isdecimal() or rows != other_rows:
        left.last().links["n"] = right
        return right
    cells = _cells(left, int(rows) * int(columns))
    others = _cells(right, int(rows) * int(other_columns))
    wide, narrow = int(columns), int(other_columns)
    merged: list[SymbolNode] = []
    for row in range(int(rows)):
        merged += cells[row * wide : (row + 1) * wide] + others[row * narrow : (row + 1) * narrow]
    for cell, following in zip_longest(merged, merged[1:]):
        cell.link("e", following)
    left.label = f"M!{rows}x{wide + narrow}"
    return left


def _cells(matrix: SymbolNode, number: int) -> list[SymbolNode]:
    """Return the cells of a matrix in the order of rows."""
    cells: list[SymbolNode] = []
    at = matrix.links.get("w")
    while at is not None:
        cells.append(at)
        at = at.links.get("e")
    if len(cells) != number:
        raise UnreadableMathML("a matrix whose cells do not fill its rows")
    return cells


def make_matrix(rows: Sequence[Item]) -> SymbolNode:
    """Make a matrix of rows that are chains over `e`; each row gets as many cells as the first."""
    if not rows:
        return SymbolNode("M!0x0")
    first = rows[0] or SymbolNode("W!")
    at, columns = first, 1
    while "e" in at.links:
        at, columns = at.links["e"], columns + 1
    for row in rows[1:]:
        at.link("e", row)
        for _ in range(columns):
            at = at.links.setdefault("e", SymbolNode("W!"))
    at.link("e", None)
    return SymbolNode(f"M!{len(rows)}x{columns}", w=first)


def make_matrix_row(cells: Sequence[Item]) -> SymbolNode:
    """Link the cells of a matrix row over `e`."""
    row = [cell or SymbolNode("W!") for cell in cells or (None,)]
    for cell, following in pairwise(row):
        cell.links["e"] = following
    return row[0]


def make_cell(items: Sequence[Item]) -> SymbolNode:
    """Link the items of a cell; a comma at its end vanishes."""
    row = list(items)
    if row and row[-1] is not None and row[-1].label == "&comma;":
        row.pop()
    first = (row and row[0]) or SymbolNode("W!")
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


Builder = Callable[[Sequence[Item]], Item]
_ESCAPES = str.maketrans({
    "\t": "\\t", "\n": "\\n", "\r": "\\r", " ": "␣", '"': "&quot;", "'": "&apos;", "?": "&quest;", ",": "&comma;",
    "[": "&lsqb;", "]": "&rsqb;",
})  # fmt: skip
_INVISIBLE = ("\u2061", "\u2062", "\u2063", "\u2064")


def symbol_tree(mathml: str) -> SymbolNode | None:
    """Return the symbol tree of a `math` element, or None; raise UnreadableMathML as the original does."""
    reader = _MathReader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    try:
        parser.Parse(mathml.encode(), True)
    except expat.ExpatError as error:
        raise UnreadableMathML(str(error)) from None
    return reader.items[0] if reader.items else None


class _MathReader:
    """Collects the items of open elements, and builds a node when an element ends: no nesting overflows the stack."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._open: list[tuple[dict[str, str], list[Item], list[str]]] = []
        self._text: list[str] = []
        self._skipped = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element; annotations are skipped whole."""
        if self._skipped or name.rpartition(":")[2] in ("annotation", "annotation-xml"):
            self._skipped += 1
            return
        self._open.append((attributes, self.items, self._text))
        self.items, self._text = [], []

    def data(self, text: str) -> None:
        """Collect text."""
        if not self._skipped:
            self._text.append(text)

    def end(self, name: str) -> None:
        """Build the node of an element and give it to its parent."""
        if self._skipped:
            self._skipped -= 1
            return
        name = name.rpartition(":")[2]
        children, text = self.items, "".join(self._text)
        attributes, self.items, self._text = self._open.pop()
        if name != "mmultiscripts" and PRESCRIPTS in children:
            raise UnreadableMathML(f"prescripts in {name}")
        if name in _TOKENS:
            self.items.append(_token(name, children[0].label if children and children[0] else text))
        elif name in _BUILD:
            self.items.append(_BUILD[name](children))
        elif name in _BUILD_WITH_ATTRIBUTES:
            self.items.append(_BUILD_WITH_ATTRIBUTES[name](children, attributes))
        else:
            raise UnreadableMathML(f"unknown element {name}")


_TOKENS = {"mi": "V!", "mn": "N!", "mo": "", "mtext": "T!", "ms": "T!"}


def _token(name: str, text: str) -> SymbolNode:
    text = text.strip().translate(_ESCAPES)
    if text in _INVISIBLE:
        text = ""
    return SymbolNode(_TOKENS[name] + text if text or name == "mo" else "W!")


def _scripts(on_symbol: str, on_operator: str) -> Builder:
    """Return the builder of a script element from the edges of its scripts on a symbol and on an operator."""

    def build(items: Sequence[Item]) -> Item:
        if len(items) != len(on_symbol) + 1:
            return None
        base, *scripts = _visible(items)
        edges = on_operator if base.is_operator() else on_symbol
        if "n" in base.links or any(edge in base.links for edge in edges):
            base = make_matrix([base])
        for edge, script in zip(edges, scripts, strict=True):
            base.links[edge] = script
        return base

    return build


def _visible(items: Sequence[Item]) -> list[SymbolNode]:
    """Replace items without content by `W!`."""
    return [SymbolNode("W!") if item is None or item.is_invisible() else item for item in items]


def _pair(label: str, edges: str) -> Builder:
    """Return the builder of an element with two parts, a fraction or a root, from the edges of its parts."""
    return lambda items: (
        SymbolNode(label, **dict(zip(edges, _visible(items), strict=True))) if len(items) == 2 else None
    )


def _around(label: str) -> Builder:
    """Return the builder of an element that holds a row within."""
    return lambda items: SymbolNode(label, w=make_row(items))


def _fenced(items: Sequence[Item], attributes: dict[str, str]) -> Item:
    separators = attributes.get("separators", ",").split()
    row = [SymbolNode(attributes.get("open", "(").replace("[", "&lsqb;"))]
    content = [item for item in items if item is not None and not item.is_invisible()]
    if len(content) > 1 and not separators:
        raise UnreadableMathML("mfenced without separators")
    for position, item in enumerate(content):
        if position:
            row.append(SymbolNode(separators[min(position - 1, len(separators) - 1)]))
        row.append(item)
    row.append(SymbolNode(attributes.get("close", ")").replace("]", "&rsqb;")))
    return make_group(row, (*separators, "&comma;") if "," in separators else separators)


def _multiscripts(items: Sequence[Item]) -> Item:
    """Attach pairs of scripts behind and, after `mprescripts`, in front of a base, each side linked in a row."""
    if not items:
        return None
    before = next((place for place, item in enumerate(items) if item is PRESCRIPTS), len(items))
    if before % 2 == 0 or (before < len(items) and len(items) % 2):
        return None
    if PRESCRIPTS in items[before + 1 :]:
        raise UnreadableMathML("prescripts twice")
    base = _visible(items[:1])[0]
    if before > 1:
        _attach_pairs(base, items[1:before], "ba")
    if before < len(items) - 2:
        _attach_pairs(base, items[before + 1 :], "dc")
    return base


def _attach_pairs(base: SymbolNode, scripts: Sequence[Item], edges: str) -> None:
    for edge, chain in zip(edges, (scripts[::2], scripts[1::2]), strict=True):
        if len(chain) == 1:
            base.link(edge, None if chain[0] is None or chain[0].label == "W!" else chain[0])
            continue
        nodes = [node or SymbolNode("W!") for node in chain]
        base.links[edge] = nodes[0]
        for node, following in pairwise(nodes):
            node.links["n"] = following


_BUILD: dict[str, Builder] = {
    **dict.fromkeys(("math", "mrow", "mstyle", "mpadded", "msrow", "mscarries", "maction"), make_row),
    **dict.fromkeys(("mtable", "mstack"), make_matrix),
    **dict.fromkeys(("mtr", "mlabeledtr"), make_matrix_row),
    **dict.fromkeys(("mtd", "mscarry"), make_cell),
    **dict.fromkeys(("none", "mphantom", "mspace"), lambda items: SymbolNode("W!")),
    **dict.fromkeys(("malignmark", "maligngroup"), lambda items: None),
    "semantics": lambda items: items[0] if items else None,
    "mfrac": _pair("F!", "ou"),
    "msqrt": _around("R!"),
    "mroot": _pair("R!", "wc"),
    "merror": _around("E!"),
    "msub": _scripts("b", "u"),
    "msup": _scripts("a", "o"),
    "msubsup": _scripts("ba", "uo"),
    "munder": _scripts("u", "u"),
    "mover": _scripts("o", "o"),
    "munderover": _scripts("uo", "uo"),
    "mmultiscripts": _multiscripts,
    "mprescripts": lambda items: PRESCRIPTS,
    "msline": lambda items: SymbolNode("="),
}
_BUILD_WITH_ATTRIBUTES: dict[str, Callable[[Sequence[Item], dict[str, str]], Item]] = {
    "menclose": lambda items, attributes: SymbolNode(attributes.get("notation", "longdiv"), w=make_row(items)),
    "mfenced": _fenced,
    "mglyph": lambda items, attributes: SymbolNode(attributes.get("src", "")),
    "qvar": lambda items, attributes: SymbolNode("?" + attributes.get("name", "")),
}
