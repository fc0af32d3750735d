"""Records of threads and formulas as bytes, many at once. Each record is aligned, so that a batch of them is decoded as
arrays.

A thread: four integers (posts, bytes of the terms, dimensions of two vectors), ids, years and acceptance of its posts,
its vectors, and its terms as the embedded store packs them. A formula: six integers (leaves, and the sizes of what
follows), symbols, paths, edges, LaTeX and trees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS
from porism.store.embedded.formulas.store import expand_trees
from porism.store.embedded.posts.store import VECTOR_FAMILIES, half_floats
from porism.store.embedded.storage.records import Records, decode_records
from porism.store.records import Formulas, PathRows, SymbolSequences, Threads

Ints = npt.NDArray[np.int64]
ALIGNED = 8
HEAD = 16  # bytes before the ids of the posts of a thread
FORMULA_HEAD = 24


class ThreadColumns(NamedTuple):
    """Some threads as columns: how many posts each has, their attributes, and the vectors of the threads,
    half-precision numbers."""

    sizes: Ints
    ids: Ints
    years: npt.NDArray[np.int16]
    accepted: npt.NDArray[np.uint8]
    vectors: Sequence[npt.NDArray[np.float16]]


def pack_threads(columns: ThreadColumns, terms: Sequence[bytes]) -> list[bytes]:
    """Return the record of each thread; `terms` are the packed terms of each."""
    dimensions = [one.shape[1] for one in columns.vectors]
    ends = np.cumsum(columns.sizes).tolist()
    ids, years, accepted = (np.ascontiguousarray(one) for one in columns[1:4])
    packed = []
    for at, (end, own) in enumerate(zip(ends, terms, strict=True)):
        size = int(columns.sizes[at])
        start = end - size
        head = np.array([size, len(own), *dimensions], "<i4").tobytes()
        body = (ids[start:end].tobytes(), years[start:end].tobytes(), accepted[start:end].tobytes(), b"\0" * (size % 2))
        packed.append(_padded(b"".join((head, *body, *(one[at].tobytes() for one in columns.vectors), own))))
    return packed


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNED)


def spread(starts: Ints, sizes: Ints) -> Ints:
    """Return all positions of spans: from each start on, as many as its size."""
    places: Ints = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return places


class _Joined(NamedTuple):
    """Records one after another, as bytes, and where each starts."""

    data: npt.NDArray[np.uint8]
    starts: Ints

    def column(self, kind: str, starts: Ints, sizes: Ints) -> npt.NDArray[Any]:
        """Return the numbers of a type from each start (in bytes) on."""
        dtype = np.dtype(kind)
        values = self.data[: len(self.data) - len(self.data) % ALIGNED].view(dtype)
        return values[spread(starts // dtype.itemsize, sizes)]


def _join(records: Sequence[bytes]) -> _Joined:
    ends = np.cumsum([len(one) for one in records], dtype=np.int64)
    data = np.frombuffer(b"".join((*records, b"\0")), np.uint8)  # an integer that damage made longer ends there
    return _Joined(data, np.concatenate((np.zeros(1, np.int64), ends[:-1])) if len(ends) else ends)


def unpack_threads(
    numbers: Ints, records: Sequence[bytes], families: Collection[str], vectors: Collection[str], lookup: Any
) -> Threads | None:
    """Return threads of their records; None if one is damaged."""
    joined = _join(records)
    heads = joined.column("<i4", joined.starts, np.full(len(records), 4)).reshape(-1, 4).astype(np.int64)
    sizes, lengths = heads[:, 0], heads[:, 1]
    at_years = joined.starts + HEAD + 8 * sizes
    at_accepted = at_years + 2 * sizes
    at_vectors = at_accepted + sizes + sizes % 2
    at_terms = at_vectors + 2 * heads[:, 2:].sum(axis=1)
    packed = Records(joined.data, at_terms, at_terms + lengths)
    rows = decode_records(packed, sizes, FAMILIES, sorted(families), len(FIELDS))
    if rows is None:
        return None
    ends = np.cumsum(sizes)
    before = np.concatenate((np.zeros((len(heads), 1), np.int64), np.cumsum(heads[:, 2:], axis=1)), axis=1)
    found = {}
    for family in vectors:
        place = VECTOR_FAMILIES.index(family)
        bits = joined.column("<u2", at_vectors + 2 * before[:, place], heads[:, 2 + place])
        found[family] = half_floats().take(bits).reshape(len(records), len(bits) // max(1, len(records)))
    return Threads(
        numbers,
        ends - sizes,
        ends,
        joined.column("<i8", joined.starts + HEAD, sizes),
        joined.column("<i2", at_years, sizes).astype(np.int64),
        joined.column("u1", at_accepted, sizes).astype(np.bool_),
        rows,
        found,
        lookup,
    )


class FormulaSource(NamedTuple):
    """The columns of some formulas, as the embedded store has them, and which labels they mean here."""

    columns: Mapping[str, npt.NDArray[Any]]
    labels: npt.NDArray[np.int32] | None = None


_LISTS = (
    ("layout_label", "layout_at"),
    ("operator_label", "operator_at"),
    ("path_label", "path_at"),
    ("path_key", "path_at"),
)
_BYTES = (("layout_edge", "layout_at"), ("path_above", "path_at"), ("latex", "latex_at"), ("trees", "trees_at"))
_SIZES = ("layout_at", "operator_at", "path_at", "latex_at", "trees_at")


def pack_formulas(source: FormulaSource, rows: Sequence[int]) -> Iterator[bytes]:
    """Yield the record of each formula."""
    columns, mapped = source
    for row in rows:
        spans = {name: slice(int(columns[name][row - 1]) if row else 0, int(columns[name][row])) for name in _SIZES}
        sizes = [one.stop - one.start for one in spans.values()]
        parts = [np.array([columns["leaves"][row], *sizes], "<i4").tobytes()]
        for name, place in _LISTS:
            values = columns[name][spans[place]]
            own = mapped[values] if mapped is not None and name != "path_key" else values
            parts.append(own.tobytes())
        parts += [columns[name][spans[place]].tobytes() for name, place in _BYTES]
        yield _padded(b"".join(parts))


def pack_group(ids: Sequence[int], records: Sequence[bytes]) -> bytes:
    """Return the records of some formulas as one value: their number, ids, sizes, and the records."""
    head = np.array([len(ids), *ids, *map(len, records)], "<i8")
    return b"".join((head.tobytes(), *records))


def unpack_group(data: bytes, wanted: Collection[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the ids and records of those formulas of a group that are wanted."""
    size = int(np.frombuffer(data, "<i8", 1)[0])
    head = np.frombuffer(data, "<i8", 1 + 2 * size)
    end = head.nbytes
    for number, length in zip(head[1 : 1 + size].tolist(), head[1 + size :].tolist(), strict=True):
        end += length
        if number in wanted:
            yield number, data[end - length : end]


