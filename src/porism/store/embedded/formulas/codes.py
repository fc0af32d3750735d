"""The terms of every expression (distinct LaTeX), computed once and looked up by expression id wherever a post contains
it.

Two tables. `forms` stays in the index: for each expression the hash of its canonical form, whatever its variables are
called, and the codes of its sub-expressions, by which snippets find the formulas that match. The other codes are needed
only until the posts are written. Codes are ids of the formula index's dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from porism.analysis.features import LEVEL_BYTES, LEVEL_PREFIX, RENAMED, OperatorTable, operator_table
from porism.analysis.schema import FORMULA_FAMILIES
from porism.analysis.terms import BRACKETS, FORMULA_ANALYSERS, SMALLEST, LayoutTuples, SubExpressions
from porism.corpus.content import Content
from porism.formula.binary import unpack_operators
from porism.store.embedded.formulas.packed_layouts import LayoutTable, layout_table
from porism.store.embedded.storage.columns import ColumnWriter, OpenFiles, read_columns
from porism.store.embedded.terms.dictionary import DictionaryWriter, Hashes, hash_hexadecimal, hash_terms, local_codes
from porism.store.records import spread

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]
MISSING = -1
FORMS = "forms"  # the folder of the table that stays
AT_ONCE = 100_000  # expressions whose codes are copied together
FORM_TYPES = {"first": "<i8", "form": "<u8", "parts_end": "<u4", "parts": "<u4"}
ITEM_TYPES = {
    "expression": "<i8",
    "form": "<u8",
    **{f"{family}_end": "<i8" for family in FORMULA_FAMILIES},
    **{f"{family}_code": "<u4" for family in FORMULA_FAMILIES},
}
HASH_TYPES = dict.fromkeys(FORMULA_FAMILIES, "<u8")


class LocalTerms(NamedTuple):
    """The terms of some formulas in one family: how many each formula has, their codes, and by code the hash of each
    distinct term and whether posts are indexed by it (the formula index has all terms). Terms of posts have the lower
    codes."""

    sizes: Ints
    codes: Codes
    hashes: Hashes
    indexed: Mask


def local_terms(layouts: LayoutTable, table: OperatorTable) -> dict[str, LocalTerms]:
    """Return the terms of formulas by family."""
    return {"tuples": _tuples(layouts), "paths": _paths(table), "parts": _parts(table)}


def _tuples(layouts: LayoutTable) -> LocalTerms:
    codes, hashes = local_codes(layouts.hashes)
    analyser = FORMULA_ANALYSERS["tuples"]
    assert isinstance(analyser, LayoutTuples)
    indexed = np.ones(len(hashes), np.bool_) if analyser.brackets else ~np.isin(hashes, hash_terms(BRACKETS))
    return _indexed_first(layouts.sizes, codes, hashes, indexed)


def _paths(table: OperatorTable) -> LocalTerms:
    # Equal numbers are equal terms: only distinct ones are hashed. No number of a path has 64 bits, and no code of a
    # hash is 0.
    codes, distinct = local_codes(table.paths.numbers + np.uint64(1))
    rows = (distinct - np.uint64(1)).astype(">u8").view(np.uint8).reshape(-1, 8)
    hashes = hash_hexadecimal(rows)
    return LocalTerms(np.diff(table.paths.ends, prepend=0), codes, hashes, np.ones(len(hashes), np.bool_))


def _parts(table: OperatorTable) -> LocalTerms:
    analyser = FORMULA_ANALYSERS["parts"]
    assert isinstance(analyser, SubExpressions)
    codes, hashes = local_codes(hash_hexadecimal(table.parts.rows()))
    levels = np.empty(len(hashes), np.uint8)
    levels[codes] = table.parts.levels
    indexed = np.isin(levels, [LEVEL_BYTES[LEVEL_PREFIX[level]] for level in analyser.levels])
    return _indexed_first(np.diff(table.parts.ends, prepend=0), codes, hashes, indexed)


def _indexed_first(sizes: Ints, codes: Codes, hashes: Hashes, indexed: Mask) -> LocalTerms:
    """Number the terms again, those of posts first, so that the dictionary has them together."""
    order = np.argsort(~indexed, kind="stable")
    numbers = np.empty(len(order), np.uint32)
    numbers[order] = np.arange(len(order), dtype=np.uint32)
    return LocalTerms(sizes, numbers[codes], hashes[order], indexed[order])


class CodeLists(NamedTuple):
    """The term codes of some formulas in one family: how many each formula has, and the codes."""

    sizes: Ints
    codes: Codes


class EncodedFormulas(NamedTuple):
    """Some expressions: id and form of each, and its term codes by family (local to the block they were made with)."""

    expressions: Ints
    forms: Hashes
    lists: Mapping[str, CodeLists]


def encode(expressions: Sequence[int], table: OperatorTable, terms: Mapping[str, LocalTerms]) -> EncodedFormulas:
    """Return the codes of expressions, of the terms by which posts are indexed."""
    lists = {family: _indexed_codes(found) for family, found in terms.items()}
    forms = np.zeros(len(expressions), np.uint64)
    renamed = np.flatnonzero(table.parts.levels == LEVEL_BYTES[RENAMED])
    if len(renamed):
        ends = np.array(table.parts.ends, np.int64)
        first = np.searchsorted(renamed, np.concatenate(([0], ends[:-1])))  # the whole formula is before its parts
        first = renamed[np.minimum(first, len(renamed) - 1)]
        large = (lists["tuples"].sizes >= SMALLEST) & (first < ends)
        forms[large] = table.parts.numbers[first[large]]
    return EncodedFormulas(np.array(expressions, np.int64), forms, lists)


def _indexed_codes(terms: LocalTerms) -> CodeLists:
    """Return the codes of those terms by which posts are indexed."""
    kept = terms.indexed[terms.codes]
    before = np.concatenate(([0], np.cumsum(kept)))
    return CodeLists(np.diff(before[np.concatenate(([0], np.cumsum(terms.sizes)))]), terms.codes[kept])


class ExtraFormulas(NamedTuple):
    """Expressions that occur in posts, but not as formulas of the index: their codes, and hashes by family."""

    encoded: EncodedFormulas
    hashes: dict[str, Hashes]


class CodesWriter(OpenFiles):
    """Append formulas to a folder that `FormulaCodes` reads after `finish`; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._columns = self._stack.enter_context(ColumnWriter(directory / "items", ITEM_TYPES))
        self._ends = dict.fromkeys(FORMULA_FAMILIES, 0)

    def add(self, block: EncodedFormulas, ids: Mapping[str, Codes]) -> None:
        """Append formulas; `ids` are the dictionary ids of the block's local codes."""
        self._columns.append("expression", block.expressions)
        self._columns.append("form", block.forms)
        for family, (sizes, codes) in block.lists.items():
            self._columns.append(f"{family}_end", self._ends[family] + np.cumsum(sizes))
            self._columns.append(f"{family}_code", ids[family][codes])
            self._ends[family] += len(codes)

    def finish(self, dictionaries: Mapping[str, DictionaryWriter], forms: Path, first: int = 1) -> None:
        """Write the hashes of all terms, and the forms and sub-expressions by expression id, from the id `first` on."""
        with ColumnWriter(self._directory / "hashes", HASH_TYPES) as columns:
            for family, dictionary in dictionaries.items():
                columns.append(family, dictionary.hashes())
        items = read_columns(self._directory / "items", ITEM_TYPES)
        with ColumnWriter(forms, FORM_TYPES) as columns:
            _append_forms(columns, items, first)


