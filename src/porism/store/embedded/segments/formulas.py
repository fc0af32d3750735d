"""`FormulaStore` over the formulas of several segments. A visual id that is not deleted is in exactly one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FORMULA_FAMILIES
from porism.compiled import compiled
from porism.store.embedded.formulas.store import EmbeddedFormulas, inverse_frequency, label_weights
from porism.store.embedded.segments.term_index import RowMap, SegmentedTermIndex
from porism.store.records import UNKNOWN, Formulas, Ints, PathRows, SymbolSequences

Labels = npt.NDArray[np.int32]


class _FormulaPart(NamedTuple):
    """Formulas of one segment within a batch: their positions in the batch, the formulas, and the labels of the index
    by local label."""

    positions: Ints
    formulas: Formulas
    labels: Labels


class SegmentedFormulas:
    """The formulas of several segments, in the order of visual ids."""

    def __init__(self, segments: Sequence[EmbeddedFormulas]) -> None:
        self._segments = segments
        self._rows = RowMap([one.all_visual_ids for one in segments], [one.deleted for one in segments])
        row_map = self._rows  # not `self`, which would make a cycle that keeps files open
        self.terms = SegmentedTermIndex([one.terms for one in segments], FORMULA_FAMILIES, lambda _: row_map)
        self.labels: dict[str, int] = {}
        self._label_ids = [
            np.array([self.labels.setdefault(label, len(self.labels)) for label in one.labels], np.int32)
            for one in segments
        ]
        self.layout_weights = self._weights(lambda one: one.label_counts.layout)
        self.operator_weights = self._weights(lambda one: one.label_counts.operators)
        self._path_groups = sum(one.path_group_count for one in segments)
        self._visual_ids = np.empty(len(self._rows), np.int64)
        for number, one in enumerate(segments):
            rows = self._rows.number(number, np.arange(len(one.all_visual_ids)))
            self._visual_ids[rows[rows >= 0]] = one.all_visual_ids[rows >= 0]

    def _weights(self, counts: Callable[[EmbeddedFormulas], Ints]) -> npt.NDArray[np.float64]:
        total = np.zeros(len(self.labels), np.int64)
        for ids, one in zip(self._label_ids, self._segments, strict=True):
            total[ids] += counts(one)
        return label_weights(total, self.formulas)

    @property
    def formulas(self) -> int:
        """The number of formulas."""
        return len(self._rows)

    @property
    def unseen_label_weight(self) -> float:
        """The weight of a label that no formula has."""
        return float(label_weights([0], self.formulas)[0])

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        """Return ln(all path groups / path groups with this key) for each key. An unseen key counts as seen once."""
        groups = np.zeros(len(keys), np.int64)
        for one in self._segments:
            groups += one.path_groups(keys)
        return inverse_frequency(groups, self._path_groups)

    def fetch(self, rows: Ints, records: Any = None) -> Formulas:
        """Return formulas in one batch. Their symbols and paths are copied where they are not all in the first
        segment."""
        parts = []
        for number, positions, own in self._rows.split(rows):
            if not number and len(own) == len(rows):
                return self._segments[0].fetch(own, records)._replace(numbers=rows)
            parts.append(_FormulaPart(positions, self._segments[number].fetch(own), self._label_ids[number]))
        if not parts:
            return self._segments[0].fetch(rows, records)
        layout = _gather(parts, lambda one: one.layout, ("edges",), len(rows))
        operators = _gather(parts, lambda one: one.operators, (), len(rows))
        paths = _gather(parts, lambda one: one.paths, ("above", "keys"), len(rows))
        leaves = np.empty(len(rows), np.int32)
        for part in parts:
            leaves[part.positions] = part.formulas.paths.leaves
        no_edges = np.empty(0, np.uint8)
        return Formulas(
            rows,
            self.visual_ids(rows),
            SymbolSequences(layout.starts, layout.ends, layout.labels, layout.others[0]),
            SymbolSequences(operators.starts, operators.ends, operators.labels, no_edges),
            PathRows(paths.starts, paths.ends, paths.others[0], paths.others[1], paths.labels, leaves),
            records,
        )

    def trees(self, rows: Sequence[int]) -> list[bytes]:
        """Return the packed trees of formulas."""
        return self._each(rows, lambda segment, own: segment.trees(own))

    def latex(self, rows: Sequence[int]) -> list[str]:
        """Return the LaTeX of formulas."""
        return self._each(rows, lambda segment, own: segment.latex(own))

    def _each(self, rows: Sequence[int], read: Callable[[EmbeddedFormulas, list[int]], list[Any]]) -> list[Any]:
        found: list[Any] = [None] * len(rows)
        for number, positions, own in self._rows.split(np.array(rows, np.int64)):
            for at, value in zip(positions.tolist(), read(self._segments[number], own.tolist()), strict=True):
                found[at] = value
        return found

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""
        return self._visual_ids[rows]

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that the index lacks."""
        held = self._visual_ids
        if not len(held):
            return np.full(len(visual_ids), UNKNOWN, np.int64)
        at = np.minimum(np.searchsorted(held, visual_ids), len(held) - 1)
        return np.where(held[at] == visual_ids, at, UNKNOWN)

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of the sub-expressions of expressions. An expression is in the last segment that starts at
        or before its id."""
        found = []
        for expression in expressions:
            number = max(at for at, one in enumerate(self._segments) if one.first_expression <= max(expression, 1))
            own = np.array(self._segments[number].part_codes([expression])[0], np.int64)
            found.append(self.terms.codes["parts"].to_index(number, own).tolist())
        return found


class _Gathered(NamedTuple):
    """Spans of a batch in new columns: labels, and other columns."""

    starts: Ints
    ends: Ints
    labels: Labels
    others: list[npt.NDArray[Any]]


def _gather(
    parts: Sequence[_FormulaPart], read: Callable[[Formulas], Any], names: Sequence[str], size: int
) -> _Gathered:
    """Copy the spans of all parts into new columns, with the labels of the index."""
    sizes = np.zeros(size, np.int64)
    for part in parts:
        sizes[part.positions] = read(part.formulas).ends - read(part.formulas).starts
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if size else 0
    labels = np.empty(total, np.int32)
    others = [np.empty(total, getattr(read(parts[0].formulas), name).dtype) for name in names] if parts else []
    for part in parts:
        own, targets = read(part.formulas), (ends - sizes)[part.positions]
        _copy_labels(own.starts, own.ends, own.labels, part.labels, targets, labels)
        for name, column in zip(names, others, strict=True):
            _copy_spans(own.starts, own.ends, getattr(own, name), targets, column)
    return _Gathered(ends - sizes, ends, labels, others)


@compiled
def _copy_labels(starts: Any, ends: Any, labels: Any, mapping: Any, targets: Any, out: Any) -> None:
    for row in range(len(starts)):
        for at in range(ends[row] - starts[row]):
            out[targets[row] + at] = mapping[labels[starts[row] + at]]


@compiled
def _copy_spans(starts: Any, ends: Any, values: Any, targets: Any, out: Any) -> None:
    for row in range(len(starts)):
        for at in range(ends[row] - starts[row]):
            out[targets[row] + at] = values[starts[row] + at]
