"""A quick estimate of the similarity of a formula to many others: the weight of the symbols that they have in common,
whatever their order.

It chooses the formulas whose trees are worth an alignment. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.classes import VARIABLE
from porism.compiled import compiled
from porism.search.formulas.alignment import INSERT_COST, VARIABLE_COST, LabelTable, SymbolSequence
from porism.store.records import SymbolSequences

SMALLEST_SHARE = 3  # a formula of less than a third of the symbols is not similar


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
        candidates.starts, candidates.ends, candidates.labels, table.kinds, table.weights, wanted, len(query.labels), int(variables.sum()),
        float(query.weights[variables].mean()) if variables.any() else 0.0, float(query.weights.sum()), bounds,
    )  # fmt: skip
    best = np.argpartition(-bounds, number)[:number]
    return np.sort(best)


@compiled
def _fill_bounds(
    starts: Any, ends: Any, labels: Any, kinds: Any, weights: Any, wanted: Any, size: int, variables: int, variable_weight: float,
    total: float, out: Any,
) -> None:  # fmt: skip
    """Write for each candidate the largest similarity that an alignment could have if the order of symbols did not
    matter.

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
