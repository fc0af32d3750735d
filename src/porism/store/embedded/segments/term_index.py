"""`TermIndex` over several segments. Statistics are summed over the segments, and each segment scores with the sums, so that scores equal
those of a single segment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import View
from porism.caching import cached_method
from porism.store.embedded.segments.codes import FamilyCodes
from porism.store.embedded.segments.rows import RowMap
from porism.store.embedded.terms.embedded import (
    VIEWS_KEPT,
    EmbeddedTermIndex,
    QueryTotals,
    TermGroup,
    group_terms,
    merge_terms,
)
from porism.store.records import UNKNOWN, Filter, Hits, Term, TermStatistics
from porism.store.weighting import BM25, BM25Plus, ViewCounts, Weighting

Ints = npt.NDArray[np.int64]


class SegmentedTermIndex:
    """Segments as one `TermIndex`. `rows` returns the rows of a unit, `codes` are the term codes by family."""

    def __init__(
        self, segments: Sequence[EmbeddedTermIndex], families: Sequence[str], rows: Callable[[str], RowMap]
    ) -> None:
        self._segments = segments
        self._rows = rows
        self.codes: Mapping[str, FamilyCodes] = {
            family: FamilyCodes([segment.dictionary(family) for segment in segments]) for family in families
        }
        self._counts = cached_method(VIEWS_KEPT, self._count)

    def count(self, family: str, view: View) -> ViewCounts:
        """Return the number of documents of a view and the sum of their lengths in a family."""
        return self._counts(family, view)

    def _count(self, family: str, view: View) -> ViewCounts:
        counts = [segment.count(family, view) for segment in self._segments]
        return ViewCounts(sum(one.documents for one in counts), sum(one.length for one in counts))

    def statistics(self, terms: Sequence[Term], view: View) -> TermStatistics:
        """Return the codes and document frequencies of many terms."""
        return self._sum(group_terms(terms), len(terms), view)

    def _sum(self, groups: Sequence[TermGroup], size: int, view: View) -> TermStatistics:
        codes, documents = np.full(size, UNKNOWN, np.int64), np.zeros(size, np.int64)
        for number, segment in enumerate(self._segments):
            found = segment.find(groups, size, view)
            documents += found.documents
            for group in groups:
                new = group.places[(found.keys[group.places] != UNKNOWN) & (codes[group.places] == UNKNOWN)]
                codes[new] = self.codes[group.family].to_index(number, found.keys[new])
        codes[documents == 0] = UNKNOWN
        return TermStatistics(codes, documents)

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many documents contain each term, by code."""
        total = np.zeros(len(codes), np.int64)
        for number, segment in enumerate(self._segments):
            own = self.codes[family].to_segment(number, codes)
            known = own != UNKNOWN
            total[known] += segment.frequencies(family, own[known])
        return total

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms with these codes, where the dictionaries keep texts."""
        places = [self.codes[family].local(code) for code in codes.tolist()]
        return [self._segments[one.segment].texts(family, np.array([one.code]))[0] for one in places]

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes, which are decimal numbers, as integers."""
        values = np.zeros(len(codes), np.int64)
        for number, segment in enumerate(self._segments):
            own = self.codes[family].to_segment(number, codes)
            values[own != UNKNOWN] = segment.numbers(family, own[own != UNKNOWN])
        return values

    def search(
        self,
        terms: Sequence[Term],
        view: View,
        weighting: Weighting,
        k: int,
        *,
        allow: Filter | None = None,
        required: Sequence[Term] = (),
    ) -> Hits:
        """Return the k best documents of all segments."""
        if k < 1 or not terms:
            return Hits(np.empty(0, np.int64), np.empty(0))
        merged = merge_terms(terms)
        totals = self._totals(merged, view, weighting)
        rows, scores = [np.empty(0, np.int64)], [np.empty(0)]
        for number, segment in enumerate(self._segments):
            found = segment.search(merged, view, weighting, k, allow=allow, required=required, totals=totals)
            rows.append(self._rows(view.unit).number(number, found.numbers))
            scores.append(found.scores)
        all_rows, all_scores = np.concatenate(rows), np.concatenate(scores)
        best = np.lexsort((all_rows, -all_scores))[:k]
        return Hits(all_rows[best], all_scores[best])

    def _totals(self, terms: Sequence[Term], view: View, weighting: Weighting) -> QueryTotals:
        occurrences = np.zeros(len(terms))
        if not isinstance(weighting, (BM25, BM25Plus)):  # those do not read it
            occurrences += [sum(segment.occurrences(term, view) for segment in self._segments) for term in terms]
        views = {family: self.count(family, view) for family in {term.family for term in terms}}
        groups = group_terms(terms)
        return QueryTotals(self._sum(groups, len(terms), view).documents, occurrences, views, groups)
