"""Candidate threads: the union of the best of several searches. Each search finds threads that the others miss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import EVERY_FIELD, NAME_FAMILY, VISUAL_FAMILY
from porism.evaluate.fusion import ScoredIds
from porism.search.answers.concept_matches import CONCEPT_FAMILIES
from porism.search.answers.context import Contexts, QueryContext
from porism.search.answers.term_search import TermSearch
from porism.search.fusion import RRF, Fusion
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.store.embedded.encoded.texts import EncodedField
from porism.store.protocols import UNKNOWN, Candidates, Filter, Term
from porism.store.weighting import BM25

Ints = npt.NDArray[np.int64]
PRESENCE = BM25(k1=0.0)  # a formula or a name counts once
SOURCES = (
    TermSearch(("words", "pairs")),
    TermSearch(("tuples", "paths")),
    TermSearch(("parts",)),
    TermSearch(CONCEPT_FAMILIES, concepts=True),
    TermSearch((NAME_FAMILY,), PRESENCE, EVERY_FIELD),
)
ENCODED_SOURCES: tuple[EncodedField, ...] = ("questions",)  # fields of the vectors of posts that give candidates
DEPTH = 1000  # threads of each source
MOST_THREADS = DEPTH * len(SOURCES)  # the largest number of candidates, whatever the size of the collection


def _with_bound_formulas(context: QueryContext, allow: Filter | None) -> list[Candidates]:
    """Return the threads with formulas to which a query with wildcards binds: none of its terms finds them."""
    if not any(formula.has_wildcards for formula in context.query.formulas):
        return []
    ids = dict.fromkeys(number for found in context.bound_formulas for number in found.visual_ids)
    terms = [Term(VISUAL_FAMILY, str(number)) for number in ids]
    return [context.index.terms.search(terms, EVERY_FIELD, PRESENCE, DEPTH, allow=allow)] if terms else []


def _encoded(context: QueryContext, allow: Filter | None) -> list[Candidates]:
    """Return the threads whose questions or answers have vectors near to that of the query. A filter knows terms only: with one, none."""
    encoded, query = context.index.encoded, None if allow else context.encoded_query
    if encoded is None or query is None:
        return []
    found = []
    for field in ENCODED_SOURCES:
        if field in encoded.fields:
            near = encoded.search(field, query, DEPTH)
            threads = context.index.documents.locate(near.ids).threads
            rows, first = np.unique(threads[threads != UNKNOWN], return_index=True)
            scores = near.scores[threads != UNKNOWN][first].astype(np.float64)
            order = np.lexsort((rows, -scores))
            found.append(Candidates(rows[order], scores[order]))
    return found


class ThreadCandidates(Retriever):
    """Find candidate threads, identified by their questions."""

    def __init__(
        self,
        contexts: Contexts,
        sources: Sequence[TermSearch] = SOURCES,
        fusion: Fusion | None = None,
        encoded: bool = False,
    ) -> None:
        """`encoded` says whether vectors of posts, where the index has them, are a source."""
        self._encoded = encoded
        self._contexts = contexts
        self._sources = sources
        self._fusion = fusion or RRF()

    def search(self, query: ReadQuery, k: int, allow: Filter | None = None) -> Ranking:
        """Return the best k threads of all sources together."""
        context = self._contexts.of(query)
        found = [source.candidates(context, DEPTH, allow) for source in self._sources]
        found += _with_bound_formulas(context, allow)
        found += _encoded(context, allow) if self._encoded else []
        fused = self._fusion.fuse([ScoredIds(one.rows, one.scores) for one in found])
        ids = self._contexts.index.documents.post_ids("thread", fused.ids[:k])
        return Ranking(ids, fused.scores[:k])
