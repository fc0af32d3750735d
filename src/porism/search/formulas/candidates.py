"""Candidates of a formula query: the union of several searches over the posting lists, since each kind of term misses
some formulas; and the candidates as packed arrays, with everything that the re-ranking features read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FORMULA
from porism.formula.canonical.forms import LEVELS, Level
from porism.search.formulas.occurrence import LEVEL_OF_PREFIX, by_shape, root_terms, with_all_paths
from porism.search.formulas.query import FormulaQuery
from porism.store.protocols import Snapshot
from porism.store.records import FormulaRecords, Formulas, Hits, PathRows, StoreInfo, SymbolSequences, Term, TermQuery
from porism.store.weighting import BM25, lucene_idf, saturation

WEIGHTING = BM25()
PATH_DEPTH, PART_DEPTH = 200, 200
MAX_PATHS = 40  # the rarest of the query; frequent ones have long posting lists and change few candidates
# Terms that more than this share of all formulas contain select little, and their posting lists take most of the time
# in a large index. Below LARGE_INDEX formulas every term is searched, since time does not matter there.
MAX_DOCUMENT_SHARE = {"tuples": 0.5, "paths": 0.2}
LARGE_INDEX = 20_000
MIN_POSTINGS = 20  # for each requested candidate; if the rarer terms have fewer, the frequent ones are searched too
# A formula outside the list of the tuple search scored less than the last one in it; assume this share of that score.
UNLISTED_SHARE = 0.5
NO_LEVEL = -1
MAX_CONTAINING = 10_000  # formulas at each level that a sub-formula search ranks


class Candidates(NamedTuple):
    """Numbers of formulas, ascending, and their tuple score: BM25 divided by the score of the query against itself."""

    numbers: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]


class CountedTerms(NamedTuple):
    """Distinct terms of one family, and how many formulas have each."""

    terms: list[Term]
    documents: npt.NDArray[np.int64]

    def some(self, positions: npt.NDArray[np.int64]) -> CountedTerms:
        """Return the terms at some positions."""
        return CountedTerms([self.terms[at] for at in positions.tolist()], self.documents[positions])


class QueryCounts(NamedTuple):
    """The terms of a query that are counted before it is searched: tuples, paths, and those of the whole query."""

    tuples: CountedTerms
    paths: CountedTerms
    roots: CountedTerms


class FoundFormulas(NamedTuple):
    """What the searches of a query found: the numbers of formulas that contain the query, each with its strictest
    level; of those that may contain it; and all candidates."""

    containing: dict[int, Level]
    possible: list[int]
    candidates: Candidates


class CandidateSearch:
    """The searches of one query over the posting lists: the best `depth` formulas by tuples, more by paths and
    sub-expressions, those that contain the query as a whole (the shortest first), and those that may contain it.

    With `whole_only`, only formulas that contain the query are wanted."""

    def __init__(self, query: FormulaQuery, counts: QueryCounts, info: StoreInfo, depth: int, whole_only: bool) -> None:
        self._info = info
        self._depth = depth
        self._tuples = counts.tuples
        roots = zip(counts.roots.terms, counts.roots.documents.tolist(), strict=True)
        self._roots = [term for term, number in roots if number]
        containing = [TermQuery([term], FORMULA, MAX_CONTAINING if whole_only else depth) for term in self._roots]
        possible = with_all_paths(query) if whole_only or query.has_wildcards else []
        possible += by_shape(query) if query.has_wildcards else []
        paths = _rarest(counts.paths, info)
        self.searches = [
            *containing,
            *possible,
            TermQuery(self._selective("tuples", counts.tuples, depth), FORMULA, depth),
            TermQuery(self._selective("paths", paths, PATH_DEPTH), FORMULA, PATH_DEPTH),
            TermQuery(_terms("parts", Counter(query.features.parts)), FORMULA, PART_DEPTH),
        ]

    def _selective(self, family: str, counted: CountedTerms, depth: int) -> Sequence[Term]:
        return selective_terms(family, counted, depth, self._info.count("formula"))

    def found(self, hits: Sequence[Hits]) -> FoundFormulas:
        """Return what the searches found, given their hits."""
        levels, rest = hits[: len(self._roots)], hits[len(self._roots) :]
        containing: dict[int, Level] = {}
        for term, own in zip(self._roots, levels, strict=True):
            level = LEVEL_OF_PREFIX[term.text[0]]
            containing = dict.fromkeys(own.numbers.tolist(), level) | containing  # a stricter level stays
        possible = list(dict.fromkeys(number for own in rest[:-3] for number in own.numbers.tolist()))
        tuples, paths, parts = rest[-3:]
        extra = np.array([*containing, *possible], np.int64)
        numbers = np.unique(np.concatenate((tuples.numbers, paths.numbers, parts.numbers, extra)))
        scores = np.full(len(numbers), UNLISTED_SHARE * _lowest_score(tuples, self._depth))
        scores[np.searchsorted(numbers, tuples.numbers)] = tuples.scores
        scores /= self_score(self._tuples, self._info)
        return FoundFormulas(containing, possible, Candidates(numbers, scores))


def _terms(family: str, counts: Counter[str]) -> list[Term]:
    return [Term(family, text, float(count)) for text, count in counts.items()]


def count_terms(queries: Sequence[FormulaQuery], snapshot: Snapshot) -> list[QueryCounts]:
    """Count the terms of queries in one call."""
    families = [
        own
        for query in queries
        for own in (
            _terms("tuples", query.tuples),
            _terms("paths", Counter(query.features.paths)),
            [Term("parts", text) for text in root_terms(query)],
        )
    ]
    found = snapshot.statistics([term for own in families for term in own], "formula").documents
    ends = np.cumsum([len(own) for own in families]).tolist()
    counted = [CountedTerms(own, found[end - len(own) : end]) for own, end in zip(families, ends, strict=True)]
    return [QueryCounts(*counted[at : at + 3]) for at in range(0, len(counted), 3)]


def selective_terms(family: str, counted: CountedTerms, depth: int, formulas: int) -> Sequence[Term]:
    """Return the terms of a family; in a large index without the most frequent ones, if the others select enough."""
    if formulas < LARGE_INDEX:
        return counted.terms
    rare = np.flatnonzero(counted.documents <= MAX_DOCUMENT_SHARE[family] * formulas)
    enough = counted.documents[rare].sum() >= MIN_POSTINGS * depth
    return counted.some(rare).terms if enough else counted.terms


def _rarest(paths: CountedTerms, info: StoreInfo) -> CountedTerms:
    """Return the MAX_PATHS paths that the fewest formulas have."""
    if len(paths.terms) <= MAX_PATHS:
        return paths
    # Paths that no formula has select nothing.
    frequencies = np.where(paths.documents == 0, info.count("formula") + 1, paths.documents)
    return paths.some(np.argsort(frequencies, kind="stable")[:MAX_PATHS])


def _lowest_score(found: Hits, depth: int) -> float:
    """Return the score that a formula outside the list cannot exceed."""
    return float(found.scores[-1]) if len(found.scores) == depth else 0.0


def self_score(tuples: CountedTerms, info: StoreInfo) -> float:
    """Return the BM25 score of a formula with these tuples against itself."""
    view = info.lengths("tuples", FORMULA)
    counts, mean = np.array([term.weight for term in tuples.terms], np.float64), max(view.mean_length, 1e-9)
    saturated = saturation(counts, float(counts.sum()), mean, WEIGHTING.k1, WEIGHTING.b)
    idf = lucene_idf(view.documents, tuples.documents.astype(np.float64))
    return max(1e-9, float((counts * idf) @ saturated))


class FormulaBatch(NamedTuple):
    """Candidates in one order: number in the store, visual id, tuple score, level at which the query occurs as a
    sub-expression (index into LEVELS, or NO_LEVEL), layout trees and operator trees as symbol sequences, and paths."""

    numbers: npt.NDArray[np.int64]
    visual_ids: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]
    levels: npt.NDArray[np.int8]
    layout: SymbolSequences
    operators: SymbolSequences
    paths: PathRows
    records: FormulaRecords

    @property
    def operator_sizes(self) -> npt.NDArray[np.int64]:
        """The number of nodes of each operator tree."""
        return self.operators.ends - self.operators.starts

    def split(self, count: int) -> list[FormulaBatch]:
        """Split the candidates into batches of about equal size that share the columns."""
        bounds = np.linspace(0, len(self.numbers), count + 1).astype(int).tolist()
        return [self.select(slice(a, b)) for a, b in pairwise(bounds)]

    def select(self, part: slice | npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> FormulaBatch:
        """Return some of the candidates; the columns are shared."""
        layout, operators, paths = self.layout, self.operators, self.paths
        return FormulaBatch(
            self.numbers[part],
            self.visual_ids[part],
            self.tuple_scores[part],
            self.levels[part],
            layout._replace(starts=layout.starts[part], ends=layout.ends[part]),
            operators._replace(starts=operators.starts[part], ends=operators.ends[part]),
            paths._replace(starts=paths.starts[part], ends=paths.ends[part], leaves=paths.leaves[part]),
            self.records,
        )


def make_batches(queries: Sequence[FoundFormulas], read: Formulas) -> list[FormulaBatch]:
    """Return a batch for each of several queries, whose candidates were read from the store one after another."""
    scores = np.concatenate([found.candidates.tuple_scores for found in queries])
    whole = batch_of(read, scores, np.concatenate([_levels(found) for found in queries]))
    ends = np.cumsum([len(found.candidates.numbers) for found in queries]).tolist()
    return [whole.select(slice(start, end)) for start, end in pairwise((0, *ends))]


def _levels(found: FoundFormulas) -> npt.NDArray[np.int8]:
    """Return the level at which the query occurs in each candidate."""
    numbers = found.candidates.numbers
    levels = np.full(len(numbers), NO_LEVEL, np.int8)
    levels[np.searchsorted(numbers, list(found.containing))] = list(map(LEVELS.index, found.containing.values()))
    return levels


def batch_of(found: Formulas, tuple_scores: npt.NDArray[np.float64], levels: npt.NDArray[np.int8]) -> FormulaBatch:
    """Return formulas with their tuple scores and levels."""
    return FormulaBatch(
        found.numbers, found.visual_ids, tuple_scores, levels, found.layout, found.operators, found.paths, found.records
    )
