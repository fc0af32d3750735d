"""Analysers: they turn a text or a formula into terms. Each is a value that prints as itself and parses back.

A text analyser makes terms of the stems of a text; a formula analyser makes terms of a formula's features. The families of an index are named
analysers (`TEXT_ANALYSERS`, `FORMULA_ANALYSERS`), which its manifest records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from porism.analysis.features import LEVEL_PREFIX, Features
from porism.analysis.words import FORMULA, stopwords
from porism.formula.canonical import LEVELS, Level

BRACKETS = ("#(start)#", "#(end)#")  # enclose the tuples of every formula, so they distinguish none


class TextAnalyser(Protocol):
    """Turns the stems of a text into terms; the mark FORMULA replaces each formula."""

    def of_stems(self, stems: Sequence[str]) -> list[str]:
        """Return the terms."""
        ...


class FormulaAnalyser(Protocol):
    """Turns the features of a formula into terms."""

    def of_formula(self, features: Features) -> list[str]:
        """Return the terms."""
        ...


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
