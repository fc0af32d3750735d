"""The boxes of a formula's glyphs: from its layout tree by a small layout model, or from MathJax's SVG where node and
`mathjax` are at hand.

Rows run to the right with space around relations and operators; scripts are .7 as large and shifted up and down; limits
are centred above and below; fractions are centred on a bar, a root has a sign that covers its radicand, brackets grow
with their contents, tables have rows and columns as high and wide as their largest cell. Only relative positions
matter: XYPhoc divides the box of the formula into equal parts."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import as_file, files
from typing import NamedTuple

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.formula.tree import Node, elements_of
from porism.safe_path import program, safe_environment
from porism.systems.documents import ITALIC
from porism.systems.tangent.trees import visual_trees

_FILES = files("porism.systems.xyphoc")
_SCRIPT = _FILES.joinpath("mathjax.js")
RELATIONS = frozenset("=≈≡∼≅≠<>≤≥∈∉⊂⊆⊃⊇→←↔⇒⇐⇔↦⟶⟹⟸⟺∣∥:")
BINARY = frozenset("+−-±∓×÷∗∘⊕⊗∪∩∧∨⋅·*")
_BINARY_SPACE, _RELATION_SPACE, _COMMA_SPACE = 0.22, 0.28, 0.17


class Glyph(NamedTuple):
    """A glyph: its name, which keeps mathematical italic, and its size in em."""

    name: str
    width: float
    height: float
    depth: float


@lru_cache(1)
def _metrics() -> list[tuple[str, float, float, float]]:
    lines = _FILES.joinpath("metrics.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return [(chars, *(int(value) / 100 for value in values)) for chars, *values in rows]  # type: ignore[misc]


@lru_cache(10_000)
def glyph(char: str, italic: bool = False) -> Glyph:
    """Return a glyph. Letters of other alphabets are as large as the plain letter."""
    plain = unicodedata.normalize("NFKC", char)[:1] or char
    sizes = next((row[1:] for row in _metrics() if plain in row[0] or row[0] == "*"), (0.75, 0.7, 0.0))
    return Glyph(char.translate(ITALIC) if italic else char, *sizes)


def glyphs_of(label: str) -> list[Glyph]:
    """Return the glyphs of a symbol, name, number or text: a single letter is italic, names and texts are upright."""
    kind, mark, value = label.partition("!")
    text = value if mark and kind else label
    if kind == "W" and mark:
        return []
    italic = mark == "!" and kind == "V" and len(text) == 1
    return [glyph(char, italic) for char in text if not char.isspace()]


def space_around(label: str) -> tuple[float, float]:
    """Return the space before and after a symbol of a row, in em."""
    if label in RELATIONS:
        return _RELATION_SPACE, _RELATION_SPACE
    if label in BINARY:
        return _BINARY_SPACE, _BINARY_SPACE
    return (0.0, _COMMA_SPACE) if label in (",", ";") else (0.0, 0.0)


SCRIPT, SMALLEST = 0.7, 0.5
_AXIS = 0.25  # height of fraction bars and of the middle of brackets above the baseline
_RULE, _GAP = 0.04, 0.12
_SUP_SHIFT, _SUB_SHIFT = 0.4, 0.2
_COLUMN_GAP, _ROW_GAP = 0.8, 0.3
_ROOT_SIGN = 0.6
MAX_DEPTH = 60  # of nested parts; what is deeper is left out
MAX_GLYPHS = 2000


class GlyphBox(NamedTuple):
    """A glyph with its box; y grows upwards."""

    name: str
    left: float
    bottom: float
    right: float
    top: float


class TypesetPart:
    """A typeset part: boxes relative to the start of its baseline, and its size."""

    __slots__ = ("boxes", "depth", "height", "width")

    def __init__(self) -> None:
        self.boxes: list[GlyphBox] = []
        self.width = self.height = self.depth = 0.0

    def place(self, other: TypesetPart, x: float, y: float) -> None:
        """Add the boxes of another part at a position, and grow."""
        for box in other.boxes:
            self.boxes.append(GlyphBox(box.name, box.left + x, box.bottom + y, box.right + x, box.top + y))
        self.width = max(self.width, x + other.width)
        self.height = max(self.height, other.height + y)
        self.depth = max(self.depth, other.depth - y)


def typeset(layout: Node) -> list[GlyphBox]:
    """Return the boxes of all glyphs of a formula."""
    return _row(layout, 1.0, 0).boxes[:MAX_GLYPHS]


def _row(first: Node | None, scale: float, level: int) -> TypesetPart:
    """Typeset a node and all that follow it on its baseline."""
    row, node = TypesetPart(), first
    while node is not None and level <= MAX_DEPTH and len(row.boxes) < MAX_GLYPHS:
        before, after = (space * scale for space in space_around(node.label)) if row.boxes else (0.0, 0.0)
        row.place(_symbol(node, scale, level), row.width + before, 0.0)
        node = node.child("n")
        if node is not None:
            row.width += after
    return row


def _symbol(node: Node, scale: float, level: int) -> TypesetPart:
    """Typeset a node with its scripts and contents."""
    small = max(SCRIPT * scale, SMALLEST)
    if node.label == "O!divide":
        return _with_scripts(_fraction(node, scale, level), node, "ab", small, level)
    base = _base(node, scale, level)
    over, under = node.child("o"), node.child("u")
    if over is not None or under is not None:
        base = _with_limits(base, over, under, small, level)
    return _with_scripts(base, node, "ab" if node.label == "O!root" else "abcd", small, level)


def _base(node: Node, scale: float, level: int) -> TypesetPart:
    if node.label == "O!root":
        return _root(node, scale, level)
    if node.label.startswith("M!"):
        return _group(node, scale, level)
    part = TypesetPart()
    for shape in glyphs_of(node.label):
        bottom, top = -shape.depth * scale, shape.height * scale
        part.boxes.append(GlyphBox(shape.name, part.width, bottom, part.width + shape.width * scale, top))
        part.width += shape.width * scale
        part.height, part.depth = max(part.height, top), max(part.depth, -bottom)
    inside = node.child("w")
    if inside is not None:  # a frame or stroke around a part has no glyph of its own
        part.place(_row(inside, scale, level + 1), part.width, 0.0)
    return part


def _with_scripts(base: TypesetPart, node: Node, edges: str, small: float, level: int) -> TypesetPart:
    """Attach scripts after the base (a above, b below) and before it (c above, d below)."""
    scripts = {edge: _row(node.child(edge), small, level + 1) for edge in edges if node.child(edge) is not None}
    if not scripts:
        return base
    ahead = max((scripts[edge].width for edge in "cd" if edge in scripts), default=0.0)
    whole = TypesetPart()
    whole.place(base, ahead, 0.0)
    for edge, script in scripts.items():
        x = ahead + base.width if edge in "ab" else ahead - script.width
        if edge in "ac":
            y = max(_SUP_SHIFT * small / SCRIPT, base.height - script.height / 2)
        else:
            y = -max(_SUB_SHIFT * small / SCRIPT, base.depth + script.height / 2 - _GAP)
        whole.place(script, x, y)
    return whole


def _with_limits(base: TypesetPart, over: Node | None, under: Node | None, small: float, level: int) -> TypesetPart:
    """Centre parts above and below the base."""
    above, below = _row(over, small, level + 1), _row(under, small, level + 1)
    width = max(base.width, above.width, below.width)
    whole = TypesetPart()
    whole.place(base, (width - base.width) / 2, 0.0)
    if above.boxes:
        whole.place(above, (width - above.width) / 2, base.height + _GAP + above.depth)
    if below.boxes:
        whole.place(below, (width - below.width) / 2, -(base.depth + _GAP + below.height))
    return whole


def _fraction(node: Node, scale: float, level: int) -> TypesetPart:
    """Centre numerator and denominator on a bar; inside other parts both are smaller."""
    size = scale if level == 0 else max(SCRIPT * scale, SMALLEST)
    over, under = _row(node.child("o"), size, level + 1), _row(node.child("u"), size, level + 1)
    width = max(over.width, under.width, 0.3 * scale) + 2 * _GAP * scale
    axis, gap = _AXIS * scale, _GAP * scale
    whole = TypesetPart()
    whole.boxes.append(GlyphBox("-", 0.0, axis, width, axis + _RULE * scale))
    whole.width = width
    whole.place(over, (width - over.width) / 2, axis + _RULE * scale + gap + over.depth)
    whole.place(under, (width - under.width) / 2, axis - gap - under.height)
    return whole


def _root(node: Node, scale: float, level: int) -> TypesetPart:
    """Put the radicand under a sign that is as wide as both; an index is before it."""
    inside = _row(node.child("w"), scale, level + 1)
    index = _row(node.child("c"), max(SMALLEST * scale, SMALLEST * SCRIPT), level + 1)
    sign, ahead = _ROOT_SIGN * scale, max(index.width - 0.3 * scale, 0.0)
    top, bottom = max(inside.height, 0.6 * scale) + _GAP, -max(inside.depth, 0.1 * scale)
    whole = TypesetPart()
    whole.boxes.append(GlyphBox("√", ahead, bottom, ahead + sign + inside.width, top))
    whole.width, whole.height, whole.depth = ahead + sign + inside.width, top, -bottom
    whole.place(inside, ahead + sign, 0.0)
    if index.boxes:
        whole.place(index, 0.0, top / 2)
    return whole


def _group(node: Node, scale: float, level: int) -> TypesetPart:
    """Typeset a bracketed group or a table with its brackets as high as the contents."""
    head = node.label.rstrip("0123456789x")
    rows, _, columns = node.label[len(head) :].partition("x")
    elements = [_row(element, scale, level + 1) for element in elements_of(node)]
    if rows.isdecimal() and columns.isdecimal() and int(rows) > 1:
        inside = _table(elements, max(int(columns), 1), scale)
    else:
        inside = TypesetPart()
        for at, element in enumerate(elements):
            inside.place(element, inside.width + (0.17 * scale if at else 0.0), 0.0)
    whole = TypesetPart()
    height, depth = max(inside.height, 0.75 * scale), max(inside.depth, 0.25 * scale)
    for place, char in enumerate((head[2:3], head[3:4])):
        if place == 1:
            whole.place(inside, whole.width, 0.0)
        if char:
            shape, start = glyph(char), whole.width
            whole.boxes.append(GlyphBox(shape.name, start, -depth, start + shape.width * scale, height))
            whole.width = start + shape.width * scale
            whole.height, whole.depth = max(whole.height, height), max(whole.depth, depth)
    return whole


def _table(cells: list[TypesetPart], columns: int, scale: float) -> TypesetPart:
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    widths = [max(row[at].width for row in rows if at < len(row)) for at in range(min(columns, len(cells)))]
    heights = [(max(cell.height for cell in row), max(cell.depth for cell in row)) for row in rows]
    total = sum(height + depth for height, depth in heights) + _ROW_GAP * scale * (len(rows) - 1)
    whole = TypesetPart()
    top = total / 2 + _AXIS * scale
    for row, (height, depth) in zip(rows, heights, strict=True):
        x = 0.0
        for cell, width in zip(row, widths, strict=False):
            whole.place(cell, x + (width - cell.width) / 2, top - height)
            x += width + _COLUMN_GAP * scale
        top -= height + depth + _ROW_GAP * scale
    return whole


class FormulaBoxes(NamedTuple):
    """The glyph boxes of one visual id."""

    visual_id: int
    boxes: list[GlyphBox]


def layout_boxes(content: Content) -> Iterator[FormulaBoxes]:
    """Yield the boxes of every visual id by our own layout model."""
    for visual_id, trees, _ in visual_trees(content):
        yield FormulaBoxes(visual_id, typeset(trees.layout))


_FIX = "npm install mathjax@3, set NODE_PATH to its folder node_modules, or use boxes=layout"


def mathjax_digest() -> str:
    """Return the digest of the script, which names what was made with it. Refuse to start without node and mathjax."""
    if program("node") is None:
        raise PorismError("boxes=mathjax needs node, which is not installed", fix="install node, or use boxes=layout")
    if not mathjax_formula("x"):
        raise PorismError("boxes=mathjax needs the npm package mathjax", fix=_FIX)
    return blake2b(_SCRIPT.read_bytes(), digest_size=8).hexdigest()


def mathjax_boxes(content: Content) -> Iterator[FormulaBoxes]:
    """Yield the boxes of every visual id; a formula that MathJax cannot read has none."""
    formulas = [(one.visual_id, one.latex) for one in visual_trees(content)]
    for (visual_id, _), boxes in zip(formulas, _typeset_by_node(latex for _, latex in formulas), strict=True):
        yield FormulaBoxes(visual_id, boxes)


@lru_cache(100)
def mathjax_formula(latex: str) -> list[GlyphBox]:
    """Return the boxes of one formula; none where MathJax cannot read it, or cannot be started."""
    try:
        return next(iter(_typeset_by_node([latex])), [])
    except PorismError:
        return []


def _typeset_by_node(formulas: Iterable[str]) -> Iterator[list[GlyphBox]]:
    """Yield the boxes of formulas, typeset by one process."""
    with as_file(_SCRIPT) as path, tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        lines.writelines(json.dumps(latex) + "\n" for latex in formulas)
        lines.seek(0)
        command, pipe = [program("node") or "node", str(path)], subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, stdin=lines, stdout=pipe, stderr=pipe, text=True, env=safe_environment()
            )
        except OSError as error:
            raise PorismError(f"node cannot be started: {error}", fix=_FIX) from None
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                yield [GlyphBox(*box) for box in json.loads(line)]
            if process.wait() != 0:
                message = process.stderr.read().strip().splitlines() if process.stderr else []
                detail = next((text for text in message if "Error" in text), "node ended with an error")
                raise PorismError(f"MathJax cannot be used: {detail}", fix=_FIX)
