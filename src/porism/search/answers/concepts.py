"""Words meet formulas: a name in a query asks for the formulas that go with it, and a formula for its names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from porism.index.analysis.features import RENAMED
from porism.index.analysis.terms import code, formula_terms
from porism.index.analysis.words import FORMULA, stems
from porism.index.concepts.concept import Concept, names, read_concepts
from porism.index.threads.posts import Posts
from porism.search.answers.asked import Asked, keep
from porism.search.query import ReadQuery

CONCEPT_FAMILIES = ("parts", "pairs")
MOST = 5  # concepts of each direction that a query uses


@dataclass(frozen=True, slots=True)
class Meeting:
    """A concept that a query touches: by its name (it asks for the formula) or by its formula (it asks for the name)."""

    concept: Concept
    by_name: bool


class Concepts:
    """The concepts of an index, found by name and by formula."""

    def __init__(self, posts: Posts) -> None:
        self._posts = posts
        self._by_name: dict[str, list[Concept]] = defaultdict(list)
        self._by_part: dict[str, list[Concept]] = defaultdict(list)
        for concept in sorted(read_concepts(posts.directory), key=lambda one: -one.strength):
            self._by_name[concept.name].append(concept)
            self._by_part[concept.part].append(concept)

    def meet(self, query: ReadQuery) -> list[Meeting]:
        """The strongest concepts of a query's title and formulas (a whole post touches too many by its body)."""
        text = query.title
        said = dict.fromkeys(name for name, _ in names(text))
        said |= dict.fromkeys([" ".join(stems(text.replace(FORMULA, " ")))])
        found = [concept for name in said for concept in self._by_name.get(name, ())]
        parts = dict.fromkeys(
            term
            for formula in query.formulas
            if formula.field == "title"
            for term in formula_terms(formula.parsed)["parts"][:2]
            if term.startswith(RENAMED)
        )
        back = [concept for part in parts for concept in self._by_part.get(part, ())]
        strongest = [sorted(side, key=lambda one: -one.strength)[:MOST] for side in (found, back)]
        return [Meeting(one, number == 0) for number, side in enumerate(strongest) for one in side]

    def ask(self, meetings: list[Meeting]) -> dict[str, Asked]:
        """The terms that the concepts ask for: the formula as a part, or the name as pairs of words."""
        weights: dict[str, dict[str, float]] = {family: {} for family in CONCEPT_FAMILIES}
        for meeting in meetings:
            concept = meeting.concept
            row = concept.name.split()
            terms = [concept.part] if meeting.by_name else [f"{a}_{b}" for a, b in pairwise(row)]
            for term in terms:
                weights["parts" if meeting.by_name else "pairs"].setdefault(term, 1.0)
        return {family: self._asked(family, named) for family, named in weights.items()}

    def _asked(self, family: str, named: dict[str, float]) -> Asked:
        codes = np.array([code(term) for term in named], np.uint32)
        weights = np.array(list(named.values()), np.float32)
        return keep(family, codes, weights, [(term, -1) for term in named], self._posts)
