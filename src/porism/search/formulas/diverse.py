"""Different ways of being similar, one after another: of formulas that differ by names and numbers only, the best first, the rest later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from porism.index.analysis.classes import NUMBER, VARIABLE
from porism.search.formulas.alignment import Rows


def rounds(ordered: Sequence[int], rows: Rows) -> list[int]:
    """For each row, in the order given, how many rows of the same shape stand before it."""
    seen: Counter[bytes] = Counter()
    turns: list[int] = []
    for row in ordered:
        shape = _shape(row, rows)
        turns.append(seen[shape])
        seen[shape] += 1
    return turns


def _shape(row: int, rows: Rows) -> bytes:
    """The labels of a row; letters by the order of their first occurrence, numbers alike."""
    start = int(rows.ends[row - 1]) if row else 0
    labels = rows.labels[start : rows.ends[row]]
    letters: dict[int, int] = {}
    shape: list[int] = []
    for label, kind in zip(labels.tolist(), rows.kinds[labels].tolist(), strict=True):
        if kind == VARIABLE:
            shape.append(-2 - letters.setdefault(label, len(letters)))
        else:
            shape.append(-1 if kind == NUMBER else label)
    return repr(shape).encode()
