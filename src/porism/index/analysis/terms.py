"""The terms that a post is indexed by: two families of its words, three of its formulas (see `porism.index.schema`)."""

from __future__ import annotations

from porism.formula import Parsed
from porism.index.analysis.features import COMMUTATIVE, RENAMED, Features, features
from porism.index.analysis.words import FORMULA, neighbours, stems, stopwords

BRACKETS = ("#(start)#", "#(end)#")  # enclose the tuples of every formula, so they say nothing about any
SMALLEST = 9  # tuples of the smallest formula that is a concept of its own; smaller ones occur everywhere


def formula_terms(formula: Parsed) -> dict[str, list[str]]:
    """Return the terms of a formula in each of its families."""
    return feature_terms(features(formula.layout, formula.operators))


def feature_terms(found: Features) -> dict[str, list[str]]:
    """Select the features of a formula that posts are indexed by."""
    return {
        "tuples": [term for term in found.tuples if term not in BRACKETS],
        "paths": found.paths,
        # The two stricter levels say nothing here that the tuples do not.
        "parts": [term for term in found.parts if term[0] in (COMMUTATIVE, RENAMED)],
    }


def whole_form(terms: dict[str, list[str]]) -> int:
    """Return the hash of the whole formula at the renamed level; 0 for a small formula."""
    if len(terms["tuples"]) < SMALLEST:
        return 0
    return next((int(term[1:], 16) for term in terms["parts"] if term[0] == RENAMED), 0)


def form_term(form: int) -> str:
    """Return the term of a sub-expression at the renamed level from its hash."""
    return f"{RENAMED}0{form:016x}"


def text_terms(text: str) -> dict[str, list[str]]:
    """Return the terms of a text in each of its families; the mark FORMULA stands where a formula was cut out."""
    return stem_terms(stems(text))


def stem_terms(row: list[str]) -> dict[str, list[str]]:
    """Return the terms of a text from its stems."""
    stop = stopwords()
    return {"words": [stem for stem in row if stem not in stop and stem != FORMULA], "pairs": neighbours(row)}
