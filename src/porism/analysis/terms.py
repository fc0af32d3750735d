"""Analysers, which turn a text or a formula into terms, and the terms that a post is indexed by, in every family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from porism.analysis.features import LEVEL_PREFIX, RENAMED, Features, features
from porism.formula import Parsed
from porism.formula.canonical import LEVELS, Level
from porism.text.words import FORMULA, stems, stopwords

BRACKETS = ("#(start)#", "#(end)#")  # enclose the tuples of every formula, so they distinguish none


class TextAnalyser(Protocol):
    """Turns the stems of a text into terms; the mark FORMULA replaces each formula."""

    def of_stems(self, stems: Sequence[str]) -> list[str]:
        """Return the terms."""


class FormulaAnalyser(Protocol):
    """Turns the features of a formula into terms."""

    def of_formula(self, features: Features) -> list[str]:
        """Return the terms."""


@dataclass(frozen=True, slots=True)
class Words:
    """Stemmed words, without stop words unless `stopwords` is false."""

    stopwords: bool = True

    def of_stems(self, stems: Sequence[str]) -> list[str]:
        """Return the words.

        >>> Words().of_stems(["the", "prime", "number"])
        ['prime', 'number']
        """
        stop = stopwords() if self.stopwords else frozenset()
        return [stem for stem in stems if stem not in stop and stem != FORMULA]


@dataclass(frozen=True, slots=True)
class WordPairs:
    """Pairs of neighbouring words. Stop words are skipped, and no pair spans a formula."""

    stopwords: bool = True

    def of_stems(self, stems: Sequence[str]) -> list[str]:
        """Return the pairs.

        >>> WordPairs().of_stems(["axiom", "of", "choic"])
        ['axiom_choic']
        """
        stop = stopwords() if self.stopwords else frozenset()
        pairs: list[str] = []
        left = ""
        for stem in stems:
            if stem == FORMULA:
                left = ""
            elif stem not in stop:
                if left:
                    pairs.append(f"{left}_{stem}")
                left = stem
        return pairs


@dataclass(frozen=True, slots=True)
class LayoutTuples:
    """Tuples of the symbol layout tree (mathtuples); with `brackets` also the two that enclose every formula."""

    brackets: bool = False

    def of_formula(self, features: Features) -> list[str]:
        """Return the tuples."""
        return features.tuples if self.brackets else [term for term in features.tuples if term not in BRACKETS]


@dataclass(frozen=True, slots=True)
class OperatorPaths:
    """Short paths of the operator tree, each once by classes alone and once with the symbol at its lower end."""

    def of_formula(self, features: Features) -> list[str]:
        """Return the paths."""
        return features.paths


@dataclass(frozen=True, slots=True)
class SubExpressions:
    """Hashes of all sub-expressions at some canonical levels."""

    levels: tuple[Level, ...] = LEVELS

    def __post_init__(self) -> None:
        unknown = set(self.levels) - set(LEVELS)
        if unknown:
            raise ValueError(f"no level is named {sorted(unknown)[0]}; the levels are {', '.join(LEVELS)}")

    def of_formula(self, features: Features) -> list[str]:
        """Return the hashes."""
        prefixes = tuple(LEVEL_PREFIX[level] for level in self.levels)
        return features.parts if self.levels == LEVELS else [term for term in features.parts if term[0] in prefixes]


# The families of an index of posts. The two stricter levels of sub-expressions would add nothing to the tuples.
TEXT_ANALYSERS: Mapping[str, TextAnalyser] = {"words": Words(), "pairs": WordPairs()}
FORMULA_ANALYSERS: Mapping[str, FormulaAnalyser] = {
    "tuples": LayoutTuples(),
    "paths": OperatorPaths(),
    "parts": SubExpressions(("commutative", "renamed")),
}


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
