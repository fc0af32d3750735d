"""Candidates of a formula query, and the features that compare the query with them; a score is their weighted sum.

Candidates are the union of several searches over the posting lists, since each kind of term misses some formulas. They
are packed arrays with everything that the features read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FORMULA
from porism.deadline import check
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.layout.tuples import mathtuples
from porism.formula.tree import Node
from porism.search.formulas.alignment import LabelTable, similarities
from porism.search.formulas.query import LEVEL_OF_PREFIX, FormulaQuery, by_shape, root_terms, with_all_paths
from porism.search.formulas.structure import structure_scores
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
    level; of those that may contain it; and of all candidates, ascending, with their tuple scores: BM25 divided by the
    score of the query against itself."""

    containing: dict[int, Level]
    possible: list[int]
    numbers: npt.NDArray[np.int64]
    tuple_scores: npt.NDArray[np.float64]


class CandidateSearch:
    """The searches of one query over the posting lists: the best `depth` formulas by tuples, more by paths and
    sub-expressions, those that contain the query as a whole (the shortest first), and those that may contain it.

    With `whole_only`, only formulas that contain the query are wanted."""

    def __init__(self, query: FormulaQuery, counts: QueryCounts, info: StoreInfo, depth: int, whole_only: bool) -> None:
        self._info, self._depth, size = info, depth, info.count("formula")
        self._tuples = counts.tuples
        roots = zip(counts.roots.terms, counts.roots.documents.tolist(), strict=True)
        self._roots = [term for term, number in roots if number]
        containing = [TermQuery([term], FORMULA, MAX_CONTAINING if whole_only else depth) for term in self._roots]
        possible = with_all_paths(query) if whole_only or query.has_wildcards else []
        possible += by_shape(query) if query.has_wildcards else []
        paths = counts.paths
        if len(paths.terms) > MAX_PATHS:  # those that the fewest formulas have; what no formula has selects nothing
            frequencies = np.where(paths.documents == 0, size + 1, paths.documents)
            paths = paths.some(np.argsort(frequencies, kind="stable")[:MAX_PATHS])
        self.searches = [
            *containing,
            *possible,
            TermQuery(selective_terms("tuples", counts.tuples, depth, size), FORMULA, depth),
            TermQuery(selective_terms("paths", paths, PATH_DEPTH, size), FORMULA, PATH_DEPTH),
            TermQuery(_terms("parts", Counter(query.features.parts)), FORMULA, PART_DEPTH),
        ]

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
        # The score that a formula outside the list cannot exceed.
        lowest = float(tuples.scores[-1]) if len(tuples.scores) == self._depth else 0.0
        scores = np.full(len(numbers), UNLISTED_SHARE * lowest)
        scores[np.searchsorted(numbers, tuples.numbers)] = tuples.scores
        scores /= self_score(self._tuples, self._info)
        return FoundFormulas(containing, possible, numbers, scores)


def _terms(family: str, counts: Counter[str]) -> list[Term]:
    return [Term(family, text, float(count)) for text, count in counts.items()]


def count_terms(queries: Sequence[FormulaQuery], snapshot: Snapshot) -> list[QueryCounts]:
    """Count the terms of queries in one call."""
    families: list[list[Term]] = []
    for query in queries:
        families += (_terms("tuples", query.tuples), _terms("paths", Counter(query.features.paths)))
        families.append([Term("parts", text) for text in root_terms(query)])
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
    scores = np.concatenate([found.tuple_scores for found in queries])
    levels = np.full(len(scores), NO_LEVEL, np.int8)  # at which the query occurs in each candidate
    start = 0
    for found in queries:
        places = start + np.searchsorted(found.numbers, list(found.containing))
        levels[places] = list(map(LEVELS.index, found.containing.values()))
        start += len(found.numbers)
    whole = batch_of(read, scores, levels)
    ends = np.cumsum([len(found.numbers) for found in queries]).tolist()
    return [whole.select(slice(start, end)) for start, end in pairwise((0, *ends))]


