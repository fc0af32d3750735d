"""An opened index as retrieval sees it: terms and documents of posts, formulas, concepts and vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.index.concepts.concept import read_concepts
from porism.index.manifest import REBUILD, SEARCH, read_manifest
from porism.index.protocols import DocumentStore, TermIndex
from porism.index.segments.opening import open_segments
from porism.index.vocabulary import Vocabulary
from porism.integrity import Verify, check_opened
from porism.search.answers.concept_matches import ConceptTable
from porism.search.formulas.overlap import SimilarFormulas, similar_formulas
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.query import ReadQuery


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

    @property
    def has_answers(self) -> bool:
        """Whether there are answers. A collection of notes has none: a search for answers then returns the notes themselves."""
        return self.documents.size("answer") > 0

    def similar_formulas(self, query: ReadQuery) -> tuple[SimilarFormulas, ...]:
        """Return formulas of the collection that are similar to those of a query."""
        return similar_formulas(query, self.formulas, self.terms)


def open_collection(path: Path, verify: Verify = "quick") -> Collection:
    """Open the collection that an index was built from, or say what is wrong and what to run."""
    manifest = read_manifest(path, SEARCH)
    home = (path / str(manifest.options["collection"])).resolve()
    collection = Collection.open(home, verify)
    if collection.digest != manifest.collection:
        raise PorismError(
            f"was built from another collection than the one at {home}",
            where=str(path),
            fix=f"build the index again: porism index {home} -o {path}",
        )
    return collection


def open_index(path: Path, collection: Collection, verify: Verify = "quick") -> Index:
    """Open the index of a collection."""
    manifest = read_manifest(path, SEARCH)
    check_opened(path, manifest.files, REBUILD.format(path), verify)
    opened = open_segments(path, manifest, collection)
    concepts = ConceptTable(read_concepts(opened.learned / "posts"))
    formulas = FormulaSearcher(opened.formulas)
    return Index(opened.terms, opened.documents, formulas, concepts, opened.vectors, Vocabulary(opened.learned))
