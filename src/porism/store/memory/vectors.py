"""Vectors of threads in memory, and the basis that projects a query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from porism.store.records import UNKNOWN, Ints, Values

SMALLEST = 1e-9  # length of a vector, to divide by


class ThreadVectors(NamedTuple):
    """The vectors of a family: a row of `basis` for each term by its code, weighted by its rarity, and a row of `threads` for each thread."""

    basis: Values
    threads: Values

    def query(self, keys: Ints, weights: Values) -> Values:
        """Return the vector of terms by their codes and weights, of length 1, or 0 if the basis has none of them."""
        known = keys != UNKNOWN
        vector = weights[known] @ self.basis[keys[known]]
        return np.asarray(vector / max(float(np.linalg.norm(vector)), SMALLEST), np.float32)
