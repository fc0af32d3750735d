"""XY-PHOC vectors of typeset formulas, and an index of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.corpus.content import Content
from porism.progress import Progress
from porism.systems.tangent.trees import visual_trees
from porism.systems.xyphoc.typeset import GlyphBox, typeset


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

    starts: npt.NDArray[np.int64]
    names: npt.NDArray[np.int32]
    places: npt.NDArray[np.float32]


def region_bits(boxes: Boxes, levels: Levels) -> npt.NDArray[np.uint64]:
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


Array = npt.NDArray[Any]


class FormulaBoxes(NamedTuple):
    """The glyph boxes of one visual id."""

    visual_id: int
    boxes: list[GlyphBox]


class BoxStore(NamedTuple):
    """The glyph boxes of all visual ids, and the names of glyphs by their ids."""

    visuals: npt.NDArray[np.int64]
    boxes: Boxes
    names: list[str]


class SymbolIndex(NamedTuple):
    """Posting lists by symbol: symbol s is in the formulas at `starts[s]` to `starts[s + 1]`, with its regions as
    bits."""

    starts: npt.NDArray[np.int64]
    formulas: npt.NDArray[np.int32]
    bits: npt.NDArray[np.uint64]
    frequencies: npt.NDArray[np.int64]


class SymbolBits(NamedTuple):
    """The symbols of one formula by name, each with its regions as bits."""

    names: list[str]
    bits: npt.NDArray[np.uint64]


def layout_boxes(content: Content) -> Iterator[FormulaBoxes]:
    """Yield the boxes of every visual id by our own layout model."""
    for visual_id, trees, _ in visual_trees(content):
        yield FormulaBoxes(visual_id, typeset(trees.layout))


def write_boxes(formulas: Iterable[FormulaBoxes], total: int, progress: Progress, folder: Path) -> None:
    """Write glyph boxes to a folder."""
    ids: dict[str, int] = {}
    visuals, starts = [], [0]
    names: list[int] = []
    places: list[tuple[float, ...]] = []
    with progress.stage("glyph boxes", total) as advance:
        for visual_id, boxes in formulas:
            visuals.append(visual_id)
            for box in boxes:
                names.append(ids.setdefault(box.name, len(ids)))
                places.append(box[1:])
            starts.append(len(names))
            advance(1)
    np.save(folder / "visuals.npy", np.array(visuals, np.int64))
    np.save(folder / "starts.npy", np.array(starts, np.int64))
    np.save(folder / "names.npy", np.array(names, np.int32))
    np.save(folder / "places.npy", np.array(places, np.float32).reshape(-1, 4))
    (folder / "names.txt").write_bytes("\0".join(ids).encode("utf-8", "surrogatepass"))


def read_boxes(folder: Path) -> BoxStore:
    """Open glyph boxes that `write_boxes` wrote."""
    starts, names, places, visuals = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("starts", "names", "places", "visuals")
    )
    texts = (folder / "names.txt").read_bytes().decode("utf-8", "surrogatepass").split("\0")
    return BoxStore(visuals, Boxes(starts, names, places), texts)


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
    starts = np.concatenate(([0], np.cumsum(frequencies)))
    return SymbolIndex(starts, owners[order][first].astype(np.int32), united, frequencies)


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
