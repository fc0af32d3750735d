"""The families of terms that a post is indexed by: two of its words, three of its formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.formula import Parsed, parse
from porism.index.analysis.features import COMMUTATIVE, RENAMED, Features, features
from porism.index.analysis.words import FORMULA, neighbours, stems, stopwords

TEXT_FAMILIES = ("words", "pairs")
FORMULA_FAMILIES = ("tuples", "paths", "parts")
FAMILIES = (*TEXT_FAMILIES, *FORMULA_FAMILIES)
BRACKETS = ("#(start)#", "#(end)#")  # enclose the tuples of a formula; they are in all of them
SMALLEST = 9  # tuples of a formula that is something of its own; a smaller one stands everywhere


def code(term: str) -> int:
    """The number that stands for a term on disk: 32 bits, so that rare chance collisions do no harm."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def codes(terms: Sequence[str]) -> npt.NDArray[np.uint32]:
    """The codes of many terms, in their order."""
    found = np.empty(len(terms), np.uint32)
    if terms:
        # All in one go, five times as fast as one by one. No term has the character zero.
        text = "\0".join(terms).encode("utf-8", "surrogatepass")
        _checksums(np.frombuffer(text, np.uint8), _TABLE, found)
    return found


@compiled
def _checksums(text: Any, table: Any, out: Any) -> None:
    """CRC-32, a byte at a time, of each stretch between zeros."""
    number, rest = 0, 0xFFFFFFFF
    for byte in text:
        if byte:
            rest = table[(rest ^ byte) & 0xFF] ^ (rest >> 8)
        else:
            out[number] = rest ^ 0xFFFFFFFF
            number += 1
            rest = 0xFFFFFFFF
    out[number] = rest ^ 0xFFFFFFFF


def _table() -> npt.NDArray[np.int64]:
    """What eight steps of the division do to each byte."""
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ 0xEDB88320, table >> 1)
    return table


_TABLE = _table()


def formula_terms(formula: Parsed) -> dict[str, list[str]]:
    """The terms of a formula in each of its families."""
    return feature_terms(features(formula.layout, formula.operators))


def feature_terms(found: Features) -> dict[str, list[str]]:
    """The features that posts are indexed by."""
    return {
        "tuples": [term for term in found.tuples if term not in BRACKETS],
        "paths": found.paths,
        # The two stricter levels say nothing here that the tuples do not.
        "parts": [term for term in found.parts if term[0] in (COMMUTATIVE, RENAMED)],
    }


def whole_form(terms: dict[str, list[str]]) -> int:
    """The number of a formula (its terms) as a whole at the renamed level; 0 for a small one."""
    if len(terms["tuples"]) < SMALLEST:
        return 0
    return next((int(term[1:], 16) for term in terms["parts"] if term[0] == RENAMED), 0)


def form_term(form: int) -> str:
    """The term of a part at the renamed level from its number."""
    return f"{RENAMED}0{form:016x}"


def text_terms(text: str) -> dict[str, list[str]]:
    """The terms of a text in each of its families; formulas that were cut out left the mark `FORMULA`."""
    return stem_terms(stems(text))


def stem_terms(row: list[str]) -> dict[str, list[str]]:
    """The terms of a text from its stems."""
    stop = stopwords()
    return {"words": [stem for stem in row if stem not in stop and stem != FORMULA], "pairs": neighbours(row)}


@lru_cache(100_000)
def latex_codes(latex: str) -> tuple[tuple[str, tuple[tuple[int, int], ...]], ...]:
    """The codes of a formula with their counts; most formulas of a collection stand in it many times."""
    terms = formula_terms(parse(latex))
    return tuple((family, tuple(Counter(map(code, found)).items())) for family, found in terms.items())
