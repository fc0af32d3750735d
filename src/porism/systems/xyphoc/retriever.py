"""XYPhoc: formulas by the cosine of their symbols' region vectors, over an inverted index by symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from porism.compiled import compiled
from porism.corpus.content import Content
from porism.formula import Parsed
from porism.progress import Progress
from porism.records import Explanation
from porism.search.retriever import Ranking
from porism.systems.arrays import Array, Codes, Floats, Ints, Singles, Small, open_arrays, save_arrays, starts_of
from porism.systems.declared.context import SystemContext
from porism.systems.tangent.trees import TreeRetriever, reads_official
from porism.systems.xyphoc import boxes as glyphs
from porism.systems.xyphoc.boxes import FormulaBoxes, GlyphBox, typeset


class Levels(NamedTuple):
    """The highest level of columns, rows and ellipses; 0 or 1 leaves a kind out."""

    columns: int
    rows: int
    ellipses: int = 0

    @property
    def bits(self) -> int:
        """The number of bits of one symbol."""
        return 1 + sum(level * (level + 1) // 2 - 1 for level in self if level > 1)


class Boxes(NamedTuple):
    """Glyphs of many formulas: formula i has those from `starts[i]` to `starts[i + 1]`, each with the id of its name
    and a box (left, bottom, right, top)."""

    starts: Ints
    names: Small
    places: Singles


def region_bits(boxes: Boxes, levels: Levels) -> Codes:
    """Return the regions of each glyph as bits."""
    out = np.zeros(len(boxes.names), np.uint64)
    _fill_bits(boxes, levels.columns, levels.rows, levels.ellipses, out)
    return out


@compiled
def _fill_bits(boxes: Boxes, columns: int, rows: int, ellipses: int, out: Array) -> None:
    for formula in range(len(boxes.starts) - 1):
        begin, end = boxes.starts[formula], boxes.starts[formula + 1]
        if begin == end:
            continue
        left, bottom = boxes.places[begin:end, 0].min(), boxes.places[begin:end, 1].min()
        width = max(boxes.places[begin:end, 2].max() - left, 1e-6)
        height = max(boxes.places[begin:end, 3].max() - bottom, 1e-6)
        for at in range(begin, end):
            place = boxes.places[at]
            start, stop = (place[0] - left) / width, (place[2] - left) / width
            middle = ((place[1] + place[3]) / 2 - bottom) / height
            out[at] = _bits(start, stop, middle, columns, rows, ellipses)


@compiled
def _bits(start: float, stop: float, middle: float, columns: int, rows: int, ellipses: int) -> Any:
    """Return the bits of a line from `start` to `stop` at the height `middle`, all relative to the formula's box."""
    bits, bit = np.uint64(1), 1
    for level in range(2, columns + 1):
        first, last = _part(start, level), max(_part(stop - 1e-6, level), _part(start, level))
        for region in range(first, last + 1):
            bits |= np.uint64(1) << np.uint64(bit + region)
        bit += level
    for level in range(2, rows + 1):
        bits |= np.uint64(1) << np.uint64(bit + _part(middle, level))
        bit += level
    # Distance from the centre, 1 on the ellipse that touches the box: the nearest and the farthest point of the line.
    across = 2 * abs(middle - 0.5)
    ends = max(abs(2 * start - 1), abs(2 * stop - 1))
    near_x = 0.0 if start <= 0.5 <= stop else min(abs(2 * start - 1), abs(2 * stop - 1))
    near, far = np.sqrt(near_x**2 + across**2), np.sqrt(ends**2 + across**2)
    for level in range(2, ellipses + 1):
        for region in range(level):  # 0 is outside of the largest ellipse, the last is the disc in the middle
            outer = np.inf if region == 0 else (level - region) / level
            inner = (level - region - 1) / level if region < level - 1 else -1.0
            if near < outer and far > inner:
                bits |= np.uint64(1) << np.uint64(bit + region)
        bit += level
    return bits


