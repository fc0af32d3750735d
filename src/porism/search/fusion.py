"""Several ranked lists become one by their places alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

CONSTANT = 60.0  # of reciprocal rank fusion, as usual


def unite(lists: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """All items of the lists, best first by the sum of 1 / (60 + rank); equal sums by number."""
    if not any(len(one) for one in lists):
        return np.empty(0, np.int64)
    items, place = np.unique(np.concatenate(lists), return_inverse=True)
    shares = np.concatenate([1.0 / (CONSTANT + 1.0 + np.arange(len(one))) for one in lists])
    sums = np.bincount(place, shares, len(items))
    return items[np.lexsort((items, -sums))]
