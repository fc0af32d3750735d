"""Scores of a batch of threads and of their answers for the terms of a query, in several views. BM25 is compiled.

The terms of each candidate are read once. Counts are summed per view by the weights of fields, then saturated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FIELDS, Unit, View
from porism.compiled import compiled
from porism.store.records import StoreInfo, TermRows, Threads
from porism.store.weighting import BM25, TfIdfWeighting, length_factor, saturate

SLOTS = 4096  # of the table that finds query terms by the last bits of their codes
VIEWS_KEPT = 64  # combinations of views whose weights are kept
DEFAULT = BM25()
# A long answer is often a thorough one, so that the length of answers counts less (docs/results/answer-search.md).
UNIT_WEIGHTINGS: Mapping[Unit, BM25] = {"answer": BM25(b=0.4)}

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Lookup(NamedTuple):
    """Keys of query terms by their last bits, those of slot s from starts[s] to starts[s + 1], and their places."""

    starts: npt.NDArray[np.int32]
    keys: npt.NDArray[np.unsignedinteger[Any]]
    places: npt.NDArray[np.int32]


def make_lookup(keys: Ints) -> Lookup:
    """Return the table of these keys."""
    starts = np.zeros(SLOTS + 1, np.int32)
    table = Lookup(starts, np.empty(len(keys), np.uint64), np.empty(len(keys), np.int32))
    _fill_lookup(keys, starts, table.keys, table.places)
    return table


@compiled
def _fill_lookup(keys: Any, starts: Any, slot_keys: Any, slot_places: Any) -> None:
    """Sort keys by slot, those of a slot in the order of the query."""
    for key in keys:
        starts[(key & (SLOTS - 1)) + 1] += 1
    for slot in range(SLOTS):
        starts[slot + 1] += starts[slot]
    # From the last place of each slot down; the starts then are those of the slots.
    for place in range(len(keys) - 1, -1, -1):
        slot = keys[place] & (SLOTS - 1)
        starts[slot + 1] -= 1
        slot_keys[starts[slot + 1]] = keys[place]
        slot_places[starts[slot + 1]] = place
    for slot in range(SLOTS):
        starts[slot] = starts[slot + 1]
    starts[SLOTS] = len(keys)


def span_positions(starts: Ints, ends: Ints) -> Ints:
    """Return all integers of the spans, one span after another."""
    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes))


class ViewTable(NamedTuple):
    """Weights of fields, mean length, and weighting of each view."""

    weights: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    weightings: tuple[TfIdfWeighting, ...]

    def one(self, view: int) -> ViewTable:
        """Return the table of a single view."""
        place = slice(view, view + 1)
        return ViewTable(self.weights[place], self.means[place], self.weightings[place])


def view_table(info: StoreInfo, family: str, views: Sequence[View], weighting: TfIdfWeighting = DEFAULT) -> ViewTable:
    """Return the table of some views in a family."""
    means = [info.lengths(family, view).mean_length for view in views]
    weightings = tuple(UNIT_WEIGHTINGS.get(view.unit, DEFAULT) if weighting == DEFAULT else weighting for view in views)
    return ViewTable(_field_weights(tuple(views)), np.array(means), weightings)


@lru_cache(VIEWS_KEPT)
def _field_weights(views: tuple[View, ...]) -> npt.NDArray[np.float64]:
    return np.array([view.vector(FIELDS) for view in views], np.float64).reshape(-1, len(FIELDS))


@compiled
def _score(
    threads_start: Any, threads_end: Any, starts: Any, ends: Any, keys: Any, fields: Any, occurrences: Any,
    lengths: Any, slots: Any, slot_keys: Any, slot_places: Any, scores: Any, view_weights: Any, view_means: Any,
    view_b: Any, post_weights: Any, post_mean: float, post_b: float, k1: float, out: Any, out_posts: Any,
) -> None:  # fmt: skip
    """Fill `out` (a row a view, a column a thread) and `out_posts` with BM25 scores."""
    views, terms = len(view_weights), len(scores)
    last = views  # the last column of counts is that of the post itself
    counts, factors = np.zeros((terms, views + 1)), np.zeros(views + 1)
    touched, own_touched = np.empty(terms, np.int64), np.empty(terms, np.int64)
    seen, own_seen = np.zeros(terms, np.bool_), np.zeros(terms, np.bool_)
    length = np.zeros(views)
    for thread in range(len(threads_start)):
        size = 0
        length[:] = 0.0
        for post in range(threads_start[thread], threads_end[thread]):
            own_size, own_length = 0, 0.0
            for field in range(lengths.shape[1]):
                own_length += post_weights[field] * lengths[post, field]
                for view in range(views):
                    length[view] += view_weights[view, field] * lengths[post, field]
            for at in range(starts[post], ends[post]):
                key = keys[at]
                slot = key & (SLOTS - 1)
                for spot in range(slots[slot], slots[slot + 1]):
                    if slot_keys[spot] != key:
                        continue
                    place = slot_places[spot]
                    field = fields[at]
                    times = np.float64(occurrences[at])
                    if not seen[place]:
                        seen[place], touched[size] = True, place
                        size += 1
                    if post_weights[field] > 0.0:
                        if not own_seen[place]:
                            own_seen[place], own_touched[own_size] = True, place
                            own_size += 1
                        counts[place, last] += post_weights[field] * times
                    for view in range(views):
                        if view_weights[view, field] > 0.0:
                            counts[place, view] += view_weights[view, field] * times
            if own_size:
                own_factor = length_factor(own_length, post_mean, k1, post_b) if post_mean > 0.0 else 0.0
                total = 0.0
                for at in range(own_size):
                    place = own_touched[at]
                    total += scores[place] * saturate(counts[place, last], own_factor, k1)
                    counts[place, last], own_seen[place] = 0.0, False
                out_posts[post] = total if post_mean > 0.0 else 0.0
        for view in range(views):
            known = view_means[view] > 0.0
            factors[view] = length_factor(length[view], view_means[view], k1, view_b[view]) if known else 0.0
        for at in range(size):
            place = touched[at]
            for view in range(views):
                if counts[place, view] > 0.0:
                    out[view, thread] += scores[place] * saturate(counts[place, view], factors[view], k1)
                    counts[place, view] = 0.0
            seen[place] = False


def score_batch(
    batch: Threads, rows: TermRows, keys: Ints, scores: Floats, views: ViewTable, posts: ViewTable
) -> tuple[Floats, Floats]:
    """Return the score of each thread in each view (a row a view), and of each post of the batch in the one view of
    `posts`. `scores` are weight x idf of the query terms with these keys."""
    out = np.zeros((len(views.means), len(batch.numbers)))
    out_posts = np.zeros(len(batch.post_ids), np.float32)
    weightings = (*views.weightings, *posts.weightings)
    bm25 = [one for one in weightings if isinstance(one, BM25)]
    if len(bm25) < len(weightings):
        threads = np.repeat(np.arange(len(batch.numbers)), batch.ends - batch.starts)
        for view in range(len(views.means)):
            out[view] = _weigh(rows, keys, scores, views.one(view), threads, len(batch.numbers))
        out_posts[:] = _weigh(rows, keys, scores, posts, np.arange(len(out_posts)), len(out_posts))
    elif len(keys):
        table, b = make_lookup(keys), np.array([one.b for one in bm25])
        _score(
            batch.starts, batch.ends, *rows, table.starts, table.keys, table.places, scores.astype(np.float64),
            views.weights, views.means, b[:-1], posts.weights[0], float(posts.means[0]), float(b[-1]), bm25[0].k1, out,
            out_posts,
        )  # fmt: skip
    return out.astype(np.float32), out_posts


def _weigh(
    rows: TermRows, keys: Ints, scores: Floats, view: ViewTable, unit_of_post: Ints, units: int
) -> npt.NDArray[np.float64]:
    """Return the scores of units, posts or whole threads, by any weighting. The table has one view."""
    total = np.zeros(units)
    weights, mean = view.weights[0], float(view.means[0])
    if not len(keys) or mean <= 0:
        return total
    lengths: npt.NDArray[np.float64] = np.bincount(unit_of_post, rows.lengths @ weights, units).astype(np.float64)
    unit_of_entry = np.repeat(unit_of_post, rows.ends - rows.starts)
    entries = span_positions(rows.starts, rows.ends)
    found = rows.keys[entries].astype(np.int64)
    place = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    counted = weights[rows.fields[entries]] * rows.counts[entries]
    for term in range(len(keys)):
        own = (place == term) & (keys[place] == found)
        counts = np.bincount(unit_of_entry[own], counted[own], units).astype(np.float64)
        has = counts > 0
        total[has] += float(scores[term]) * view.weightings[0].strength(counts[has], lengths[has], mean)
    return total


def contributions(rows: TermRows, posts: range, keys: Ints, scores: Floats, view: ViewTable) -> dict[int, float]:
    """Return what each term adds, by its position in `keys`, to the score of some posts together, in one view."""
    found: dict[int, float] = {}
    weights, mean = view.weights[0], float(view.means[0])
    if not len(keys) or mean <= 0:
        return found
    counts = np.zeros(len(keys))
    length = 0.0
    for post in posts:
        entries = slice(int(rows.starts[post]), int(rows.ends[post]))
        at = np.minimum(np.searchsorted(keys, rows.keys[entries].astype(np.int64)), len(keys) - 1)
        known = keys[at] == rows.keys[entries]
        np.add.at(counts, at[known], weights[rows.fields[entries][known]] * rows.counts[entries][known])
        length += float(weights @ rows.lengths[post])
    places = np.flatnonzero(counts)
    strengths = view.weightings[0].strength(counts[places], np.full(len(places), length), mean)
    for place, strength in zip(places.tolist(), strengths.tolist(), strict=True):
        found[place] = float(scores[place]) * strength
    return found