def _append_forms(columns: ColumnWriter, items: Mapping[str, Any], first: int) -> None:
    """Append forms and sub-expressions in the order of expression ids, from the first id on."""
    # An expression is an item once for each of its visual ids, of which official formulas may have several: take it
    # once.
    expressions, order = np.unique(items["expression"], return_index=True)
    columns.append("first", [first])
    own = expressions >= first
    expressions, order = expressions[own] - first, order[own]
    size = int(expressions[-1]) + 1 if len(expressions) else 0
    forms, sizes = np.zeros(size, np.uint64), np.zeros(size, np.int64)
    forms[expressions] = items["form"][order]
    sizes[expressions] = np.diff(items["parts_end"], prepend=0)[order]
    columns.append("form", forms)
    columns.append("parts_end", np.cumsum(sizes))
    for start in range(0, len(order), AT_ONCE):
        some = order[start : start + AT_ONCE].tolist()
        ends = items["parts_end"]
        columns.append(
            "parts", np.concatenate([items["parts_code"][ends[at - 1] if at else 0 : ends[at]] for at in some])
        )


class KnownCodes(Protocol):
    """Terms of expressions that are looked up by their ids. Codes are positions in `hashes`; `ends` says where those of
    an item end."""

    ends: Mapping[str, Ints]
    codes: Mapping[str, Codes]
    hashes: Mapping[str, Hashes]

    def items(self, expressions: Ints) -> Ints:
        """Return the item of each expression, MISSING for those whose terms were not computed."""

    def forms(self, expressions: Ints) -> Hashes:
        """Return the form of each expression, 0 for a small one."""


