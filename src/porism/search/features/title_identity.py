"""Titles that say what the query says, and nothing else: a query that names a theorem finds the thread with that title first."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.index.schema import FIELDS
from porism.index.storage.rows import FIELD_SHIFT
from porism.search.answers.context import CandidateBatch, Values
from porism.search.features.feature import Feature

TITLE = FIELDS.index("title")
FAMILIES = {"words": 1.0, "tuples": 0.2}  # the weight of a term; a formula has many tuples
SHARPNESS = 8  # the power of the overlap
LEAST = 0.75  # an overlap below counts nothing: features are divided by their deviation, which would raise the smallest values


@compiled
def _title_entries(posts: Any, starts: Any, ends: Any, cells: Any, out_thread: Any, out_entry: Any) -> int:
    """Write thread and position of each entry of a title; return how many there are."""
    count = 0
    for thread in range(len(posts)):
        post = posts[thread]
        for at in range(starts[post], ends[post]):
            if cells[at] >> FIELD_SHIFT == TITLE:
                if count < len(out_thread):
                    out_thread[count] = thread
                    out_entry[count] = at
                count += 1
    return count


def _known(codes: npt.NDArray[np.int64], ascending: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which codes are among others in ascending order."""
    if not len(ascending):
        return np.zeros(len(codes), np.bool_)
    at = np.minimum(np.searchsorted(ascending, codes), len(ascending) - 1)
    return np.asarray(ascending[at] == codes)


class TitleIdentity(Feature):
    """The overlap (Dice coefficient by idf) of the query's terms with those of the title, to a high power: 1 for the same words and formulas."""

    name = "title.identity"
    families = tuple(FAMILIES)
    # For whole posts the value is near 0, so that training on them would not see what it is for.
    least_weight: ClassVar[float] = 0.05

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the overlap of each thread's title."""
        shared, total = np.zeros(batch.thread_count), np.zeros(batch.thread_count)
        asked = 0.0
        for family, weight in FAMILIES.items():
            terms, rows = batch.context.terms[family], batch.documents.terms[family]
            asked += weight * float(terms.idf.sum())
            sizes = rows.ends[batch.documents.starts] - rows.starts[batch.documents.starts]
            threads, entries = np.empty(int(sizes.sum()), np.int64), np.empty(int(sizes.sum()), np.int64)
            count = _title_entries(batch.documents.starts, rows.starts, rows.ends, rows.cells, threads, entries)
            threads, codes = threads[:count], rows.codes[entries[:count]].astype(np.int64)
            idf = weight * batch.context.idf(family, codes)
            total += np.bincount(threads, idf, batch.thread_count)
            known = _known(codes, terms.codes)
            shared += np.bincount(threads[known], idf[known], batch.thread_count)
        overlap = 2 * shared / np.maximum(asked + total, 1e-9)
        return np.asarray(np.where(overlap >= LEAST, np.minimum(overlap, 1.0) ** SHARPNESS, 0.0), np.float32)

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words."""
        return "its title says what you search for"


FEATURES = (TitleIdentity(),)
