"""A formula query analysed for an index: its trees, its terms, its symbols as label ids of the index; and whether it is
a sub-expression of a formula, at which canonical level.

Hashes of sub-expressions answer this for most formulas; the operator trees are matched for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import (
    COMMUTATIVE,
    MAX_TERM_STEPS,
    NORMALISED,
    RENAMED,
    WRITTEN,
    Features,
    FlatLayout,
    features,
)
from porism.analysis.paths import label_traits, symbol_kind
from porism.analysis.schema import FORMULA
from porism.analysis.terms import formula_terms
from porism.compiled import compiled
from porism.deadline import check, passed, remaining, shorten, time_limit
from porism.formula import Parsed, parse
from porism.formula.binary import unpack
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.match.backtracking import is_wildcard
from porism.formula.match.matcher import PreparedTree, find
from porism.formula.tree import Node
from porism.search.formulas.alignment import SymbolSequence
from porism.search.formulas.structure import PathGroups, group_paths
from porism.search.query import QueryFormula, ReadQuery, query_features
from porism.store.protocols import SymbolTable
from porism.store.records import Term, TermQuery

if TYPE_CHECKING:
    from porism.search.formulas.features import FormulaBatch


@dataclass(frozen=True, slots=True)
class FormulaQuery:
    """A formula query, as the candidate searches and the re-ranking features read it."""

    parsed: Parsed
    features: Features
    tuples: Counter[str]
    layout: SymbolSequence
    operators: SymbolSequence
    path_groups: PathGroups

    @property
    def has_wildcards(self) -> bool:
        """Whether the query contains a wildcard."""
        return any(is_wildcard(label) for label in self.features.operators.labels)


def analyse_query(formula: str | Parsed, symbols: SymbolTable) -> FormulaQuery:
    """Analyse a formula for an index: LaTeX, which may be any string, or a parsed formula."""
    parsed = parse(formula, wildcards=True) if isinstance(formula, str) else formula
    found = query_features([parsed])[0]
    label_ids = _LabelIds(symbols)
    operators = label_ids.intern(found.operators.labels)
    weights = label_ids.weights(operators, symbols.operator_weights)
    return FormulaQuery(
        parsed,
        found,
        Counter(found.tuples),
        layout_symbols(found.layout, symbols),
        _symbols(found.operators.labels, operators, weights, [0] * len(operators)),
        group_paths(found, operators, weights, symbols),
    )


def layout_symbols(layout: FlatLayout, symbols: SymbolTable) -> SymbolSequence:
    """Return a layout tree in reading order as a symbol sequence."""
    if known := known_symbols(layout, symbols):  # as for every formula of the index
        return known
    label_ids = _LabelIds(symbols)
    labels = label_ids.intern(layout.labels)
    return _symbols(layout.labels, labels, label_ids.weights(labels, symbols.layout_weights), layout.edges)


def known_symbols(layout: FlatLayout, symbols: SymbolTable) -> SymbolSequence | None:
    """Return a layout tree as a symbol sequence; None if it has a label that no formula of the index has."""
    try:
        ids = np.array(list(map(symbols.labels.__getitem__, layout.labels)), np.int32)
    except KeyError:
        return None
    weights = symbols.layout_weights[ids].astype(np.float32)
    kinds = np.array(list(map(symbol_kind, layout.labels)), np.uint8)
    return SymbolSequence(ids, kinds, weights, np.array(layout.edges, np.uint8))


def _symbols(labels: list[str], ids: list[int], weights: list[float], edges: list[int]) -> SymbolSequence:
    return SymbolSequence(
        np.array(ids, np.int32),
        np.array([symbol_kind(label) for label in labels], np.uint8),
        np.array(weights, np.float32),
        np.array(edges, np.uint8),
    )


class _LabelIds:
    """Ids of labels: those of the store, and new ones beyond them for labels that no indexed formula has."""

    def __init__(self, symbols: SymbolTable) -> None:
        self._known = symbols.labels
        self._new: dict[str, int] = {}
        self._new_weight = symbols.unseen_label_weight

    def intern(self, labels: list[str]) -> list[int]:
        """Return the id of each label."""
        known, size = self._known, len(self._known)
        return [known[one] if one in known else self._new.setdefault(one, size + len(self._new)) for one in labels]

    def weights(self, ids: list[int], weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
        """Return the weight of each label; wildcards weigh nothing."""
        size = len(self._known)
        names = {new_id: label for label, new_id in self._new.items()}
        return [float(weights[at]) if at < size else 0.0 if is_wildcard(names[at]) else self._new_weight for at in ids]


FAMILY = "parts"


Documents = Callable[[Sequence[str]], Sequence[int]]  # how many documents have each sub-expression


def readings_of(query: ReadQuery) -> list[Parsed]:
    """Return all readings of the ambiguous formulas of a query."""
    return [one for formula in query.formulas if formula.others for one in (formula.parsed, *formula.others)]


def choose_readings(query: ReadQuery, documents: Documents) -> ReadQuery:
    """Return the query with the best supported reading of each formula; of equals the most usual one."""
    if not any(formula.others for formula in query.formulas):
        return query
    chosen = (
        QueryFormula(best_reading((one.parsed, *one.others), documents), one.field) if one.others else one
        for one in query.formulas
    )
    return replace(query, formulas=tuple(chosen))


def best_reading(readings: Sequence[Parsed], documents: Documents) -> Parsed:
    """Return the first of the readings with the largest share of sub-expressions that some document contains."""
    terms = [part_terms(reading) for reading in readings]
    found = iter(documents([term for own in terms for term in own]))
    support = [sum(next(found) > 0 for _ in own) / len(own) if own else 0.0 for own in terms]
    return readings[int(np.argmax(support))]


def part_terms(formula: Parsed) -> list[str]:
    """Return the distinct sub-expressions of a formula as terms."""
    return list(dict.fromkeys(formula_terms(formula)[FAMILY]))


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
    examined, operators = np.array(numbers, np.int64), batch.operators
    needed = [labels.get(label, -1) for label in pattern.required("renamed")]  # even under renaming
    complete = np.zeros(len(numbers), np.bool_)
    if -1 not in needed:
        at = np.searchsorted(batch.numbers, examined)
        has_all(operators.starts[at], operators.ends[at], operators.labels, np.array(needed, np.int32), complete)
    examined = examined[complete][:limit]
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