@compiled
def _part(value: float, level: int) -> int:
    """Return the number of the equal part in which a value between 0 and 1 is."""
    return min(max(int(value * level), 0), level - 1)


class BoxStore(NamedTuple):
    """The glyph boxes of all visual ids, and the names of glyphs by their ids."""

    visuals: Ints
    boxes: Boxes
    names: list[str]


class SymbolIndex(NamedTuple):
    """Posting lists: symbol s is in the formulas at `starts[s]` to `starts[s + 1]`, with its regions as bits."""

    starts: Ints
    formulas: Small
    bits: Codes
    frequencies: Ints


class SymbolBits(NamedTuple):
    """The symbols of one formula by name, each with its regions as bits."""

    names: list[str]
    bits: Codes


def write_boxes(
    content: Content, made: Callable[[Content], Iterator[FormulaBoxes]], progress: Progress, folder: Path
) -> None:
    """Write the glyph boxes of a collection to a folder."""
    ids: dict[str, int] = {}
    visuals, starts = [], [0]
    names: list[int] = []
    places: list[tuple[float, ...]] = []
    with progress.stage("glyph boxes", content.count("visuals")) as advance:
        for visual_id, boxes in made(content):
            visuals.append(visual_id)
            names += (ids.setdefault(box.name, len(ids)) for box in boxes)
            places += (box[1:] for box in boxes)
            starts.append(len(names))
            advance(1)
    np.save(folder / "visuals.npy", np.array(visuals, np.int64))
    sides = np.array(places, np.float32).reshape(-1, 4)
    save_arrays(folder, Boxes(np.array(starts, np.int64), np.array(names, np.int32), sides))
    (folder / "names.txt").write_bytes("\0".join(ids).encode("utf-8", "surrogatepass"))


