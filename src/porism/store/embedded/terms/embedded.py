"""`TermIndex` over mapped files: dictionaries, posting lists and lengths of each family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import Unit, View
from porism.caching import cached_method
from porism.deadline import check
from porism.store.embedded.storage.columns import CountedKeys, read_array, smallest
from porism.store.embedded.terms.dictionary import Dictionary, Hashes, find_sorted, hash_terms
from porism.store.embedded.terms.postings import (
    PostingLists,
    UnitMap,
    add_bm25_documents,
    add_bm25_lists,
    best,
    document_frequencies,
    unit_counts,
)
from porism.store.records import NO_HITS, UNKNOWN, Filter, Hits, Term, TermQuery, TermStatistics
from porism.store.weighting import BM25, IDFS, BM25Plus, LengthBias, TermCounts, ViewCounts, length_factor

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
LISTS_AT_ONCE = 16  # posting lists that are added between two checks of the time limit
VIEWS_KEPT = 64  # pairs of a view and a family whose lengths are kept: 8 bytes a document
FACTORS_KEPT = 4  # families whose length factors are kept, where every row is a document: 8 bytes a document


def write_frequencies(path: Path, units: npt.NDArray[np.int32] | None) -> None:
    """Write how many documents contain each term, beside its posting lists."""
    counts = document_frequencies(PostingLists(path), units)
    np.save(f"{path}.documents.npy", smallest(counts))


def look_up(counted: CountedKeys, keys: npt.NDArray[Any]) -> Ints:
    """Return the counts of keys, 0 for those that were not counted."""
    counts, at = np.zeros(len(keys), np.int64), find_sorted(counted.keys, keys)
    counts[at >= 0] = counted.counts[at[at >= 0]]
    return counts


class TermGroup(NamedTuple):
    """The terms of one family of a query: their positions in the query, and their hashes."""

    family: str
    places: Ints
    hashes: Hashes


class QueryTotals(NamedTuple):
    """Statistics of a query over all segments of an index, which a segment needs to score like the whole index: the
    document frequency and the number of occurrences of each term (in the order of the query), the counts of the view by
    family, and the terms by family."""

    documents: Ints
    occurrences: Floats
    views: Mapping[str, ViewCounts]
    groups: Sequence[TermGroup]


class TermFamily:
    """One family of an index."""

    def __init__(self, directory: Path, name: str, deleted: CountedKeys | None = None) -> None:
        path = directory / name
        self.dictionary = Dictionary(path)
        self.lists = PostingLists(path)
        self.documents: npt.NDArray[np.unsignedinteger[Any]] = read_array(directory / f"{name}.documents.npy")
        self.lengths: npt.NDArray[np.integer[Any]] = read_array(directory / f"{name}.lengths.npy")
        self._deleted = deleted

    def document_counts(self, codes: Ints) -> Ints:
        """Return how many documents that are not deleted contain each term."""
        counts = self.documents[codes].astype(np.int64)
        return counts if self._deleted is None else counts - look_up(self._deleted, codes)


class _Scored(NamedTuple):
    """The score of every document of a view, and which documents have a term of the query."""

    scores: Floats
    matched: Mask


class DocumentUnits(NamedTuple):
    """Which rows belong to each unit, the unit whose document frequencies are stored, and what turns a filter into a
    mask over the documents of a unit."""

    rows: Mapping[str, UnitMap]
    main: Unit
    allowed: Callable[[Filter, Unit], Mask] | None = None


class EmbeddedTermIndex:
    """An opened index. Safe for concurrent use."""

    def __init__(
        self,
        directory: Path,
        families: Sequence[str],
        fields: tuple[str, ...],
        units: DocumentUnits,
        deleted: Mapping[str, CountedKeys] | None = None,
    ) -> None:
        self.fields = fields
        self._families = {name: TermFamily(directory, name, (deleted or {}).get(name)) for name in families}
        self._units, self._main, self._allowed = units
        self._view_lengths = cached_method(VIEWS_KEPT, self._lengths_of)
        self._length_factors = cached_method(FACTORS_KEPT, self._factors_of)

    def count(self, family: str, view: View) -> ViewCounts:
        """Return the number of documents of a view and the sum of their lengths in a family."""
        return self._view_lengths(family, view)[1]

    def statistics(self, terms: Sequence[Term], view: View) -> TermStatistics:
        """Return the codes and document frequencies of many terms."""
        return self._living(group_terms(terms), len(terms), view)

    def _living(self, groups: Sequence[TermGroup], size: int, view: View) -> TermStatistics:
        """Return the codes and document frequencies of the terms that documents contain which are not deleted."""
        found = self.find(groups, size, view)
        found.keys[found.documents == 0] = UNKNOWN
        return found

    def find(self, groups: Sequence[TermGroup], size: int, view: View) -> TermStatistics:
        """Return the codes and document frequencies of all terms of groups. A term that only deleted documents contain
        has a code, too."""
        codes, documents = np.full(size, UNKNOWN, np.int64), np.zeros(size, np.int64)
        weights = view.vector(self.fields)
        stored = view.unit == self._main and all(weights)  # then the stored frequencies are those of the view
        for name, places, hashes in groups:
            family = self._families[name]
            own = family.dictionary.find_hashes(hashes)
            codes[places] = own
            known = places[own != UNKNOWN]
            if stored:
                documents[known] = family.document_counts(codes[known])
            else:
                documents[known] = [len(self._unit_counts(family, int(codes[at]), view)[0]) for at in known]
        return TermStatistics(codes, documents)

    def occurrences(self, term: Term, view: View) -> float:
        """Return the sum of the weighted counts of a term over all documents of a view."""
        return float(self._counts_of(term, view)[1].sum())

    def dictionary(self, family: str) -> Dictionary:
        """Return the dictionary of a family."""
        return self._families[family].dictionary

    def search(self, query: TermQuery, totals: QueryTotals | None = None) -> Hits:
        """Return the k best documents. A segment of an index gets the `totals` of the distinct terms."""
        if query.k < 1 or not query.terms:
            return NO_HITS
        query = replace(query, terms=merge_terms(query.terms))
        size = self._units[query.view.unit].size
        found = _Scored(np.zeros(size), matched := np.zeros(size, np.bool_))
        add = self._add_bm25 if isinstance(query.weighting, (BM25, BM25Plus)) else self._add_any
        add(query, totals, found)
        for term in query.required:
            containing = np.zeros(size, np.bool_)
            containing[self.documents(term, query.view)] = True
            matched &= containing
        if query.allow and self._allowed is not None:
            matched &= self._allowed(query.allow, query.view.unit)
        return Hits(*best(found.scores, matched, query.k))

    def _add_bm25(self, query: TermQuery, totals: QueryTotals | None, hits: _Scored) -> None:
        terms, view, weighting = query.terms, query.view, query.weighting
        assert isinstance(weighting, (BM25, BM25Plus))
        units, weights = self._units[view.unit], np.array(view.vector(self.fields))
        groups = group_terms(terms) if totals is None else totals.groups
        found = self._living(groups, len(terms), view)
        frequencies = found.documents if totals is None else totals.documents
        term_weights = np.array([term.weight for term in terms])
        for name, places, _ in groups:
            own = places[found.keys[places] != UNKNOWN]
            if not len(own):
                continue
            family, (lengths, counts) = self._families[name], self._view_lengths(name, view)
            counts = counts if totals is None else totals.views[name]
            starts, ends = family.lists.spans(found.keys[own])
            factors = term_weights[own] * IDFS[weighting.idf](counts.documents, frequencies[own].astype(np.float64))
            mean = max(counts.mean_length, 1e-9)
            for at in range(0, len(own), LISTS_AT_ONCE):
                check()
                some = slice(at, at + LISTS_AT_ONCE)
                if units.identity and weights.tolist() == [1.0]:
                    lengths_of_rows = self._length_factors(name, view, mean, weighting.k1, weighting.b)
                    add_bm25_documents(
                        family.lists.data, starts[some], ends[some], lengths_of_rows, weighting.k1, weighting.delta,
                        factors[some], *hits,
                    )  # fmt: skip
                    continue
                add_bm25_lists(
                    family.lists.data, starts[some], ends[some], units.units, units.identity, weights, lengths,
                    mean, weighting.k1, weighting.b, weighting.delta, factors[some], *hits,
                )  # fmt: skip

    def _add_any(self, query: TermQuery, totals: QueryTotals | None, hits: _Scored) -> None:
        terms, view, weighting = query.terms, query.view, query.weighting
        codes = self.statistics(terms, view).keys.tolist()
        for at, (term, code) in enumerate(zip(terms, codes, strict=True)):
            if code == UNKNOWN:
                continue
            check()
            family, (lengths, whole) = self._families[term.family], self._view_lengths(term.family, view)
            rows, counts = self._unit_counts(family, code, view)
            about = TermCounts(len(rows), float(counts.sum()), term.weight)
            if totals is not None:
                about = TermCounts(int(totals.documents[at]), float(totals.occurrences[at]), term.weight)
                whole = totals.views[term.family]
            hits.scores[rows] += weighting.weigh(counts, lengths[rows], about, whole)
            hits.matched[rows] = True
        if isinstance(weighting, LengthBias):
            for name in sorted({term.family for term in terms}):
                weight = sum(term.weight for term in terms if term.family == name)
                np.add(hits.scores, weighting.bias(self._view_lengths(name, view)[0], weight), out=hits.scores)

    def documents(self, term: Term, view: View) -> Ints:
        """Return the documents of a view that contain a term, in the order of rows."""
        return self._counts_of(term, view)[0]

    def _counts_of(self, term: Term, view: View) -> tuple[Ints, Floats]:
        code = int(self.statistics([term], view).keys[0])
        return NO_HITS if code == UNKNOWN else self._unit_counts(self._families[term.family], code, view)

    def _unit_counts(self, family: TermFamily, code: int, view: View) -> tuple[Ints, Floats]:
        start, end = family.lists.span(code)
        return unit_counts(family.lists.data, start, end, self._units[view.unit], np.array(view.vector(self.fields)))

    def _lengths_of(self, family: str, view: View) -> tuple[Floats, ViewCounts]:
        """Return the length of every document of a view, and how many they are and their sum."""
        units = self._units[view.unit]
        lengths = self._families[family].lengths @ np.array(view.vector(self.fields))
        if not units.identity:
            inside = units.units >= 0
            lengths = np.bincount(units.units[inside], lengths[inside], units.size)
        return lengths, ViewCounts(units.size - units.deleted, float(lengths.sum()))

    def _factors_of(self, family: str, view: View, mean_length: float, k1: float, b: float) -> Floats:
        """Return BM25's factor of the length of every document."""
        return np.asarray(length_factor(self._view_lengths(family, view)[0], mean_length, k1, b))

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many documents of the main unit contain each term, by code."""
        return self._families[family].document_counts(codes)

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms with these codes, where the dictionary keeps texts."""
        return self._families[family].dictionary.texts(codes)

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes, which are decimal numbers, as integers."""
        return self._families[family].dictionary.numbers(codes)


def group_terms(terms: Sequence[Term]) -> list[TermGroup]:
    """Group terms by family and hash them, once for all segments."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at, term in enumerate(terms):
        found[term.family].append(at)
    return [
        TermGroup(family, np.array(places, np.int64), hash_terms([terms[at].text for at in places]))
        for family, places in found.items()
    ]


def merge_terms(terms: Sequence[Term]) -> list[Term]:
    """Merge equal terms into one with the sum of their weights."""
    if len({(term.family, term.text) for term in terms}) == len(terms):
        return list(terms)
    weights: dict[tuple[str, str], float] = {}
    for term in terms:
        weights[term.family, term.text] = weights.get((term.family, term.text), 0.0) + term.weight
    return [Term(family, text, weight) for (family, text), weight in weights.items()]
