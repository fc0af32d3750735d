"""The terms of a block of formulas, with codes that are local to the block. Terms are hashed without becoming text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import LEVEL_BYTES, LEVEL_PREFIX, OperatorTable
from porism.analysis.terms import BRACKETS, FORMULA_ANALYSERS, LayoutTuples, SubExpressions
from porism.store.embedded.formulas.packed_layouts import LayoutTable
from porism.store.embedded.terms.bulk_hashing import hash_hexadecimal
from porism.store.embedded.terms.dictionary import Hashes, hash_terms, local_codes

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]


class LocalTerms(NamedTuple):
    """The terms of some formulas in one family: how many each formula has, their codes, and by code the hash of each distinct term and
    whether posts are indexed by it (the formula index has all terms). Terms of posts have the lower codes."""

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
    # Equal numbers are equal terms: only distinct ones are hashed. No number of a path has 64 bits, and no code of a hash is 0.
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
