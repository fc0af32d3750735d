"""An opened index as retrieval sees it: terms and documents of posts, formulas, concepts and vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from porism.analysis.concepts import read_concepts
from porism.analysis.schema import DOCUMENT, THREAD, View
from porism.analysis.vocabulary import Vocabulary
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.integrity import Verify, check_opened
from porism.search.answers.adaptation import Adaptation
from porism.search.answers.concept_matches import ConceptTable
from porism.search.formulas.overlap import BoundFormulas, SimilarFormulas, bound_formulas, compare_formulas
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.query import ReadQuery
from porism.store.embedded.encoded.texts import OPTION
from porism.store.embedded.manifest import REBUILD, SEARCH, Manifest, read_manifest
from porism.store.embedded.segments.opening import open_segments
from porism.store.protocols import DocumentStore, TermIndex

if TYPE_CHECKING:  # only an index with vectors of posts needs them
    from porism.store.embedded.encoded.store import EncodedPosts

NO_ENCODER = "none"  # in place of a model: search without vectors of posts
USUAL = 5  # questions with one answer in all, from which on answers are usual


class QueryVectors(Protocol):
    """Turns the terms of a query into a vector."""

    def query(self, codes: npt.NDArray[np.int64], weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the vector of terms by their codes and weights."""
        ...


@dataclass(frozen=True)
class Index:
    """What retrieval needs: `terms` and `documents` are the two protocols of posts, `formulas` searches distinct formulas."""

    terms: TermIndex
    documents: DocumentStore
    formulas: FormulaSearcher
    concepts: ConceptTable
    vectors: Mapping[str, QueryVectors] = field(default_factory=dict)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    encoded: EncodedPosts | None = None  # vectors of posts by a bi-encoder
    adaptation: Adaptation = field(default_factory=Adaptation)

    @property
    def has_answers(self) -> bool:
        """Whether there are answers. A collection of notes has none: a search for answers then returns the notes themselves."""
        return self.documents.size("answer") > 0

    @cached_property
    def is_forum(self) -> bool:
        """Whether questions usually have answers. In a collection of documents, few have any."""
        return self.documents.size("answer") * USUAL > self.documents.size("question")

    @property
    def view(self) -> View:
        """How the fields of a whole thread, or of a document, count."""
        return THREAD if self.is_forum else DOCUMENT

    def compare_formulas(self, query: ReadQuery, codes: npt.NDArray[np.int64]) -> tuple[SimilarFormulas, ...]:
        """Compare the formulas of a query with formulas of posts, given by the codes by which posts name them."""
        return compare_formulas(query, codes, self.formulas, self.terms)

    def bound_formulas(self, query: ReadQuery) -> tuple[BoundFormulas, ...]:
        """Return formulas of the collection that are similar to those with wildcards of a query."""
        return bound_formulas(query, self.formulas, self.terms)


@dataclass(frozen=True)
class OpenedIndex:
    """An opened index: one commit of it, with the collection of that commit and the number of the commit."""

    index: Index
    collection: Collection
    generation: int


def open_index(path: Path, verify: Verify = "quick", encoder: str | Path | None = None) -> OpenedIndex:
    """Open an index and its collection, or say what is wrong and what to run. Both are of the same commit.

    `encoder` is where the model of its vectors is now, or NO_ENCODER to leave the vectors out.
    """
    while True:
        manifest = read_manifest(path, SEARCH)
        try:
            collection = _open_collection(path, manifest, verify)
            index = replace(_open_segments(path, manifest, collection, verify), adaptation=Adaptation.of(manifest))
            if encoder != NO_ENCODER:
                index = replace(index, encoded=_open_encoded(path, manifest, encoder))
            return OpenedIndex(index, collection, manifest.generation)
        except (PorismError, OSError):
            # A merge may have replaced files while they were opened: then a later commit can be opened.
            if read_manifest(path, SEARCH).generation == manifest.generation:
                raise


def _open_encoded(path: Path, manifest: Manifest, encoder: str | Path | None) -> EncodedPosts | None:
    """Open the vectors of posts. Most indexes have none, and then nothing is imported for them."""
    if OPTION not in manifest.options and encoder is None:
        return None
    from porism.store.embedded.encoded.adding import open_encoded

    return open_encoded(path, manifest, encoder)


def _open_collection(path: Path, manifest: Manifest, verify: Verify) -> Collection:
    home = (path / str(manifest.options["collection"])).resolve()
    collection = Collection.open(home, verify)
    if collection.digest != manifest.collection:
        raise PorismError(
            f"was built from another collection than the one at {home}",
            where=str(path),
            fix=f"build the index again: porism index {home} -o {path}",
        )
    return collection


def _open_segments(path: Path, manifest: Manifest, collection: Collection, verify: Verify) -> Index:
    check_opened(path, manifest.files, REBUILD.format(path), verify)
    opened = open_segments(path, manifest, collection)
    concepts = ConceptTable(read_concepts(opened.learned / "posts"))
    formulas = FormulaSearcher(opened.formulas)
    return Index(opened.terms, opened.documents, formulas, concepts, opened.vectors, Vocabulary(opened.learned))
