"""Build the symbol layout tree of clean MathML, the same tree whatever converter wrote the MathML.

A row is a chain over the edge `n`. Converters nest `mrow` in different ways, so rows are flattened and brackets matched
here (`fences`); a script on a closing bracket belongs to the whole bracket group. Labels are those of Tangent-S
(`labels`):

- `O!divide` with `o` and `u`; `O!binom` the same without a line; `O!root` with `w` and perhaps `c` (the index);
- `M!` + fences + rows + `x` + columns: a bracket group (`M!()1x2`, elements split at commas, each comma at the end of
  its element), a table (`M!2x2`, `M!()2x2`, `M!{2x2` for cases), or `M!1x1` around a base of several symbols; the first
  element is attached by `w`, each of the others by `e` to the one before;
- scripts on a symbol are `a` and `b`, on an operator `o` and `u`, in front `c` and `d`; accents and braces are `o` and
  `u`;
- `O!` + notation for a box or a strike, `W!` for nothing (an empty cell or base), `E!` for what could not be parsed.

The text is scanned once and a node is made when its element ends, so no depth of nesting can overflow the stack."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from porism.formula.layout.fences import command_label, group, group_whole
from porism.formula.layout.labels import BARS, is_operator, token_labels
from porism.formula.tree import Node, attach, chain, link_elements

MAX_DEPTH = 100
MAX_ELEMENTS = 8000
TOO_MANY = f"more than {MAX_ELEMENTS:,} symbols"

# A start or end tag and the text after it, with the end tag of a token.
_scan = re.compile(r"<(/?[a-z]+)([^>]*)>([^<]*)(?:</m(?:[ion]|text|s)>)?").findall
_name = re.compile(r"/?[a-z]+").match
_TOKENS = frozenset(("mi", "mo", "mn", "mtext", "ms"))
# Elements whose children are arguments, not a row.
_WITH_ARGUMENTS = frozenset(
    (
        "msub", "msup", "msubsup", "munder", "mover", "munderover", "mfrac", "mroot", "mmultiscripts", "mtable",
        "mtr", "mlabeledtr",
    )
)  # fmt: skip
_TOKEN_ENDS = frozenset(f"/{name}" for name in _TOKENS)
_PRESCRIPTS: list[Node] = []
TOKEN: Final = 0
START: Final = 1
END: Final = 2
NO_TAG: Final = 3
OPEN_TAG: Final = 4

Row = list[Node]


class TooLarge(Exception):
    """The formula is too long or too deeply nested; the caller makes it opaque."""


def layout_tree(mathml: str) -> Node:
    """Return the layout tree of clean MathML; `W!` when nothing is visible."""
    if len(mathml) > 4 * MAX_ELEMENTS and mathml.count("<") > 2 * MAX_ELEMENTS:
        raise TooLarge(TOO_MANY)
    stack: list[tuple[_Piece, int, list, bool]] = []  # type: ignore[type-arg]
    items: list = []  # type: ignore[type-arg]
    arguments = False
    place = -1
    merged = 0  # symbols that converters wrote into one element with others
    for piece in _pieces_of(mathml):
        kind = piece.kind
        if kind == TOKEN:
            place += 1
            labels = piece.labels
            if len(labels) == 1:
                node = Node(labels[0], None, "", (place,))
                items.append([node] if arguments else node)
            else:
                merged += len(labels)
                if merged > MAX_ELEMENTS:
                    raise TooLarge(TOO_MANY)
                row = [Node(label, None, "", (place,)) for label in labels]
                if arguments:
                    items.append(row)
                else:
                    items += row
        elif kind == START:
            place += 1
            if piece.attributes[-1:] == "/":
                if arguments:
                    items.append(_PRESCRIPTS if piece.name == "mprescripts" else [])
            else:
                stack.append((piece, place, items, arguments))
                items = []
                arguments = piece.has_arguments
        elif stack:
            began, start, outer, arguments = stack.pop()
            finish = _FINISH.get(began.name)
            row = items if finish is None else finish(items, start, began.attributes)
            items = outer
            if arguments:
                items.append(row)
            else:
                items += row
    row = group(items)
    root = chain(row) if row else Node("W!", places=(0,))
    # A level of nesting takes at least one element.
    if place > MAX_DEPTH and _nesting(root) > MAX_DEPTH:
        raise TooLarge(f"nested deeper than {MAX_DEPTH} levels")
    return root


class _Piece:
    """A tag and the text up to the next tag: kind, name and attributes of the element, labels of a token."""

    __slots__ = ("attributes", "ends_token", "has_arguments", "kind", "labels", "name")

    def __init__(self, kind: int, name: str, attributes: str, labels: tuple[str, ...]) -> None:
        self.kind = kind
        self.name = name
        self.attributes = attributes
        self.labels = labels
        self.has_arguments = name in _WITH_ARGUMENTS
        self.ends_token = name in _TOKEN_ENDS and not attributes


_NO_PIECE = _Piece(NO_TAG, "", "", ())
_OPEN_PIECE = _Piece(OPEN_TAG, "", "", ())
# Nearly all pieces of a formula occur in others, too.
_known: dict[str, _Piece] = {}
_MAX_KNOWN = 50_000
_LONGEST = 64


def _pieces_of(mathml: str) -> list[_Piece]:
    """Return the tags with the texts after them, without the end tags of tokens."""
    pieces: list[_Piece] = []
    known = _known
    inside = False  # a tag is open, which may be that of a token
    texts = mathml.split("<")
    del texts[0]
    for text in texts:
        piece = known.get(text)
        if piece is None:
            piece = _read_piece(text)
            if piece.kind == OPEN_TAG:  # what follows may belong to its attributes
                return [_make_piece(name, attributes, after) for name, attributes, after in _scan(mathml)]
        if piece.kind == NO_TAG or (inside and piece.ends_token):
            inside = False
        else:
            inside = True
            pieces.append(piece)
    return pieces


def _read_piece(text: str) -> _Piece:
    """Read what follows a `<`."""
    name = _name(text)
    if name is None:
        return _NO_PIECE
    head, bracket, after = text.partition(">")
    if not bracket:
        return _OPEN_PIECE
    piece = _make_piece(name[0], head[name.end() :], after)
    if len(text) < _LONGEST:
        if len(_known) > _MAX_KNOWN:
            _known.clear()
        _known[text] = piece
    return piece


def _make_piece(name: str, attributes: str, text: str) -> _Piece:
    if name in _TOKENS:
        return _Piece(TOKEN, name, attributes, token_labels(name, text))
    return _Piece(END if name[0] == "/" else START, name, attributes, ())


def _nesting(root: Node) -> int:
    """Return the largest number of edges other than `n` and `e` between the root and a node."""
    deepest, stack = 0, [(root, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        for edge, child in zip(node.edges, node.children, strict=True):
            stack.append((child, depth if edge in "ne" else depth + 1))
    return deepest


def _line(row: Row) -> Node:
    """Link a row to one chain; `W!` when it is empty."""
    if len(row) > 1:
        row = group(row)
    return chain(row) if row else Node("W!")


_NO_LINE = re.compile(r'linethickness="0(?:\.0*)?[a-z%]*"')


def _fraction(rows: list[Row], place: int, attributes: str) -> Row:
    if len(rows) != 2:
        return _as_row(rows)
    label = "O!binom" if "linethickness" in attributes and _NO_LINE.search(attributes) else "O!divide"
    return [Node(label, [_line(rows[0]), _line(rows[1])], "ou", (place,))]


def _root(rows: list[Row], place: int, attributes: str) -> Row:
    if len(rows) != 2:
        return _as_row(rows)
    return [Node("O!root", [_line(rows[1]), _line(rows[0])], "cw", (place,))]


# The edges for the scripts of each element: on a symbol, on an operator, on a name of several letters (`lim`).
_AS_WRITTEN = {"msub": "b", "msup": "a", "msubsup": "ba", "munder": "u", "mover": "o", "munderover": "uo"}
_ON_OPERATOR = {"msub": "u", "msup": "o", "msubsup": "uo", "munder": "u", "mover": "o", "munderover": "uo"}
_ON_NAME = {"msub": "b", "msup": "a", "msubsup": "ba", "munder": "b", "mover": "a", "munderover": "ba"}


def _scripts(tag: str) -> Callable[[list[Row], int, str], Row]:
    """Return the function for the end of a script element."""
    written, on_operator, on_name = _AS_WRITTEN[tag], _ON_OPERATOR[tag], _ON_NAME[tag]
    count = len(written) + 1

    def finish(rows: list[Row], place: int, attributes: str) -> Row:
        if len(rows) != count:
            return _as_row(rows)
        base = group(rows[0])
        scripts = [group(row) for row in rows[1:]]
        if not any(scripts):
            return base
        before, node = _base_of(base)
        label = node.label
        edges = on_operator if is_operator(label) else on_name if label[0] == "V" and len(label) > 3 else written
        if node.edges and any(edge in node.edges for edge, row in zip(edges, scripts, strict=True) if row):
            node, edges = Node("M!1x1", [node], "w"), written
        for edge, row in zip(edges, scripts, strict=True):
            if row:
                attach(node, edge, chain(row))
        return [*before, node]

    return finish


# A script on one of these belongs to it alone, even when a converter wraps what precedes it (`\left. x \right|_0`,
# `n!^2`).
_POSTFIX = BARS | {"∣", "!"}


def _base_of(row: Row) -> tuple[Row, Node]:
    """Return the one node that the scripts of a row are attached to, and what stays before it."""
    if not row:
        return row, Node("W!")
    if len(row) == 1 or row[-1].label in _POSTFIX:
        return row[:-1], row[-1]
    return [], Node("M!1x1", [chain(row)], "w")


def _multiscripts(rows: list[Row], place: int, attributes: str) -> Row:
    if not rows:
        return []
    before, node = _base_of(group(rows[0]))
    edges, at = ("uo" if is_operator(node.label) else "ba"), 0
    for row in rows[1:]:
        if row is _PRESCRIPTS:
            edges, at = "dc", 0
            continue
        edge = edges[at % 2]
        at += 1
        script = group(row)
        if script:
            if edge in node.edges:
                node = Node("M!1x1", [node], "w")
            attach(node, edge, chain(script))
    return [*before, node]


def _cell(row: Row, place: int, attributes: str) -> Row:
    # An escaped `&amp;` between cells leaves `amp;` at the start of one.
    if len(row) > 3 and row[0].label == "V!a" and [node.label for node in row[1:4]] == ["V!m", "V!p", ";"]:
        row = row[4:]
    return [_line(row)]


def _table(rows: list[Row], place: int, attributes: str) -> Row:
    # Converters differ in the empty rows and columns at the end of a table.
    while len(rows) > 1 and all(map(_empty, rows[-1])):
        rows.pop()
    wide = max((at + 1 for row in rows for at, node in enumerate(row) if not _empty(node)), default=1)
    cells = [row[at] if at < len(row) else Node("W!") for row in rows for at in range(wide)]
    table = Node(f"M!{max(len(rows), 1)}x{wide}", None, "", (place,))
    link_elements(table, cells or [Node("W!")])
    return [table]


def _empty(node: Node) -> bool:
    return node.label == "W!" and not node.children


def _enclosed(row: Row, place: int, attributes: str) -> Row:
    found = re.search(r'notation="(\w+)', attributes)
    return [Node("O!" + (found[1] if found else "longdiv"), [_line(row)], "w", (place,))]


def _error(row: Row, place: int, attributes: str) -> Row:
    """Label a command that the converter did not know: perhaps math-core knows it, else it is a symbol of that name."""
    text = "".join(node.label.removeprefix("T!") for node in row)
    return [Node(command_label(text) if text[:1] == "\\" else "E!" + text, None, "", (place,))]


def _nothing(row: Row, place: int, attributes: str) -> Row:
    return []


def _as_row(rows: list[Row]) -> Row:
    """Read an element with the wrong number of arguments as a row."""
    return [node for row in rows for node in row]


_FINISH: dict[str, Callable[..., Row]] = {
    **{tag: _scripts(tag) for tag in _AS_WRITTEN},
    "mrow": lambda row, place, attributes: group_whole(row),
    "mfrac": _fraction,
    "msqrt": lambda row, place, attributes: [Node("O!root", [_line(row)], "w", (place,))],
    "mroot": _root,
    "mmultiscripts": _multiscripts,
    "mtable": _table,
    "mtr": lambda rows, place, attributes: [_line(row) for row in rows],
    "mtd": _cell,
    "menclose": _enclosed,
    "merror": _error,
    "mphantom": _nothing,
    "mspace": _nothing,
    "none": _nothing,
    "mprescripts": lambda row, place, attributes: _PRESCRIPTS,
}
