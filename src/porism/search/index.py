"""An opened index as retrieval sees it: a snapshot, what is derived from it, and how it adapts ranking."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

from porism.analysis.features import RENAMED
from porism.analysis.learned import Concept, find_names
from porism.analysis.schema import DOCUMENT, THREAD, View
from porism.analysis.terms import feature_terms
from porism.corpus.content import Content
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.query import ReadQuery, query_features
from porism.store.protocols import Snapshot
from porism.store.records import Term
from porism.text.words import FORMULA, stems

USUAL = 5  # questions with one answer in all, from which on answers are usual


@dataclass(frozen=True)
class Index:
    """What retrievers work with. `snapshot` is the data; the rest is derived from it."""

    snapshot: Snapshot

    @property
    def content(self) -> Content:
        """The posts as people read them."""
        return self.snapshot.content

    @cached_property
    def formulas(self) -> FormulaSearcher:
        """Searches distinct formulas."""
        return FormulaSearcher(self.snapshot)

    @cached_property
    def concepts(self) -> ConceptTable:
        """The concepts by name and by formula."""
        return ConceptTable(self.snapshot.learned.concepts)

    @cached_property
    def adaptation(self) -> Adaptation:
        """What the collection taught its index about ranking."""
        return Adaptation.parse(self.snapshot.learned.ranking)

    @property
    def has_answers(self) -> bool:
        """Whether there are answers. Notes have none: a search for answers then returns the notes themselves."""
        return self.snapshot.info.count("answer") > 0

    @cached_property
    def is_forum(self) -> bool:
        """Whether questions usually have answers. In a collection of documents, few have any."""
        info = self.snapshot.info
        return info.count("answer") * USUAL > info.count("question")

    @property
    def view(self) -> View:
        """How the fields of a whole thread, or of a document, count."""
        return THREAD if self.is_forum else DOCUMENT


class Frequencies:
    """The numbers of threads with terms, remembered while a query is read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[Term, int] = {}

    def ask(self, terms: Iterable[Term]) -> None:
        """Ask for terms in one call, so that `documents` knows them."""
        new = [one for one in dict.fromkeys(terms) if one not in self._known]
        if new:
            self._known.update(zip(new, self._snapshot.statistics(new).documents.tolist(), strict=True))

    def documents(self, family: str, texts: Sequence[str]) -> list[int]:
        """Return the number of threads with each term."""
        wanted = [Term(family, text) for text in texts]
        self.ask(wanted)
        return [self._known[one] for one in wanted]


# The groups of features of questions, by the start of their names, that one factor raises or lowers.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "titles": ("title.words", "title.pairs", "title.tuples", "title.paths", "title.parts"),
    "feedback": ("feedback.",),
    "encoder": ("encoder.",),
}


@dataclass(frozen=True, slots=True)
class Adaptation:
    """Factors of groups of weights (none: the defaults), the gain in mean reciprocal rank on queries of the collection
    that did not choose them, its standard error, and the number of these queries."""

    factors: Mapping[str, float] = field(default_factory=dict)
    gain: float = 0.0
    error: float = 0.0
    queries: int = 0

    @classmethod
    def parse(cls, text: str) -> Adaptation:
        """Return the choice that an index recorded; the defaults for an empty text."""
        return cls(**json.loads(text)) if text else cls()

    def as_text(self) -> str:
        """Return the choice as an index records it."""
        return json.dumps(asdict(self), sort_keys=True)

    def adapted(self, weights: Mapping[str, float]) -> Mapping[str, float]:
        """Return weights of questions by feature, multiplied by the factors of their groups."""
        adapted = dict(weights)
        for group, factor in self.factors.items():
            adapted |= {name: weight * factor for name, weight in weights.items() if name.startswith(GROUPS[group])}
        return adapted

    def __str__(self) -> str:
        """Say what was chosen, and how sure it is."""
        if not self.queries:
            return "default weights"
        gain = f"{self.gain:+.3f} ± {self.error:.3f} MRR on {self.queries} queries of the collection"
        if not self.factors:
            return f"default weights (no other ones are surely better: {gain})"
        return ", ".join(f"{group} x {factor:g}" for group, factor in self.factors.items()) + f" ({gain})"


MOST_CONCEPTS = 5  # of each direction that a query uses


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept whose name is in the query, so that it adds the formula, or whose formula is, so that it adds the
    name."""

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
        """Return the strongest concepts of a query's title; the body of a whole post matches too many."""
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
        found = ((named, True), (contained, False))
        strongest = [(sorted(own, key=lambda one: -one.strength), by_name) for own, by_name in found]
        return [ConceptMatch(one, by_name) for own, by_name in strongest for one in own[:MOST_CONCEPTS]]
