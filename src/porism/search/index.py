"""An opened index as retrieval sees it: a snapshot of a store, and what is derived from it once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from porism.analysis.schema import DOCUMENT, THREAD, View
from porism.corpus.content import Content
from porism.search.answers.adaptation import Adaptation
from porism.search.answers.concept_matches import ConceptTable
from porism.search.formulas.searcher import FormulaSearcher
from porism.store.protocols import Snapshot

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
        """Whether there are answers. A collection of notes has none: a search for answers then returns the notes themselves."""
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
