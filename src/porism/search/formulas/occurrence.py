"""Occurrence: whether the query is a sub-expression of a formula, and at which canonical level.

Hashes of sub-expressions answer this for most formulas; the operator trees are matched for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import COMMUTATIVE, MAX_TERM_STEPS, NORMALISED, RENAMED, WRITTEN, features
from porism.analysis.paths import label_traits
from porism.analysis.schema import FORMULA
from porism.compiled import compiled
from porism.deadline import check, passed, remaining, shorten, time_limit
from porism.formula.binary import unpack
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.match.backtracking import is_wildcard
from porism.formula.match.matcher import PreparedTree, find
from porism.formula.tree import Node
from porism.search.formulas.query import FormulaQuery
from porism.store.records import Term, TermQuery

if TYPE_CHECKING:
    from porism.search.formulas.candidates import FormulaBatch

Array = npt.NDArray[Any]

MAX_MATCHED = 300  # best formulas whose trees are matched when hashes give no answer
MAX_MATCHED_WILDCARDS = 800  # the same for a query with wildcards, which has no hashes
MATCH_BUDGET = 12_000  # steps of each match: at most 5 ms
MATCH_SHARE = 0.5  # of the time that is left for a query, which matching may take
MAX_PATH_HITS = 500  # rows, with and without symbols, that are matched because they have all paths of the query
MAX_SHAPE_HITS = 2_000  # rows of the same structure that are considered for a query with wildcards
LEVEL_OF_PREFIX = dict(zip((WRITTEN, NORMALISED, COMMUTATIVE, RENAMED), LEVELS, strict=True))


def root_terms(query: FormulaQuery) -> list[str]:
    """Return the hashes of the whole query, the strictest first; none for a single symbol."""
    tree = query.features.operators
    if len(tree.labels) == 1:
        return []
    terms = query.features.parts
    # The sub-expressions of the tree as written come first, then those of the normal form; both start with the whole
    # tree.
    written = sum(term[0] == WRITTEN for term in terms)
    return [*terms[: min(written, 1)], *terms[written : written + 3]]


def with_all_paths(query: FormulaQuery) -> list[TermQuery]:
    """Return the searches for formulas with all paths of the query, first those with the same symbols.

    The query may occur in them as some operands of a sum, a product or a chain of relations, which have no hash."""
    searches: list[TermQuery] = []
    paths, tree = query.features.tree_paths, query.features.operators
    near = np.flatnonzero(paths.steps <= MAX_TERM_STEPS)
    free = label_traits(tree.labels[0]).unordered  # otherwise the operands may have other positions among more operands
    named = [
        at
        for at, (above, below) in enumerate(zip(paths.above[near].tolist(), paths.below[near].tolist(), strict=True))
        if below and (above or free) and not is_wildcard(tree.labels[below])
    ]
    for symbol in (1, 0):  # the second of the two terms of a path includes the symbol at its end
        terms = [Term("paths", text) for text in {query.features.paths[2 * at + symbol]: None for at in named}]
        if terms:
            searches.append(TermQuery(terms, FORMULA, MAX_PATH_HITS, required=terms))
    return searches


def by_shape(query: FormulaQuery) -> list[TermQuery]:
    """Return the search for formulas whose structure is that of a query with wildcards, the most similar first: a
    wildcard is taken for a variable or a number.

    Terms of a wildcard itself are in no formula, so that a query of wildcards alone would have no candidates."""
    parsed = query.parsed
    terms: Counter[str] = Counter()
    for stand_in in ("V!x", "N!2"):
        shape = features(_without_wildcards(parsed.layout, stand_in), _without_wildcards(parsed.operators, stand_in))
        terms |= Counter(shape.paths[::2])  # by classes alone
    return [TermQuery([Term("paths", text, float(count)) for text, count in terms.items()], FORMULA, MAX_SHAPE_HITS)]


def _without_wildcards(tree: Node, label: str) -> Node:
    """Return a tree with a label in place of its wildcards."""
    order = [tree]
    for node in order:
        order.extend(node.children)
    done: list[Node] = []
    for node in reversed(order):  # without recursion, since the layout of a long formula is a deep tree
        children = done[: len(node.children)][::-1]
        del done[: len(node.children)]
        done.append(Node(label if is_wildcard(node.label) else node.label, children, node.edges, node.places))
    return done[0]


class QueryOccurrence(NamedTuple):
    """How the query occurs in a formula: at which level, and whether as the whole formula."""

    level: Level
    whole: bool


class MatchedFormulas(NamedTuple):
    """Formulas in which the query occurs, by number. `unmatched` counts those that were given up for lack of time."""

    found: dict[int, QueryOccurrence]
    unmatched: int


def match_trees(
    query: FormulaQuery, labels: Mapping[str, int], batch: FormulaBatch, numbers: Sequence[int]
) -> MatchedFormulas:
    """Return those of some formulas of a batch in which the query occurs, found by matching operator trees.

    Wildcards are bound, and some operands of a sum suffice. Only the first MAX_MATCHED formulas with the necessary
    labels are matched. When the time is short, the last ones are not matched."""
    found: dict[int, QueryOccurrence] = {}
    unmatched = 0
    pattern = PreparedTree(query.parsed.operators)
    limit = MAX_MATCHED_WILDCARDS if query.has_wildcards else MAX_MATCHED
    examined = _with_needed_labels(pattern, labels, batch, np.array(numbers, np.int64))[:limit]
    with time_limit(MATCH_SHARE * remaining()):
        for number, packed in zip(examined.tolist(), batch.records.trees(examined), strict=True):
            match = None if passed() else find(pattern, unpack(packed)[1], budget=MATCH_BUDGET).match
            if match is not None:
                found[number] = QueryOccurrence(match.level, match.whole)
            elif passed():
                unmatched += 1
    check()  # the whole query's own time limit
    if unmatched:
        shorten()
    return MatchedFormulas(found, unmatched)


def _with_needed_labels(
    pattern: PreparedTree, labels: Mapping[str, int], batch: FormulaBatch, numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return those of the formulas, in order, that have all labels which the pattern needs even under renaming."""
    needed = [labels.get(label, -1) for label in pattern.required("renamed")]
    complete = np.zeros(len(numbers), np.bool_)
    if -1 not in needed:
        at, operators = np.searchsorted(batch.numbers, numbers), batch.operators
        has_all(operators.starts[at], operators.ends[at], operators.labels, np.array(needed, np.int32), complete)
    return numbers[complete]


@compiled
def has_all(starts: Array, ends: Array, labels: Array, needed: Array, out: Array) -> None:
    """Write for each span of labels whether it contains all needed ones."""
    for number in range(len(out)):
        out[number] = True
        for want in needed:
            at = starts[number]
            while at < ends[number] and labels[at] != want:
                at += 1
            if at == ends[number]:
                out[number] = False
                break


def same_formulas(query: FormulaQuery, batch: FormulaBatch) -> npt.NDArray[np.bool_]:
    """Return which formulas as a whole equal the query, up to notation and the order of commutative operands."""
    wanted, operators = query.operators.labels, batch.operators
    same = np.zeros(len(batch.numbers), np.bool_)
    for at in np.flatnonzero(operators.ends - operators.starts == len(wanted)).tolist():
        same[at] = np.array_equal(operators.labels[operators.starts[at] : operators.ends[at]], wanted)
    examined = np.flatnonzero(same)
    for at, packed in zip(examined.tolist(), batch.records.trees(batch.numbers[examined]), strict=True):
        found = find(query.parsed.operators, unpack(packed)[1], "commutative", whole=True)
        check()
        same[at] = found.match is not None or found.exhausted
    return same