class FormulaCodes:
    """The terms of all expressions, mapped."""

    def __init__(self, directory: Path, forms: Path) -> None:
        self._forms = read_columns(forms, FORM_TYPES)
        items = read_columns(directory / "items", ITEM_TYPES)
        self._first = int(self._forms["first"][0])
        self._items = np.full(len(self._forms["form"]), MISSING, np.int32)
        own = np.flatnonzero(items["expression"] >= self._first)
        self._items[items["expression"][own] - self._first] = own
        self.ends: Mapping[str, Ints] = {family: items[f"{family}_end"] for family in FORMULA_FAMILIES}
        self.codes: Mapping[str, Codes] = {family: items[f"{family}_code"] for family in FORMULA_FAMILIES}
        self.hashes: Mapping[str, Hashes] = read_columns(directory / "hashes", HASH_TYPES)

    def items(self, expressions: Ints) -> Ints:
        """Return the item of each expression, MISSING for those whose terms were not computed."""
        found = np.full(len(expressions), MISSING, np.int64)
        places = expressions - self._first
        inside = (places >= 0) & (places < len(self._items))
        found[inside] = self._items[places[inside]]
        return found

    def forms(self, expressions: Ints) -> Hashes:
        """Return the form of each expression, 0 for a small one."""
        forms: Hashes = self._forms["form"][expressions - self._first]
        return forms

    def excerpt(self, expressions: Ints) -> CodesExcerpt:
        """Return the terms of some expressions, by ids in ascending order."""
        all_items = self.items(expressions)
        known = all_items != MISSING
        items = np.where(known, np.cumsum(known) - 1, MISSING)
        ends, codes, hashes = {}, {}, {}
        for family in FORMULA_FAMILIES:
            stops = self.ends[family][all_items[known]]
            sizes = stops - np.where(all_items[known], self.ends[family][all_items[known] - 1], 0)
            ends[family] = np.cumsum(sizes)
            places = spread(stops - sizes, sizes)
            used, local = np.unique(self.codes[family][places], return_inverse=True)
            codes[family], hashes[family] = local.astype(np.uint32), self.hashes[family][used]
        return CodesExcerpt(expressions, items, self.forms(expressions), ends, codes, hashes)


@dataclass
class CodesExcerpt:
    """The terms of some expressions, as a value that a worker without the files gets."""

    _expressions: Ints
    _items: Ints
    _forms: Hashes
    ends: Mapping[str, Ints]
    codes: Mapping[str, Codes]
    hashes: Mapping[str, Hashes]

    def opened(self) -> CodesExcerpt:
        """Return the excerpt, not writable as mapped arrays are, so that loops are compiled once for both."""
        for arrays in (self.ends, self.codes):
            for array in arrays.values():
                array.setflags(write=False)
        return self

    def items(self, expressions: Ints) -> Ints:
        """Return the item of each expression, MISSING for those whose terms were not computed."""
        return self._items[np.searchsorted(self._expressions, expressions)]

    def forms(self, expressions: Ints) -> Hashes:
        """Return the form of each expression, 0 for a small one."""
        return self._forms[np.searchsorted(self._expressions, expressions)]


_NO_CODES = CodeLists(np.empty(0, np.int64), np.empty(0, np.uint32))
_NO_FORMULAS = ExtraFormulas(
    EncodedFormulas(np.empty(0, np.int64), np.empty(0, np.uint64), dict.fromkeys(FORMULA_FAMILIES, _NO_CODES)),
    dict.fromkeys(FORMULA_FAMILIES, np.empty(0, np.uint64)),
)


def encode_expressions(content: Content, expressions: Sequence[int]) -> ExtraFormulas:
    """Compute the terms of expressions of a collection."""
    if not expressions:
        return _NO_FORMULAS
    found = content.expressions_by_id(expressions)
    packed = [found[number].trees for number in expressions]
    table = operator_table([unpack_operators(trees, with_places=False) for trees in packed])
    terms = local_terms(layout_table(packed), table)
    # Only terms by which posts are indexed, which have the lower codes: these expressions are no documents of the
    # formula index.
    hashes = {family: found.hashes[found.indexed] for family, found in terms.items()}
    return ExtraFormulas(encode(expressions, table, terms), hashes)
