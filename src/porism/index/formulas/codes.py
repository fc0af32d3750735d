"""The terms of every distinct formula, computed once and looked up by LaTeX wherever a post contains it.

Two tables. `forms` stays in the index: for each LaTeX (by its hash) the hash of its canonical form, whatever its variables are called.
The term codes are needed only until the posts are written; they are ids of the formula index's dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.hashing import hash64
from porism.index.analysis.features import Features
from porism.index.analysis.terms import feature_terms, whole_form
from porism.index.schema import FORMULA_FAMILIES
from porism.index.storage.columns import ColumnWriter, read_columns
from porism.index.terms.blocks import Vocabulary
from porism.index.terms.dictionary import DictionaryWriter, Hashes

MASK = (1 << 64) - 1
FORM_TYPES = {"key": "<u8", "form": "<u8"}
SORTED_TYPES = {"key": "<u8", "item": "<u4"}
ITEM_TYPES = {
    "key": "<u8",
    "form": "<u8",
    **{f"{family}_end": "<i8" for family in FORMULA_FAMILIES},
    **{f"{family}_code": "<u4" for family in FORMULA_FAMILIES},
}
HASH_TYPES = dict.fromkeys(FORMULA_FAMILIES, "<u8")

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]


def latex_key(latex: str) -> int:
    """Return the 64-bit hash that identifies a LaTeX text."""
    return hash64(latex) & MASK


class CodeLists(NamedTuple):
    """The term codes of some formulas in one family: how many each formula has, and the codes."""

    sizes: Ints
    codes: Codes


class EncodedFormulas(NamedTuple):
    """Some formulas: key and form of each, and its term codes by family (local to the block they were made with)."""

    keys: Hashes
    forms: Hashes
    lists: Mapping[str, CodeLists]


def encode(latex: Sequence[str], found: Sequence[Features], vocabularies: Mapping[str, Vocabulary]) -> EncodedFormulas:
    """Return the codes of formulas in these vocabularies."""
    terms = [feature_terms(one) for one in found]
    lists = {}
    for family, vocabulary in vocabularies.items():
        sizes = np.array([len(one[family]) for one in terms], np.int64)
        codes = vocabulary.codes(term for one in terms for term in one[family])
        lists[family] = CodeLists(sizes, np.array(codes, np.uint32))
    keys = np.fromiter(map(latex_key, latex), np.uint64, len(latex))
    return EncodedFormulas(keys, np.array([whole_form(one) for one in terms], np.uint64), lists)


def new_vocabularies() -> dict[str, Vocabulary]:
    """Return an empty vocabulary for each family of formula terms."""
    return {family: Vocabulary() for family in FORMULA_FAMILIES}


class CodesWriter:
    """Append formulas to a folder that `FormulaCodes` reads after `finish`; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._columns = ColumnWriter(directory / "items", ITEM_TYPES)
        self._ends = dict.fromkeys(FORMULA_FAMILIES, 0)

    def add(self, block: EncodedFormulas, ids: Mapping[str, Codes]) -> None:
        """Append formulas; `ids` are the dictionary ids of the block's local codes."""
        self._columns.append("key", block.keys)
        self._columns.append("form", block.forms)
        for family, (sizes, codes) in block.lists.items():
            self._columns.append(f"{family}_end", self._ends[family] + np.cumsum(sizes))
            self._columns.append(f"{family}_code", ids[family][codes])
            self._ends[family] += len(codes)

    def __enter__(self) -> CodesWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self._columns.__exit__(*error)

    def finish(self, dictionaries: Mapping[str, DictionaryWriter], forms: Path, base: Path | None) -> None:
        """Sort the keys (24 bytes of memory a formula); write the hashes of all terms, and the forms, those of a base before them."""
        with ColumnWriter(self._directory / "hashes", HASH_TYPES) as columns:
            for family, dictionary in dictionaries.items():
                columns.append(family, dictionary.hashes())
        items = read_columns(self._directory / "items", ITEM_TYPES)
        order = np.argsort(items["key"], kind="stable")
        with ColumnWriter(self._directory / "sorted", SORTED_TYPES) as columns:
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
    """Look formulas up by the key of their LaTeX."""

    def __init__(self, directory: Path, forms: Path) -> None:
        self._sorted = read_columns(directory / "sorted", SORTED_TYPES)
        self._forms = read_columns(forms, FORM_TYPES)
        items = read_columns(directory / "items", ITEM_TYPES)
        self.ends: dict[str, Ints] = {family: items[f"{family}_end"] for family in FORMULA_FAMILIES}
        self.codes: dict[str, Codes] = {family: items[f"{family}_code"] for family in FORMULA_FAMILIES}
        self.hashes: dict[str, Hashes] = read_columns(directory / "hashes", HASH_TYPES)

    def items(self, keys: Hashes) -> Ints:
        """Return the number of each formula, -1 for those that are not there."""
        at, known = _find(self._sorted["key"], keys)
        found = np.full(len(keys), -1, np.int64)
        found[known] = self._sorted["item"][at[known]]
        return found

    def forms(self, keys: Hashes) -> tuple[Hashes, npt.NDArray[np.bool_]]:
        """Return the form of each formula, and whether it is known."""
        at, known = _find(self._forms["key"], keys)
        found = np.zeros(len(keys), np.uint64)
        found[known] = self._forms["form"][at[known]]
        return found, known


def _find(held: Hashes, keys: Hashes) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return where keys are in a sorted column, and which of them are."""
    if not len(held):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    at = np.minimum(np.searchsorted(held, keys), len(held) - 1)
    return at, held[at] == keys