def batch_of(found: Formulas, tuple_scores: npt.NDArray[np.float64], levels: npt.NDArray[np.int8]) -> FormulaBatch:
    """Return formulas with their tuple scores and levels."""
    trees = (found.layout, found.operators, found.paths)
    return FormulaBatch(found.numbers, found.visual_ids, tuple_scores, levels, *trees, found.records)


Scores = npt.NDArray[np.float64]
EDGE_COST = 1.0
RENAMED_LEVEL = LEVELS.index("renamed")
# Of a formula that is the query, that is it up to renaming, and that contains it.
SAME_BONUS, RENAMED_BONUS, INSIDE_BONUS = 0.4, 0.1, 0.1


@dataclass(frozen=True, slots=True)
class FormulaContext:
    """What features read besides the candidates: the query, and kind and weight of every label in both trees."""

    query: FormulaQuery
    layout_labels: LabelTable
    operator_labels: LabelTable


Compute = Callable[[FormulaContext, FormulaBatch, Mapping[str, Scores]], Scores]


@dataclass(frozen=True, slots=True)
class FormulaFeature:
    """One way to compare the query with candidates. `weight` is its factor in the score.

    `compute` returns the value for each candidate, given the values of the features before this one; `explain` says in
    words what the feature found in the formula with a layout tree."""

    name: str
    compute: Compute
    explain: Callable[[FormulaContext, Node], str]
    weight: float = 0.25


def _shared_tuples(context: FormulaContext, layout: Node) -> str:
    tuples = context.query.tuples
    shared = tuples & Counter(mathtuples(layout))
    return f"{shared.total()} of {tuples.total()} layout tuples are shared"


def _occurrence(context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
    """Give a bonus to the same formula (operator trees that align perfectly) and to formulas that contain the query.

    Where the query must occur, the searcher replaces it by the level of the match, which then decides first."""
    whole = batch.operator_sizes == len(context.query.operators.labels)
    renamed = np.where((batch.levels == RENAMED_LEVEL) & whole, RENAMED_BONUS, 0.0)
    inside = (batch.levels != NO_LEVEL) & (batch.levels != RENAMED_LEVEL)
    bonus = np.where(inside, INSIDE_BONUS, renamed)
    bonus[computed["operators"] > 1 - 1e-6] = SAME_BONUS
    return bonus


FEATURES = (
    # BM25 of layout tuples, as a share of what the query scores against itself: what the candidate search found.
    FormulaFeature("tuples", lambda context, batch, computed: batch.tuple_scores, _shared_tuples),
    # Alignment of the layout trees in reading order: symbols, and the edges between them.
    FormulaFeature(
        "layout",
        lambda context, batch, _: similarities(context.query.layout, batch.layout, context.layout_labels, EDGE_COST),
        lambda context, layout: "the same symbols in the same order and position",
    ),
    # Alignment of the operator trees in normal form, in pre-order.
    FormulaFeature(
        "operators",
        lambda context, batch, _: similarities(context.query.operators, batch.operators, context.operator_labels, 0.0),
        lambda context, layout: "the same operators and operands in the same order",
    ),
    # The largest common substructure of the operator trees, by their paths.
    FormulaFeature(
        "structure",
        lambda context, batch, _: structure_scores(
            context.query.path_groups, context.query.features.tree_paths.leaves, batch.paths
        ),
        lambda context, layout: "the largest common structure, with names exchanged consistently",
    ),
    FormulaFeature("occurrence", _occurrence, lambda context, layout: "the query occurs in the formula", 1.0),
)
OCCURRENCE = -1  # the column of the last feature
WEIGHTS: Scores = np.array([feature.weight for feature in FEATURES])
TREE_SHARE = 0.75  # of the weights of the first four features, those that compare trees: all but that of tuples


def compute_features(context: FormulaContext, batch: FormulaBatch) -> Scores:
    """Return one row for each candidate, one column for each feature, unweighted."""
    computed: dict[str, Scores] = {}
    for feature in FEATURES:
        check()
        computed[feature.name] = feature.compute(context, batch, computed)
    return np.stack(list(computed.values()), axis=1)
