"""The families of terms that a post is indexed by: two of its words, three of its formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

from porism.formula import Parsed, parse
from porism.index.features import COMMUTATIVE, RENAMED, features
from porism.index.words import FORMULA, neighbours, stems, stopwords

TEXT_FAMILIES = ("words", "pairs")
FORMULA_FAMILIES = ("tuples", "paths", "parts")
FAMILIES = (*TEXT_FAMILIES, *FORMULA_FAMILIES)
BRACKETS = ("#(start)#", "#(end)#")  # enclose the tuples of a formula; they are in all of them

Counts = dict[str, Counter[int]]


def code(term: str) -> int:
    """The number that stands for a term on disk: 32 bits, so that rare chance collisions do no harm."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def formula_terms(formula: Parsed) -> dict[str, list[str]]:
    """The terms of a formula in each of its families."""
    terms: dict[str, list[str]] = {"tuples": [], "paths": [], "parts": []}
    operators = formula.operators
    if operators is None:
        return terms
    found = features(formula.layout, operators)
    terms["tuples"] = [term for term in found.tuples if term not in BRACKETS]
    terms["paths"] = found.paths
    # The two stricter levels say nothing here that the tuples do not.
    terms["parts"] = [term for term in found.parts if term[0] in (COMMUTATIVE, RENAMED)]
    return terms


def text_terms(text: str) -> dict[str, list[str]]:
    """The terms of a text in each of its families; formulas that were cut out left the mark `FORMULA`."""
    row = stems(text)
    stop = stopwords()
    return {"words": [stem for stem in row if stem not in stop and stem != FORMULA], "pairs": neighbours(row)}


@lru_cache(100_000)
def latex_codes(latex: str) -> tuple[tuple[str, tuple[tuple[int, int], ...]], ...]:
    """The codes of a formula with their counts; most formulas of a collection stand in it many times."""
    terms = formula_terms(parse(latex))
    return tuple((family, tuple(Counter(map(code, found)).items())) for family, found in terms.items())


def empty_counts() -> Counts:
    """Nothing counted yet."""
    return {family: Counter() for family in FAMILIES}


def count_terms(text: dict[str, list[str]], formulas: Iterable[str]) -> Counts:
    """How often each term stands in a text (its terms) with its formulas (their LaTeX)."""
    counts = {family: Counter(map(code, terms)) for family, terms in text.items()}
    counts |= {family: Counter() for family in FORMULA_FAMILIES}
    for latex in formulas:
        for family, found in latex_codes(latex):
            counter = counts[family]
            for number, times in found:
                counter[number] += times
    return counts


def add(counts: Counts, weight: float, into: Counts) -> None:
    """Add counts with a weight."""
    for family, counter in counts.items():
        total = into[family]
        for number, times in counter.items():
            total[number] += times * weight  # type: ignore[assignment]
