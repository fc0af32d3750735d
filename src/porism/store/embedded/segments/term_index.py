"""`TermIndex` over several segments. Statistics are summed over the segments, and each segment scores with the sums, so
that scores equal those of a single segment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import View
from porism.caching import cached_method
from porism.store.embedded.terms.dictionary import Dictionary, find_sorted
from porism.store.embedded.terms.embedded import (
    VIEWS_KEPT,
    EmbeddedTermIndex,
    QueryTotals,
    TermGroup,
    group_terms,
    merge_terms,
)
from porism.store.records import NO_HITS, UNKNOWN, Hits, Term, TermQuery, TermStatistics
from porism.store.weighting import BM25, BM25Plus, ViewCounts

Ints = npt.NDArray[np.int64]


NO_MAPPING = np.empty(0, np.uint32)
DELETED = -1


class SegmentCodes:
    """The codes of one later segment: `codes[local]` is the code in the index; new terms have codes from `first` on."""

    def __init__(self, codes: npt.NDArray[np.uint32], first: int) -> None:
        self.codes = codes
        self.first = first

    @cached_property
    def new(self) -> Ints:
        """The local codes of the new terms, in the order of their codes in the index."""
        return np.flatnonzero(self.codes >= self.first)

    @cached_property
    def order(self) -> Ints:
        """The local codes in the order of their codes in the index."""
        return np.argsort(self.codes, kind="stable")


class FamilyCodes:
    """The codes of one family of terms in all segments."""

    def __init__(self, dictionaries: Sequence[Dictionary]) -> None:
        self._dictionaries = dictionaries
        self._first_size = len(dictionaries[0])
        self.size = self._first_size
        self._later: list[SegmentCodes] = []
        for segment, dictionary in enumerate(dictionaries[1:], 1):
            self._later.append(self._number(dictionary, segment))
            self.size += len(self._later[-1].new)

    def _number(self, dictionary: Dictionary, segment: int) -> SegmentCodes:
        hashes = dictionary.by_id()
        codes = np.full(len(hashes), UNKNOWN, np.int64)
        for earlier in range(segment):
            missing = np.flatnonzero(codes == UNKNOWN)
            found = self._dictionaries[earlier].find_hashes(hashes[missing])
            known = found != UNKNOWN
            codes[missing[known]] = self.to_index(earlier, found[known])
        new = np.flatnonzero(codes == UNKNOWN)
        codes[new] = self.size + np.arange(len(new))
        return SegmentCodes(codes.astype(np.uint32), self.size)

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Return the hashes of all terms in the order of codes."""
        own = [later.by_id()[codes.new] for later, codes in zip(self._dictionaries[1:], self._later, strict=True)]
        return np.concatenate([self._dictionaries[0].by_id(), *own])

    def mapping(self, segment: int) -> npt.NDArray[np.uint32]:
        """Return the codes in the index of all codes of a segment; none for the first one, whose codes are the same."""
        return self._later[segment - 1].codes if segment else NO_MAPPING

    def to_index(self, segment: int, codes: Ints) -> Ints:
        """Return the codes in the index of codes of a segment."""
        return self._later[segment - 1].codes[codes].astype(np.int64) if segment else codes

    def to_segment(self, segment: int, codes: Ints) -> Ints:
        """Return the codes in a segment of codes of the index, UNKNOWN for terms that the segment lacks."""
        if not segment:
            return np.where(codes < self._first_size, codes, UNKNOWN)
        own = self._later[segment - 1]
        return find_sorted(own.codes, codes, own.order)


class SegmentRows(NamedTuple):
    """Requested rows that are in one segment: the segment, positions in the request, rows in the segment."""

    segment: int
    positions: Ints
    rows: Ints


class RowMap:
    """The rows of an index and where they are. Memory: 10 bytes a row."""

    def __init__(self, keys: Sequence[Ints], deleted: Sequence[Ints]) -> None:
        """Number the rows by `keys`, one array for each segment; `deleted` has the deleted rows of each segment."""
        kept = [np.delete(np.arange(len(own)), gone) for own, gone in zip(keys, deleted, strict=True)]
        sizes = [len(rows) for rows in kept]
        order = np.argsort(np.concatenate([own[rows] for own, rows in zip(keys, kept, strict=True)]), kind="stable")
        self._segments = np.repeat(np.arange(len(sizes), dtype=np.uint16), sizes)[order]
        self._rows = np.concatenate(kept).astype(np.int32)[order]
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order))
        self._numbers: list[npt.NDArray[np.int32]] = []
        for own, rows, part in zip(keys, kept, np.split(numbers, np.cumsum(sizes)[:-1]), strict=True):
            found = np.full(len(own), DELETED, np.int32)
            found[rows] = part
            self._numbers.append(found)

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, segment: int, rows: Ints) -> Ints:
        """Return the rows of the index of rows of a segment, DELETED for deleted ones."""
        return self._numbers[segment][rows].astype(np.int64)

    def split(self, rows: Ints) -> Iterator[SegmentRows]:
        """Yield rows of the index by segment, each segment that has any of them once."""
        segments = self._segments[rows]
        for segment in np.unique(segments).tolist():
            positions = np.flatnonzero(segments == segment)
            yield SegmentRows(segment, positions, self._rows[rows[positions]].astype(np.int64))


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
        found = [""] * len(codes)
        for number, segment in enumerate(self._segments):
            own = self.codes[family].to_segment(number, codes)
            known = np.flatnonzero(own != UNKNOWN)
            for at, text in zip(known.tolist(), segment.texts(family, own[known]), strict=True):
                found[at] = text
        return found

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes, which are decimal numbers, as integers."""
        values = np.zeros(len(codes), np.int64)
        for number, segment in enumerate(self._segments):
            own = self.codes[family].to_segment(number, codes)
            values[own != UNKNOWN] = segment.numbers(family, own[own != UNKNOWN])
        return values

    def search(self, query: TermQuery) -> Hits:
        """Return the k best documents of all segments."""
        if query.k < 1 or not query.terms:
            return NO_HITS
        query = replace(query, terms=merge_terms(query.terms))
        totals = self._totals(query)
        rows, scores = [np.empty(0, np.int64)], [np.empty(0)]
        for number, segment in enumerate(self._segments):
            found = segment.search(query, totals)
            rows.append(self._rows(query.view.unit).number(number, found.numbers))
            scores.append(found.scores)
        all_rows, all_scores = np.concatenate(rows), np.concatenate(scores)
        best = np.lexsort((all_rows, -all_scores))[: query.k]
        return Hits(all_rows[best], all_scores[best])

    def _totals(self, query: TermQuery) -> QueryTotals:
        terms, view = query.terms, query.view
        occurrences = np.zeros(len(terms))
        if not isinstance(query.weighting, (BM25, BM25Plus)):  # those do not read it
            occurrences += [sum(segment.occurrences(term, view) for segment in self._segments) for term in terms]
        views = {family: self.count(family, view) for family in {term.family for term in terms}}
        groups = group_terms(terms)
        return QueryTotals(self._sum(groups, len(terms), view).documents, occurrences, views, groups)
