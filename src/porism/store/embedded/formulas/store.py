"""`FormulaStore` over mapped files: columns of formulas, weights of labels, and weights of path keys."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FORMULA_FAMILIES
from porism.integrity import DamageError
from porism.store.embedded.formulas.codes import FORM_TYPES, FORMS
from porism.store.embedded.manifest import Manifest, read_manifest
from porism.store.embedded.storage.columns import CountedKeys, read_columns
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.embedded.terms.embedded import DocumentUnits, EmbeddedTermIndex, look_up
from porism.store.embedded.terms.postings import NO_UNITS, UnitMap
from porism.store.records import Formulas, Ints, PathRows, SymbolSequences

LEVEL, WINDOW, MEMORY = 6, -12, 4  # trees are small; preparing a larger window takes longer than compressing
RAW = -15  # without header and checksum: the manifest has the digest of the file
LARGEST = 1 << 26  # bytes of the packed trees of one formula; damaged data could expand to any size
# The labels of most nodes, the most frequent last, as zlib recommends. A change here changes the format of the index.
FREQUENT = (
    "O!leq O!lt F!sin F!cos F!log F!abs M!||1x1 M!{}1x1 M![]1x1 O!int \u222b O!sum \u2211 O!in \u2208 \u2264 < O!to "
    "\u2192 C!infinity V!\u221e C!\u03c0 V!\u03c0 V!\u03b1 O!divide-slash / C!\u2026 W! . V!I V!T V!C V!F V!R V!j "
    "V!P V!u V!S V!N V!B V!z V!q V!g V!c V!X N!5 V!r V!e O!root V!t V!d V!m N!4 V!s V!A V!y V!p V!f V!b M!()1x2 , "
    "V!i O!apply V!k N!3 U!plus N!0 O!minus \u2212 O!SUB + V!a U!eq O!SUP = M!()1x1 U!times O!divide V!x V!n N!2 N!1"
)
DICTIONARY = FREQUENT.replace(" ", "\0").encode()
KIND = "formulas"
STATISTICS = "statistics.json"
KEY_TYPES = {"key": "<u4", "key_count": "<u4"}
# Columns and their types. Columns named *_at have one value for each formula: where its values end in the columns of
# the same prefix.
TYPES = {
    "visual": "<i8", "expression": "<i8", "leaves": "<i2", "latex_at": "<i8", "latex": "u1", "trees_at": "<i8",
    "trees": "u1", "layout_at": "<i8", "layout_label": "<i4", "layout_edge": "u1", "operator_at": "<i8",
    "operator_label": "<i4", "path_at": "<i8", "path_above": "u1", "path_key": "<u4", "path_label": "<i4",
}  # fmt: skip
# The weight of a label runs from this, if every formula has it, to this + 1, if one formula has it.
BASE_WEIGHT = 0.5


def compress_trees(packed: bytes) -> bytes:
    """Return packed trees in compressed form."""
    writer = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW, MEMORY, zdict=DICTIONARY)
    return writer.compress(packed) + writer.flush()


def expand_trees(data: bytes) -> bytes:
    """Return the packed trees of their compressed form."""
    try:
        return zlib.decompressobj(RAW, zdict=DICTIONARY).decompress(data, LARGEST)
    except zlib.error as error:
        fix = "find the damaged file: porism store verify INDEX"
        raise DamageError(f"the stored trees of a formula are damaged: {error}", fix=fix) from None


class LabelCounts(NamedTuple):
    """How many formulas have each label in their layout trees and in their operator trees, by label id."""

    layout: Ints
    operators: Ints


class DeletedFormulas(NamedTuple):
    """Formulas that are deleted from an index: their rows in ascending order, how many of them contain each term (by
    family) and each label, and their path groups by key."""

    rows: Ints
    terms: Mapping[str, CountedKeys]
    labels: LabelCounts
    keys: CountedKeys


class EmbeddedFormulas:
    """An opened formula index. Deleted formulas have rows, but count in no statistics and are never found."""

    def __init__(self, directory: Path, manifest: Manifest, deleted: DeletedFormulas | None = None) -> None:
        self.directory = directory
        self.manifest = manifest
        self._columns = read_columns(directory / "rows", TYPES)
        statistics = json.loads((directory / STATISTICS).read_text("utf-8"))
        self._deleted = deleted
        self.deleted: Ints = np.empty(0, np.int64) if deleted is None else deleted.rows
        rows = statistics["formulas"]
        units = UnitMap(NO_UNITS, True, rows)
        counts = np.array([row[1:] for row in statistics["labels"]], np.int64).reshape(-1, 2)
        self.label_counts = LabelCounts(counts[:, 0], counts[:, 1])
        keys = read_columns(directory / "keys", KEY_TYPES)
        self._keys = CountedKeys(keys["key"], keys["key_count"])
        self.path_group_count = int(keys["key_count"].sum())
        if deleted is not None:
            kept = np.arange(rows, dtype=np.int32)
            kept[deleted.rows] = -1
            units = UnitMap(kept, False, rows, len(deleted.rows))
            own = deleted.labels
            self.label_counts = LabelCounts(counts[:, 0] - own.layout, counts[:, 1] - own.operators)
            self.path_group_count -= int(deleted.keys.counts.sum())
        self.formulas: int = rows - units.deleted
        terms = None if deleted is None else deleted.terms
        self.terms = EmbeddedTermIndex(
            directory / "terms", FORMULA_FAMILIES, ("formula",), DocumentUnits({"formula": units}, "formula"), terms
        )
        self.labels = {label: at for at, (label, _, _) in enumerate(statistics["labels"])}
        self.layout_weights = label_weights(self.label_counts.layout, self.formulas)
        self.operator_weights = label_weights(self.label_counts.operators, self.formulas)
        self.unseen_label_weight = float(label_weights([0], self.formulas)[0])
        forms = read_columns(directory / FORMS, FORM_TYPES)
        self._part_ends: Ints = forms["parts_end"]
        self._part_codes: npt.NDArray[np.uint32] = forms["parts"]
        self.first_expression = int(forms["first"][0])  # of those whose sub-expressions this index has

    @classmethod
    def open(cls, directory: str | Path, *, collection: str | None = None) -> EmbeddedFormulas:
        """Open an index that `build_formula_index` made; `collection`: only that of the one with this digest."""
        place = Path(directory)
        return cls(place, read_manifest(place, KIND, collection=collection))

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
        """Return ln(all path groups / path groups with this key) for each key. An unseen key counts as seen once."""
        return inverse_frequency(self.path_groups(keys), self.path_group_count)

    def path_groups(self, keys: npt.NDArray[np.uint32]) -> Ints:
        """Return how many path groups have each key."""
        counts = look_up(self._keys, keys)
        return counts if self._deleted is None else counts - look_up(self._deleted.keys, keys)

    def fetch(self, rows: Ints, records: Any = None) -> Formulas:
        """Return formulas in one batch. It refers to the mapped columns and copies none of them."""
        columns = self._columns
        layout, operators, paths = (spans(columns[name], rows) for name in ("layout_at", "operator_at", "path_at"))
        return Formulas(
            rows,
            self.visual_ids(rows),
            SymbolSequences(*layout, columns["layout_label"], columns["layout_edge"]),
            SymbolSequences(*operators, columns["operator_label"], columns["layout_edge"][:0]),
            PathRows(
                *paths, columns["path_above"], columns["path_key"], columns["path_label"], columns["leaves"][rows]
            ),
            records,
        )

    def trees(self, rows: Ints) -> list[bytes]:
        """Return the packed trees of formulas."""
        return [expand_trees(data) for data in self._bytes("trees", rows)]

    def latex(self, rows: Ints) -> list[str]:
        """Return the LaTeX of formulas."""
        return [text.decode("utf-8", "surrogatepass") for text in self._bytes("latex", rows)]

    def _bytes(self, name: str, rows: Ints) -> list[bytes]:
        starts, ends = spans(self._columns[f"{name}_at"], rows)
        values = self._columns[name]
        return [values[start:end].tobytes() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""
        return self._columns["visual"][rows].astype(np.int64)

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that the index lacks."""
        return find_sorted(self._columns["visual"], visual_ids)

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of the sub-expressions of expressions; none for those that the index does not know."""
        found: list[list[int]] = []
        for number in expressions:
            at = number - self.first_expression
            if 0 <= at < len(self._part_ends):
                start = self._part_ends[at - 1] if at else 0
                found.append(self._part_codes[start : self._part_ends[at]].tolist())
            else:
                found.append([])
        return found

    @property
    def all_visual_ids(self) -> Ints:
        """The visual ids of all rows, also of deleted ones."""
        return self._columns["visual"].astype(np.int64)


def spans(ends: npt.NDArray[Any], rows: Ints) -> tuple[Ints, Ints]:
    """Return where the values of rows start and end in a column, given the ends of all rows."""
    return np.where(rows > 0, ends[rows - 1], 0), np.asarray(ends[rows])


def inverse_frequency(path_groups: Ints, total: int) -> npt.NDArray[np.float64]:
    """Return ln(all path groups / path groups with a key). An unseen key counts as seen once."""
    return np.log(total / np.maximum(path_groups, 1)) if total else np.ones(len(path_groups))


def label_weights(formulas_with_label: Sequence[int] | Ints, formulas: int) -> npt.NDArray[np.float64]:
    """Return the weight of each label, given how many of all formulas have it."""
    counts = np.array(formulas_with_label, np.float64)
    return BASE_WEIGHT + np.log((formulas + 1) / (counts + 1)) / math.log(formulas + 2)
