"""The token similarity matrix: sparse, symmetric, with ones on its diagonal.

Rows are filled in order of decreasing idf, each with at most 100 entries (Novotny 2018). For similarities of vectors the matrix is kept strictly
diagonally dominant: the entries of a row sum to less than one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from porism.compiled import compiled
from porism.systems.scm.neighbours import MOST, Neighbours

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


def similarity_matrix(neighbours: Neighbours, idf: Floats, dominant: bool) -> sparse.csr_matrix:
    """Return the matrix of some neighbours."""
    size = len(idf)
    order = np.lexsort((np.arange(size), -idf)).astype(np.int32)
    ranks = np.empty(size, np.int32)
    ranks[order] = np.arange(size, dtype=np.int32)
    columns = np.full((size, MOST), -1, np.int32)
    values = np.zeros((size, MOST), np.float32)
    used = np.zeros(size, np.int32)
    _fill(order, ranks, neighbours.tokens, neighbours.similarities, dominant, columns, values, used)
    rows = np.repeat(np.arange(size, dtype=np.int32), used)
    kept = columns >= 0
    entries = sparse.csr_matrix((values[kept].astype(np.float64), (rows, columns[kept])), shape=(size, size))
    return (entries + sparse.identity(size, format="csr")).tocsr()


@compiled
def _fill(
    order: Ints,
    ranks: Ints,
    tokens: Ints,
    similarities: npt.NDArray[np.float32],
    dominant: bool,
    columns: Ints,
    values: npt.NDArray[np.float32],
    used: Ints,
) -> None:
    """Fill rows in order; a pair is entered in both rows or in none."""
    sums = np.zeros(len(order), np.float64)
    for row in order:
        free = MOST - used[row]
        count = 0
        while count < free and tokens[row, count] >= 0:
            count += 1
        for place in np.argsort(ranks[tokens[row, :count]]):
            other, value = tokens[row, place], similarities[row, place]
            if used[row] == MOST or used[other] == MOST or value == 0:
                continue
            if dominant and (sums[row] + value >= 1.0 or sums[other] + value >= 1.0):
                continue
            if np.any(columns[row, : used[row]] == other):
                continue
            for one, two in ((row, other), (other, row)):
                columns[one, used[one]] = two
                values[one, used[one]] = value
                used[one] += 1
                sums[one] += value