def index_symbols(store: BoxStore, levels: Levels) -> SymbolIndex:
    """Invert the region bits of a collection's glyphs; the glyphs of one symbol are united."""
    bits = region_bits(store.boxes, levels)
    owners = np.repeat(np.arange(len(store.visuals), dtype=np.int64), np.diff(store.boxes.starts))
    names = np.asarray(store.boxes.names, np.int64)
    order = np.lexsort((owners, names))
    keys = names[order] * max(len(store.visuals), 1) + owners[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    united = np.bitwise_or.reduceat(bits[order], first) if len(first) else bits
    frequencies = np.bincount(names[order][first], minlength=len(store.names))
    return SymbolIndex(starts_of(frequencies), owners[order][first].astype(np.int32), united, frequencies)


def symbol_bits(boxes: list[GlyphBox], levels: Levels) -> SymbolBits:
    """Return the bits of one formula's symbols."""
    ids: dict[str, int] = {}
    names = np.array([ids.setdefault(box.name, len(ids)) for box in boxes], np.int32)
    places = np.array([box[1:] for box in boxes], np.float32).reshape(-1, 4)
    bits = region_bits(Boxes(np.array([0, len(boxes)]), names, places), levels)
    united = np.zeros(len(ids), np.uint64)
    np.bitwise_or.at(united, names, bits)
    return SymbolBits(list(ids), united)


@compiled
def add_overlap(bits: Any, weight: float, formulas: Array, others: Array, out: Array) -> None:
    """Add the weighted number of common regions to each formula of a posting list."""
    for at in range(len(formulas)):
        out[formulas[at]] += weight * count_bits(bits & others[at])


@compiled
def count_bits(bits: Any) -> int:
    """Return the number of bits that are set."""
    found = 0
    while bits:
        bits &= bits - np.uint64(1)
        found += 1
    return found


@compiled
def squared_lengths(index: SymbolIndex, weights: Array, out: Array) -> None:
    """Add the squared length of each formula's vector."""
    for symbol in range(len(weights)):
        for at in range(index.starts[symbol], index.starts[symbol + 1]):
            out[index.formulas[at]] += weights[symbol] * count_bits(index.bits[at])


Source = Literal["layout", "mathjax"]


class PhocSearch(TreeRetriever):
    """Formulas whose symbols are at the same places, by the cosine of region vectors. `columns`, `rows` and `ellipses`
    are the highest levels; `boxes` says where glyph boxes come from: our own layout model, or MathJax's SVG, which
    needs node and the npm package mathjax."""

    def __init__(
        self,
        context: SystemContext,
        columns: int = 7,
        rows: int = 7,
        ellipses: int = 4,
        idf: bool = False,
        boxes: Source = "layout",
    ) -> None:
        super().__init__(reads_official(context.content))
        key, made = "layout", glyphs.layout_boxes
        if boxes == "mathjax":
            key, made = glyphs.mathjax_digest(), glyphs.mathjax_boxes
        build = partial(write_boxes, context.content, made, context.progress)
        folder = context.cached("glyph-boxes", key, build, ("porism.systems.xyphoc.boxes",))
        texts = (folder / "names.txt").read_bytes().decode("utf-8", "surrogatepass").split("\0")
        store = BoxStore(np.load(folder / "visuals.npy", mmap_mode="r"), open_arrays(folder, Boxes), texts)
        self._store, self._levels, self._source = store, Levels(columns, rows, ellipses), boxes
        self._index = index_symbols(store, self._levels)
        self._symbols = {name: at for at, name in enumerate(store.names)}
        size, known = len(store.visuals), self._index.frequencies
        weights = np.log(max(size, 1) / np.maximum(known, 1)) if idf else np.ones(len(known))
        self._unknown = float(np.log(max(size, 2))) if idf else 1.0  # a symbol that no formula has
        self._weights = np.asarray(weights**2)
        lengths = np.zeros(size)
        squared_lengths(self._index, self._weights, lengths)
        self._lengths = np.sqrt(lengths)
        self.notes = ("glyph boxes: " + ("our own layout model" if boxes == "layout" else "MathJax's SVG"),)

    def ranked(self, formula: Parsed, k: int) -> Ranking:
        """Return the formulas with a symbol in the same region."""
        scores = sum((scores for _, scores in self._overlaps(formula)), np.zeros(len(self._store.visuals)))
        found = np.flatnonzero(scores)
        return Ranking.sorted(self._store.visuals[found], scores[found])

    def _overlaps(self, formula: Parsed) -> list[tuple[str, Floats]]:
        """Return what each symbol of the query adds to each formula's cosine."""
        boxes = typeset(formula.layout) if self._source == "layout" else glyphs.mathjax_formula(formula.latex)
        query = symbol_bits(boxes, self._levels)
        numbers = [self._symbols.get(name, -1) for name in query.names]
        weights = [float(self._weights[number]) if number >= 0 else self._unknown**2 for number in numbers]
        length = np.sqrt(sum(weight * count_bits(bits) for weight, bits in zip(weights, query.bits, strict=True)))
        found = []
        for name, number, weight, bits in zip(query.names, numbers, weights, query.bits, strict=True):
            common = np.zeros(len(self._store.visuals))
            if number >= 0:
                place = slice(int(self._index.starts[number]), int(self._index.starts[number + 1]))
                add_overlap(bits, weight, self._index.formulas[place], self._index.bits[place], common)
            found.append((name, common / np.maximum(self._lengths * length, 1e-12)))
        return found

    def explained(self, formula: Parsed, id: int) -> Explanation | None:
        """Return what each symbol adds to the cosine."""
        rows = np.flatnonzero(self._store.visuals == id)
        if not len(rows):
            return None
        overlaps = self._overlaps(formula)
        parts = (Explanation(float(scores[rows[0]]), f"regions of {name} in common") for name, scores in overlaps)
        return Explanation.total("cosine of symbol positions", parts)
