"""Rows of terms: those of formulas, read back from posting lists; with other codes; and what they count in the
statistics of a collection.

Rows are read in ranges, so that memory is bounded. Compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.corpus.content import VisualTrees
from porism.store.embedded.formulas.build import formulas_with_label, make_block
from porism.store.embedded.storage.rows import FIELD_SHIFT, RowBlock, get
from porism.store.embedded.terms.postings import DISTANCE_SHIFT, PostingLists
from porism.store.opensearch.manifest import Family
from porism.store.opensearch.tables import NOTHING, Counted, TermTable
from porism.store.records import TermRows, Threads

Ints = npt.NDArray[np.int64]
MOST_ENTRIES = 4_000_000  # of a range of rows, 20 MB


@compiled
def _count(data: Any, ends: Any, sizes: Any) -> None:
    """Count the entries of each row."""
    start = np.int64(0)
    for number in range(len(ends)):
        at, end, row = start, np.int64(ends[number]), np.int64(0)
        while at < end:
            value, at = get(data, at)
            row += value >> DISTANCE_SHIFT
            if value & 1:
                _, at = get(data, at)
            sizes[row] += 1
        start = end


@compiled
def _fill(data: Any, ends: Any, low: int, high: int, places: Any, codes: Any, counts: Any) -> None:
    """Write the entries of the rows from `low` up to `high` to their places."""
    start = np.int64(0)
    for number in range(len(ends)):
        at, end, row = start, np.int64(ends[number]), np.int64(0)
        while at < end:
            value, at = get(data, at)
            row += value >> DISTANCE_SHIFT
            count = np.int64(1)
            if value & 1:
                count, at = get(data, at)
                count += 2
            if low <= row < high:
                codes[places[row - low]], counts[places[row - low]] = number, count
                places[row - low] += 1
        start = end


class RowRange(NamedTuple):
    """Rows and their terms in each family."""

    first: int
    end: int
    terms: dict[str, TermRows]


def read_rows(lists: dict[str, PostingLists], lengths: dict[str, npt.NDArray[Any]], rows: int) -> Iterator[RowRange]:
    """Yield all rows with their terms by family, in ranges. Each row is a document with a single field."""
    sizes = {family: np.zeros(rows, np.int64) for family in lists}
    for family, own in lists.items():
        _count(own.data, own.ends, sizes[family])
    total = np.cumsum(np.sum([*sizes.values()], axis=0)) if rows else np.empty(0, np.int64)
    low = 0
    while low < rows:
        before = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + MOST_ENTRIES, side="right")))
        terms = {
            family: _range(own, sizes[family][low:high], lengths[family][low:high], low)
            for family, own in lists.items()
        }
        yield RowRange(low, high, terms)
        low = high


def _range(lists: PostingLists, sizes: Ints, lengths: npt.NDArray[Any], low: int) -> TermRows:
    ends = np.cumsum(sizes)
    size = int(ends[-1])
    codes, counts = np.empty(size, np.uint32), np.empty(size, np.uint8)
    _fill(lists.data, lists.ends, low, low + len(sizes), ends - sizes, codes, counts)
    fields = np.zeros(size, np.uint8)
    return TermRows(ends - sizes, ends, codes, fields, counts, lengths.reshape(len(sizes), -1).astype(np.int32))


class OldFormulas(NamedTuple):
    """What formulas that are gone took part in: how many have each term and each label (layout trees, operator trees),
    their path groups by key, and their lengths by family."""

    terms: Mapping[str, Counted]
    labels: Mapping[str, tuple[int, int]]
    keys: Counted
    lengths: Mapping[str, int]

    @classmethod
    def of(cls, trees: Sequence[bytes], tables: Mapping[str, TermTable]) -> OldFormulas:
        """Count what formulas with these trees have. The same block was made when they were added."""
        block = make_block([VisualTrees(0, 0, "", packed) for packed in trees])
        terms, lengths = {}, {}
        for family, local in block.terms.items():
            formula = np.repeat(np.arange(len(local.rows.sizes)), local.rows.sizes)
            size = max(1, len(local.hashes))
            pairs = np.unique(formula * size + local.rows.codes)
            terms[family] = NOTHING.plus(tables[family].find(local.hashes)[pairs % size], np.ones(len(pairs), np.int64))
            lengths[family] = int(local.rows.lengths.sum())
        numbers = np.arange(len(block.labels), dtype=np.int32)
        layout, operators = (formulas_with_label(numbers, block, tree) for tree in ("layout", "operator"))
        labels = {name: (layout.get(at, 0), operators.get(at, 0)) for at, name in enumerate(block.labels)}
        keys = NOTHING.plus(block.keys.astype(np.int64), block.key_counts)
        return cls(terms, labels, keys, lengths)


def thread_codes(batch: Threads, family: str) -> list[Ints]:
    """Return the codes of the terms of each thread in a family, ascending."""
    rows = batch.terms[family]
    return [
        np.unique(rows.keys[int(rows.starts[start]) : int(rows.ends[end - 1])]).astype(np.int64)
        for start, end in zip(batch.starts.tolist(), batch.ends.tolist(), strict=True)
    ]


def thread_counts(batch: Threads, family: str) -> Counted:
    """Return how many of some threads contain each term of a family."""
    codes = thread_codes(batch, family)
    found = np.concatenate(codes) if codes else np.empty(0, np.int64)
    return NOTHING.plus(found, np.ones(len(found), np.int64))


def recoded(rows: TermRows, codes: Ints) -> TermRows:
    """Return rows with other codes, and no entries of other families."""
    low, high = (int(rows.starts[0]), int(rows.ends[-1])) if len(rows.starts) else (0, 0)
    keys = codes[rows.keys[low:high]].astype(np.uint32)
    return TermRows(
        rows.starts - low,
        rows.ends - low,
        keys,
        rows.fields[low:high].copy(),
        rows.counts[low:high].copy(),
        rows.lengths,
    )


def row_block(rows: TermRows) -> RowBlock:
    """Return rows as the embedded store packs them."""
    cells = ((rows.fields.astype(np.uint8) << FIELD_SHIFT) | rows.counts).astype(np.uint8)
    return RowBlock(rows.keys.astype(np.uint32), cells, rows.ends - rows.starts, rows.lengths)


def answer_count(batch: Threads) -> int:
    """Return how many answers threads have."""
    return len(batch.post_ids) - len(batch.numbers)


def with_lengths(own: Family, table: TermTable, old: Threads, new: Threads | None, family: str) -> Family:
    """Return a family after a change of threads."""
    questions, answers = np.array(own.questions), np.array(own.answers)
    for batch, sign in ((old, -1), (new, 1)):
        if batch is not None and len(batch.post_ids):
            lengths = batch.terms[family].lengths.astype(np.int64)
            first = lengths[batch.starts].sum(axis=0)
            questions, answers = questions + sign * first, answers + sign * (lengths.sum(axis=0) - first)
    return replace(own, codes=table.size, questions=tuple(questions.tolist()), answers=tuple(answers.tolist()))
