"""Pyramidal histograms of symbols, compiled: in which regions of a formula's box each symbol occurs.

The box of the formula is divided into equal columns (levels 2 to x), equal rows (2 to y) and concentric ellipses (2 to o); level n has n regions. One
more bit says that the symbol occurs at all. A glyph is in a region if the horizontal line through the middle of its box meets the region, so
that a wide symbol is in several columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled

Array = npt.NDArray[Any]


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
    """Glyphs of many formulas: formula i has those from `starts[i]` to `starts[i + 1]`, each with the id of its name and a box
    (left, bottom, right, top)."""

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