class FormulaRecord(NamedTuple):
    """LaTeX and packed trees of a formula."""

    latex: str
    trees: bytes


def unpack_formula(record: bytes) -> FormulaRecord:
    """Return what a record of a formula has besides symbols and paths."""
    _, layout, operators, paths, latex, trees = np.frombuffer(record, "<i4", 6).tolist()
    start = FORMULA_HEAD + 4 * (layout + operators + 2 * paths) + layout + paths
    text = record[start : start + latex].decode("utf-8", "surrogatepass")
    return FormulaRecord(text, expand_trees(record[start + latex : start + latex + trees]))


def unpack_formulas(numbers: Ints, found: Sequence[bytes], records: Any) -> Formulas:
    """Return formulas of their records."""
    joined = _join(found)
    heads = joined.column("<i4", joined.starts, np.full(len(found), 6)).reshape(-1, 6).astype(np.int64)
    leaves, layout, operators, paths = heads[:, 0], heads[:, 1], heads[:, 2], heads[:, 3]
    at_layout = joined.starts + FORMULA_HEAD
    at_operators = at_layout + 4 * layout
    at_labels = at_operators + 4 * operators
    at_keys = at_labels + 4 * paths
    at_edges = at_keys + 4 * paths
    ends = [np.cumsum(one) for one in (layout, operators, paths)]
    edges = joined.column("u1", at_edges, layout)
    return Formulas(
        numbers,
        numbers,
        SymbolSequences(ends[0] - layout, ends[0], joined.column("<i4", at_layout, layout), edges),
        SymbolSequences(ends[1] - operators, ends[1], joined.column("<i4", at_operators, operators), edges[:0]),
        PathRows(
            ends[2] - paths,
            ends[2],
            joined.column("u1", at_edges + layout, paths),
            joined.column("<u4", at_keys, paths),
            joined.column("<i4", at_labels, paths),
            leaves.astype(np.int32),
        ),
        records,
    )
