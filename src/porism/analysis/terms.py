"""The terms that a post is indexed by, in every family (see `porism.analysis.analysers`)."""

from __future__ import annotations

from collections.abc import Sequence

from porism.analysis.analysers import FORMULA_ANALYSERS, TEXT_ANALYSERS
from porism.analysis.features import RENAMED, Features, features
from porism.analysis.words import stems
from porism.formula import Parsed

SMALLEST = 9  # tuples of the smallest formula that is a concept of its own; smaller ones occur everywhere


def formula_terms(formula: Parsed) -> dict[str, list[str]]:
    """Return the terms of a formula by family."""
    return feature_terms(features(formula.layout, formula.operators))


def feature_terms(found: Features) -> dict[str, list[str]]:
    """Return the terms of a formula by family from its features."""
    return {family: analyser.of_formula(found) for family, analyser in FORMULA_ANALYSERS.items()}


def whole_form(terms: dict[str, list[str]]) -> int:
    """Return the hash of the whole formula at the renamed level; 0 for a small formula."""
    if len(terms["tuples"]) < SMALLEST:
        return 0
    return next((int(term[1:], 16) for term in terms["parts"] if term[0] == RENAMED), 0)


def form_term(form: int) -> str:
    """Return the term of a sub-expression at the renamed level from its hash."""
    return f"{RENAMED}0{form:016x}"


def text_terms(text: str) -> dict[str, list[str]]:
    """Return the terms of a text by family; the mark FORMULA replaces each formula."""
    return stem_terms(stems(text))


def stem_terms(found: Sequence[str]) -> dict[str, list[str]]:
    """Return the terms of a text by family from its stems."""
    return {family: analyser.of_stems(found) for family, analyser in TEXT_ANALYSERS.items()}
