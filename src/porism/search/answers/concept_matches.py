"""Concepts in a query: a name adds the formulas that go with it to the query, and a formula adds its names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from porism.analysis.features import RENAMED
from porism.analysis.learned import Concept, find_names
from porism.analysis.terms import feature_terms
from porism.analysis.words import FORMULA, stems
from porism.search.answers.terms import WeightedTerms
from porism.search.query import ReadQuery
from porism.search.query_features import query_features

CONCEPT_FAMILIES = ("parts", "pairs")
MOST_CONCEPTS = 5  # of each direction that a query uses


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept whose name the query contains, which adds the formula, or whose formula it contains, which adds the name."""

    concept: Concept
    by_name: bool

    @property
    def family(self) -> str:
        """The family of the terms that the match adds to the query."""
        return "parts" if self.by_name else "pairs"


class ConceptTable:
    """The concepts of an index, by name and by formula."""

    def __init__(self, concepts: Sequence[Concept]) -> None:
        self._by_name: dict[str, list[Concept]] = defaultdict(list)
        self._by_formula: dict[str, list[Concept]] = defaultdict(list)
        for concept in sorted(concepts, key=lambda one: -one.strength):
            self._by_name[concept.name].append(concept)
            self._by_formula[concept.formula_term].append(concept)

    def matches(self, query: ReadQuery) -> list[ConceptMatch]:
        """Return the strongest concepts of a query's title and its formulas. The body of a whole post matches too many."""
        text = query.title
        names = dict.fromkeys(name.stems for name in find_names(text))
        names |= dict.fromkeys([" ".join(stems(text.replace(FORMULA, " ")))])
        named = [concept for name in names for concept in self._by_name.get(name, ())]
        parts = dict.fromkeys(
            term
            for features in query_features([formula.parsed for formula in query.formulas if formula.field == "title"])
            for term in feature_terms(features)["parts"][:2]
            if term.startswith(RENAMED)
        )
        contained = [concept for part in parts for concept in self._by_formula.get(part, ())]
        return [ConceptMatch(one, True) for one in _strongest(named)] + [
            ConceptMatch(one, False) for one in _strongest(contained)
        ]


def _strongest(concepts: Sequence[Concept]) -> list[Concept]:
    return sorted(concepts, key=lambda one: -one.strength)[:MOST_CONCEPTS]


def concept_terms(matches: Sequence[ConceptMatch]) -> WeightedTerms:
    """Return the terms that concepts add to a query: the formula as a sub-expression, or the name as pairs of words."""
    weights: dict[str, dict[str, float]] = {family: {} for family in CONCEPT_FAMILIES}
    for match in matches:
        pairs = [f"{a}_{b}" for a, b in pairwise(match.concept.name.split())]
        for term in [match.concept.formula_term] if match.by_name else pairs:
            weights[match.family].setdefault(term, 1.0)
    return WeightedTerms(weights)
