"""An index of formulas in memory, over plain lists. It says what the embedded one computes, and tests compare the
two."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.features import Features
from porism.analysis.schema import FORMULA_FAMILIES
from porism.corpus.content import Content
from porism.store.embedded.formulas.store import label_weights
from porism.store.memory.posts import ExpressionFeatures, MemoryPost, MemoryTermIndex, numbered
from porism.store.records import UNKNOWN, Floats, Formulas, Ints, PathRows, SymbolSequences


class MemoryFormulas:
    """The distinct formulas of a collection, in the order of visual ids."""

    def __init__(self, content: Content, features: ExpressionFeatures) -> None:
        self._visuals = sorted({one.visual_id for one in content.occurrences()})
        self._row_of = {number: row for row, number in enumerate(self._visuals)}
        visuals = content.visuals_by_id(self._visuals)
        own = [visuals[number].expression_id for number in self._visuals]
        self._parts = {number: terms["parts"] for number, terms in features.terms.items()}
        self._expressions = [features.expressions[number] for number in own]
        self._features = [features.features[number] for number in own]
        self.terms = MemoryTermIndex({"formula": [[_document(row, one)] for row, one in enumerate(self._features)]})
        self.labels: Mapping[str, int] = numbered(
            label for found in self._features for label in (*found.layout.labels, *found.operators.labels)
        )
        self.layout_weights = self._weights(lambda found: found.layout.labels)
        self.operator_weights = self._weights(lambda found: found.operators.labels)
        self._path_groups = Counter(key for found in self._features for _, key in _path_groups(found))

    @property
    def formulas(self) -> int:
        """The number of formulas."""
        return len(self._visuals)

    def _weights(self, labels: Callable[[Features], Sequence[str]]) -> Floats:
        counts = Counter(label for found in self._features for label in set(labels(found)))
        return label_weights([counts[label] for label in self.labels], self.formulas)

    @property
    def unseen_label_weight(self) -> float:
        """The weight of a label that no formula has."""
        return float(label_weights([0], self.formulas)[0])

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> Floats:
        """Return ln(all path groups / path groups with this key) for each key."""
        if not self._path_groups:
            return np.ones(len(keys))
        total = self._path_groups.total()
        return np.array([math.log(total / max(1, self._path_groups[key])) for key in keys.tolist()])

    def fetch(self, rows: Ints, records: Any = None) -> Formulas:
        """Return formulas in one batch of packed arrays."""
        found = [self._features[row] for row in rows.tolist()]
        edges = np.array([edge for one in found for edge in one.layout.edges], np.uint8)
        return Formulas(
            rows,
            self.visual_ids(rows),
            self._symbols([one.layout.labels for one in found], edges),
            self._symbols([one.operators.labels for one in found], edges[:0]),
            self._paths(found),
            records,
        )

    def _symbols(self, sequences: list[list[str]], edges: npt.NDArray[np.uint8]) -> SymbolSequences:
        labels = [self.labels[label] for one in sequences for label in one]
        return SymbolSequences(*_spans(sequences), np.array(labels, np.int32), edges)

    def _paths(self, found: Sequence[Features]) -> PathRows:
        paths = [one.tree_paths for one in found]
        pairs = zip(found, paths, strict=True)
        labels = [self.labels[one.operators.labels[below]] for one, path in pairs for below in path.below.tolist()]
        return PathRows(
            *_spans([one.keys for one in paths]),
            np.array([above for one in paths for above in one.above.tolist()], np.uint8),
            np.array([key for one in paths for key in one.keys.tolist()], np.uint32),
            np.array(labels, np.int32),
            np.array([one.leaves for one in paths], np.int32),
        )

    def trees(self, rows: Sequence[int]) -> list[bytes]:
        """Return the packed trees of formulas."""
        return [self._expressions[row].trees for row in rows]

    def latex(self, rows: Sequence[int]) -> list[str]:
        """Return the LaTeX of formulas."""
        return [self._expressions[row].latex for row in rows]

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""
        return np.array([self._visuals[row] for row in rows.tolist()], np.int64)

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that the index lacks."""
        return np.array([self._row_of.get(number, UNKNOWN) for number in visual_ids.tolist()], np.int64)

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of the sub-expressions of expressions; those that no formula of the index has are left
        out."""
        codes = self.terms.codes.get("parts", {})
        parts = (self._parts.get(number, ()) for number in expressions)
        return [[codes[term] for term in terms if term in codes] for terms in parts]


def _document(row: int, found: Features) -> MemoryPost:
    document = MemoryPost(row, row)
    for family in FORMULA_FAMILIES:
        document.counts[family].update(("formula", term) for term in getattr(found, family))
    return document


def _path_groups(found: Features) -> set[tuple[int, int]]:
    """Return the path groups of a formula: paths with the same upper end and the same key are one group."""
    return set(zip(found.tree_paths.above.tolist(), found.tree_paths.keys.tolist(), strict=True))


def _spans(sequences: Sequence[Sized]) -> tuple[Ints, Ints]:
    """Return where each sequence starts and ends, one after another."""
    sizes = np.array([len(one) for one in sequences], np.int64)
    return np.cumsum(sizes) - sizes, np.cumsum(sizes)
