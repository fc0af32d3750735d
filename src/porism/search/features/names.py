"""Names: does the title say what the query says, and is the query a term that the question defines?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FIELDS, NAME_FAMILY, View
from porism.compiled import compiled
from porism.search.features.feature import Feature
from porism.search.query import Kind
from porism.search.retrieval.context import CandidateBatch, QueryContext, Values
from porism.search.retrieval.term_scores import SLOTS, make_lookup

Ints = npt.NDArray[np.int64]
NO_THREADS: Ints = np.empty(0, np.int64)
TITLE = FIELDS.index("title")
FAMILIES = {"words": 1.0, "tuples": 0.2}  # the weight of a term; a formula has many tuples
SHARPNESS = 8  # the power of the overlap
ROUNDING = 1e-4  # idf is stored in single precision
# A smaller overlap counts nothing: features are divided by their deviation, which would raise the smallest values.
LEAST = 0.75


@compiled
def _add_shared(
    posts: Any, starts: Any, ends: Any, keys: Any, fields: Any, slots: Any, slot_keys: Any, slot_places: Any,
    weights: Any, out: Any,
) -> None:  # fmt: skip
    """Add to `out` the weights of the query terms in the title of each thread."""
    for thread in range(len(posts)):
        post = posts[thread]
        for at in range(starts[post], ends[post]):
            slot = keys[at] & (SLOTS - 1)
            for spot in range(slots[slot], slots[slot + 1]):
                if slot_keys[spot] == keys[at] and fields[at] == TITLE:
                    out[thread] += weights[slot_places[spot]]


@compiled
def _title_entries(posts: Any, starts: Any, ends: Any, fields: Any, out_thread: Any, out_entry: Any) -> int:
    """Write thread and position of each entry of a title; return how many there are."""
    count = 0
    for thread in range(len(posts)):
        post = posts[thread]
        for at in range(starts[post], ends[post]):
            if fields[at] == TITLE:
                if count < len(out_thread):
                    out_thread[count] = thread
                    out_entry[count] = at
                count += 1
    return count


def _known(keys: npt.NDArray[np.int64], ascending: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which keys are among others in ascending order."""
    if not len(ascending):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[at] == keys)


class TitleIdentity(Feature):
    """The overlap (Dice coefficient by idf) of the query's terms with those of the title, to a high power, times the
    best match of the words. So a query that names a theorem finds the thread with that title first."""

    name = "title.identity"
    families = tuple(FAMILIES)
    text = "the title matches your query"
    unit_of = "thread.words"
    # For whole posts the value is near 0, so that training on them would not see what it is for.
    least_weight: ClassVar[float] = 0.05

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the value of each thread's title."""
        values = np.zeros(batch.thread_count, np.float32)
        possible = self._possible(batch)
        if len(possible):
            values[possible] = self._overlaps(batch, possible) * batch.context.best_match
        return values

    def _possible(self, batch: CandidateBatch) -> Ints:
        """Return the threads whose titles overlap enough if they have no terms but those shared with the query."""
        shared, asked = np.zeros(batch.thread_count), 0.0
        for family, weight in FAMILIES.items():
            terms, rows = batch.context.terms[family], batch.documents.terms[family]
            asked += weight * float(terms.idf.sum())
            if len(terms):
                table = make_lookup(terms.keys)
                _add_shared(
                    batch.documents.starts, rows.starts, rows.ends, rows.keys, rows.fields, table.starts, table.keys,
                    table.places, weight * terms.idf.astype(np.float64), shared,
                )  # fmt: skip
        return np.flatnonzero(2 * shared >= (LEAST - ROUNDING) * (asked + shared)) if asked else NO_THREADS

    def _overlaps(self, batch: CandidateBatch, chosen: Ints) -> npt.NDArray[np.float64]:
        """Return the overlap of some threads, to the power: 1 for the same words and formulas."""
        shared, total = np.zeros(len(chosen)), np.zeros(len(chosen))
        asked = 0.0
        posts = batch.documents.starts[chosen]
        for family, weight in FAMILIES.items():
            terms, rows = batch.context.terms[family], batch.documents.terms[family]
            asked += weight * float(terms.idf.sum())
            size = int((rows.ends[posts] - rows.starts[posts]).sum())
            threads, entries = np.empty(size, np.int64), np.empty(size, np.int64)
            count = _title_entries(posts, rows.starts, rows.ends, rows.fields, threads, entries)
            threads, keys = threads[:count], rows.keys[entries[:count]].astype(np.int64)
            idf = weight * batch.context.idf(batch.documents.lookup.documents(family, keys))
            total += np.bincount(threads, idf, len(chosen))
            known = _known(keys, terms.keys)
            shared += np.bincount(threads[known], idf[known], len(chosen))
        overlap = 2 * shared / np.maximum(asked + total, 1e-9)
        return np.where(overlap >= LEAST, np.minimum(overlap, 1.0) ** SHARPNESS, 0.0)


class NameMatch(Feature):
    """Whether one of the thread's names, in one field, is the query. A match counts as much as the best match of the
    words, so that it weighs the same in a collection of any size."""

    families = (NAME_FAMILY,)
    unit_of = "thread.words"
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, name: str, field: str, text: str) -> None:
        self.name = f"name.{name}"
        self.text = text
        self._view = View("thread", ((field, 1.0),))

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of names, and that of words, if the index knows the query as a name."""
        return (NAME_FAMILY, "words") if len(context.terms[NAME_FAMILY]) else ()

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the best match for each thread with the name."""
        terms = batch.context.terms[NAME_FAMILY]
        found = batch.presence(terms, np.ones(len(terms), np.float32), self._view)
        return np.where(found > 0, np.float32(batch.context.best_match), np.float32(0.0))


FEATURES: tuple[Feature, ...] = (
    TitleIdentity(),
    NameMatch("title", "title", "the title is exactly your query"),
    NameMatch("defined", "question", "defines what you search for"),
)
