"""The term codes of every distinct formula, worked out once and looked up by LaTeX wherever a post has it.

A table of two parts. `forms` stays in the index: for each LaTeX (by its hash) what it is as a whole, whatever its variables are called. The
codes are needed only until the posts are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.hashing import hash64
from porism.index.analysis.features import Features
from porism.index.analysis.terms import FORMULA_FAMILIES, codes, feature_terms, whole_form
from porism.index.storage.columns import ColumnWriter, read_columns

MASK = (1 << 64) - 1
WIDTH = len(FORMULA_FAMILIES)
FORM_TYPES = {"key": "<u8", "form": "<u8"}
CODE_TYPES = {"key": "<u8", "item": "<u4"}
ITEM_TYPES = {"key": "<u8", "form": "<u8", "end": "<i8", "code": "<u4"}

Numbers = npt.NDArray[np.int64]


def latex_key(latex: str) -> int:
    """The number that stands for a LaTeX text."""
    return hash64(latex) & MASK


class Encoded(NamedTuple):
    """Some formulas: the key and the form of each, how many codes it has in each family, and the codes, a formula's families in turn."""

    keys: npt.NDArray[np.uint64]
    forms: npt.NDArray[np.uint64]
    sizes: Numbers
    codes: npt.NDArray[np.uint32]


def encode(latex: Sequence[str], found: Sequence[Features]) -> Encoded:
    """The codes of formulas."""
    sizes: list[int] = []
    forms: list[int] = []
    flat: list[str] = []
    for one in found:
        terms = feature_terms(one)
        forms.append(whole_form(terms))
        for family in FORMULA_FAMILIES:
            sizes.append(len(terms[family]))
            flat += terms[family]
    keys = np.fromiter(map(latex_key, latex), np.uint64, len(latex))
    return Encoded(keys, np.array(forms, np.uint64), np.array(sizes, np.int64), codes(flat))


class CodesWriter:
    """Appends formulas to a folder that `FormulaCodes` reads once `finish` was called; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._columns = ColumnWriter(directory / "items", ITEM_TYPES)
        self._end = 0

    def add(self, block: Encoded) -> None:
        """Add formulas."""
        self._columns.append("key", block.keys)
        self._columns.append("form", block.forms)
        self._columns.append("end", self._end + np.cumsum(block.sizes))
        self._columns.append("code", block.codes)
        self._end += len(block.codes)

    def __enter__(self) -> CodesWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self._columns.__exit__(*error)

    def finish(self, forms: Path, base: Path | None) -> None:
        """Sort the keys (24 bytes of memory a formula); write the forms, those of a base before them."""
        items = read_columns(self._directory / "items", ITEM_TYPES)
        order = np.argsort(items["key"], kind="stable")
        with ColumnWriter(self._directory / "sorted", CODE_TYPES) as columns:
            columns.append("key", items["key"][order])
            columns.append("item", order)
        keys, values = items["key"], items["form"]
        if base is not None:
            known = read_columns(base, FORM_TYPES)
            keys, values = np.concatenate((known["key"], keys)), np.concatenate((known["form"], values))
            order = np.argsort(keys, kind="stable")
        with ColumnWriter(forms, FORM_TYPES) as columns:
            columns.append("key", keys[order])
            columns.append("form", values[order])


class FormulaCodes:
    """Looks formulas up by the key of their LaTeX."""

    def __init__(self, directory: Path, forms: Path) -> None:
        self._sorted = read_columns(directory / "sorted", CODE_TYPES)
        self._forms = read_columns(forms, FORM_TYPES)
        items = read_columns(directory / "items", ITEM_TYPES)
        self.codes: npt.NDArray[np.uint32] = items["code"]
        self.ends: Numbers = items["end"]

    def items(self, keys: npt.NDArray[np.uint64]) -> Numbers:
        """The number of each formula; -1 where it is not there."""
        at, known = _find(self._sorted["key"], keys)
        found = np.full(len(keys), -1, np.int64)
        found[known] = self._sorted["item"][at[known]]
        return found

    def forms(self, keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """The form of each formula, and whether it is known."""
        at, known = _find(self._forms["key"], keys)
        found = np.zeros(len(keys), np.uint64)
        found[known] = self._forms["form"][at[known]]
        return found, known


def _find(held: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Where keys stand in a sorted column, and whether they do."""
    if not len(held):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    at = np.minimum(np.searchsorted(held, keys), len(held) - 1)
    return at, held[at] == keys
