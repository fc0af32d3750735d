"""Formulas of posts that are similar to those of a query, as terms by which posts are compared with it.

Only formulas of the best candidate threads are compared, and of these the trees of those with the most symbols in
common with the query, so that the cost does not depend on the size of the collection. A formula with wildcards is
searched in the whole index, since no other term finds what it binds to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.paths import VARIABLE
from porism.analysis.schema import VISUAL_FAMILY
from porism.compiled import compiled
from porism.formula import Parsed
from porism.search.formulas.alignment import INSERT_COST, VARIABLE_COST, LabelTable, SymbolSequence
from porism.search.formulas.features import TREE_SHARE, WEIGHTS, FormulaBatch, compute_features
from porism.search.formulas.searcher import FormulaSearcher, ScoredFormulas
from porism.search.query import ReadQuery, has_wildcards
from porism.store.records import UNKNOWN, SymbolSequences, TermLookup

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MAX_FORMULAS = 5  # of a query that are compared, the largest ones
MIN_NODES = 3  # smaller formulas occur everywhere
THREADS_COMPARED = 200  # best candidate threads whose formulas are compared with each formula of the query
FORMULAS_COMPARED = 100  # formulas of them, those with the most common symbols, whose trees are aligned
# Formulas with this similarity count, and if there are none, those with this share of the largest similarity.
SIMILAR, NEAREST_SHARE = 0.75, 0.8
DEPTH = 300  # formulas that are found for one with wildcards
MIN_BINDING_SCORE = 1.0  # an occurrence of a query with wildcards scores at least this
SMALLEST_SHARE = 3  # a formula of less than a third of the symbols is not similar
MAX_THREADS = 100  # more frequent formulas do not distinguish threads


class SimilarFormulas(NamedTuple):
    """Formulas similar to one of the query: its size, the keys by which posts name them, and their similarities."""

    size: int
    keys: Ints
    similarities: Floats


class ComparedFormulas(NamedTuple):
    """Formulas that were compared with a query: their positions, ascending, and their similarities by trees alone."""

    positions: Ints
    similarities: Floats


class BoundFormulas(NamedTuple):
    """Formulas similar to one with wildcards, those to which it binds, and how many there was no time to match."""

    similar: SimilarFormulas
    visual_ids: tuple[int, ...]
    unmatched: int = 0


def largest_formulas(query: ReadQuery, *, wildcards: bool) -> list[Parsed]:
    """Return those of the largest formulas of a query that have wildcards, or those that have none."""
    formulas = [one.parsed for one in query.formulas if one.parsed.operators.size() >= MIN_NODES]
    largest = sorted(formulas, key=lambda formula: -formula.operators.size())[:MAX_FORMULAS]
    return [formula for formula in largest if has_wildcards(formula) == wildcards]


def has_compared_formulas(query: ReadQuery) -> bool:
    """Return whether a query has formulas that are compared as a whole."""
    return any(one.parsed.operators.size() >= MIN_NODES for one in query.formulas)


def compare_formulas(
    query: ReadQuery, keys: Ints, lookup: TermLookup, searcher: FormulaSearcher
) -> tuple[SimilarFormulas, ...]:
    """Compare the largest formulas of a query with formulas of posts, given by the keys by which posts name them."""
    formulas = largest_formulas(query, wildcards=False)
    if not formulas or not len(keys):
        return ()
    keys = keys[lookup.documents(VISUAL_FAMILY, keys) <= MAX_THREADS]
    numbers = lookup.formulas(keys)
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] != UNKNOWN]
    keys, numbers = keys[order], numbers[order]
    batch = searcher.batch(numbers)
    return tuple(_most_similar(formula, keys, compare_trees(formula, batch, searcher)) for formula in formulas)


def compare_trees(
    formula: str | Parsed, batch: FormulaBatch, searcher: FormulaSearcher, limit: int = FORMULAS_COMPARED
) -> ComparedFormulas:
    """Compare a formula with the `limit` formulas of a batch that have the most symbols in common with it."""
    context = searcher.analyse(formula)
    chosen = most_common_symbols(context.query.operators, batch.operators, context.operator_labels, limit)
    contributions = compute_features(context, batch.select(chosen)) * WEIGHTS
    return ComparedFormulas(chosen, contributions.sum(axis=1) / TREE_SHARE)


def _most_similar(formula: Parsed, keys: Ints, compared: ComparedFormulas) -> SimilarFormulas:
    """Keep the formulas that are similar, or if none is, those that come nearest."""
    positions, similarities = compared
    least = min(SIMILAR, NEAREST_SHARE * float(similarities.max(initial=0.0)))
    kept = np.flatnonzero(similarities >= least)
    return SimilarFormulas(formula.operators.size(), keys[positions[kept]], similarities[kept])


def bound_formulas(query: ReadQuery, searcher: FormulaSearcher) -> tuple[BoundFormulas, ...]:
    """Return the formulas of the whole index that are most similar to those with wildcards of a query."""
    formulas = largest_formulas(query, wildcards=True)
    return tuple(map(_bound, formulas, searcher.most_similar(formulas, DEPTH)))


def _bound(formula: Parsed, hits: ScoredFormulas) -> BoundFormulas:
    found = hits.usage
    kept = np.flatnonzero((found.keys != UNKNOWN) & (found.documents <= MAX_THREADS))
    similar = SimilarFormulas(formula.operators.size(), found.keys[kept], hits.scores[kept])
    bound = hits.visual_ids[kept][hits.scores[kept] >= MIN_BINDING_SCORE].tolist()
    return BoundFormulas(similar, tuple(bound), hits.unmatched)


def most_common_symbols(
    query: SymbolSequence, candidates: SymbolSequences, table: LabelTable, number: int
) -> npt.NDArray[np.int64]:
    """Return the positions, ascending, of the candidates that may be most similar to the query."""
    if len(candidates.starts) <= number:
        return np.arange(len(candidates.starts))
    wanted = np.zeros(max(len(table.kinds), int(query.labels.max(initial=0)) + 1), np.int16)
    np.add.at(wanted, query.labels, 1)
    bounds = np.zeros(len(candidates.starts))
    variables = query.kinds == VARIABLE
    _fill_bounds(
        candidates.starts, candidates.ends, candidates.labels, table.kinds, table.weights, wanted, len(query.labels),
        int(variables.sum()), float(query.weights[variables].mean()) if variables.any() else 0.0,
        float(query.weights.sum()), bounds,
    )  # fmt: skip
    best = np.argpartition(-bounds, number)[:number]
    return np.sort(best)


@compiled
def _fill_bounds(
    starts: Any, ends: Any, labels: Any, kinds: Any, weights: Any, wanted: Any, size: int, variables: int,
    variable_weight: float, total: float, out: Any,
) -> None:  # fmt: skip
    """Write the largest similarity that each candidate could have if the order of symbols did not matter.

    `wanted` has the number of times that the query has each label; it is unchanged in the end."""
    for number in range(len(starts)):
        if SMALLEST_SHARE * (ends[number] - starts[number]) < size:
            continue
        shared = own = 0.0
        same_variables = other_variables = 0
        for at in range(starts[number], ends[number]):
            label = labels[at]
            own += weights[label]
            is_variable = kinds[label] == VARIABLE
            if wanted[label] > 0:
                shared += weights[label]
                same_variables += is_variable
            else:
                other_variables += is_variable
            wanted[label] -= 1
        for at in range(starts[number], ends[number]):
            wanted[labels[at]] += 1
        renamed = min(variables - same_variables, other_variables) * (1.0 - VARIABLE_COST) * variable_weight
        whole = total + INSERT_COST * own
        out[number] = (shared + renamed) * (1.0 + INSERT_COST) / whole if whole > 0.0 else 0.0
