"""Terms of documents on disk. The row of a document is a list of entries: a term code, and a cell that packs a field
and a raw count.

Rows are the forward index, the counterpart of the posting lists, which are made from them; so are vectors. The files
are temporary: an index keeps the rows of posts as records (`porism.store.embedded.storage.records`)."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.store.embedded.storage.columns import ArrayWriter, OpenFiles, map_file, read_array

Codes = npt.NDArray[np.uint32]
Cells = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
FIELD_BITS = 4  # of the number of a field, wherever it is packed with something else
FIELD_SHIFT = 8 - FIELD_BITS  # a cell is the number of the field, then the count
MOST_COUNT = (1 << FIELD_SHIFT) - 1  # a larger count is split into several entries, which sum to it
# A key of an occurrence is the row, the code of the term (32 bits) and the field.
CODE_SHIFT, ROW_SHIFT = np.uint64(FIELD_BITS), np.uint64(32 + FIELD_BITS)
FIELD_MASK = np.uint64((1 << FIELD_BITS) - 1)


class RowBlock(NamedTuple):
    """The rows of some documents, one after another: codes and cells of all entries, the number of entries of each
    document, and its length in every field."""

    codes: Codes
    cells: Cells
    sizes: Ints
    lengths: npt.NDArray[np.int32]


@compiled
def _fold(keys: Any, codes: Any, cells: Any, sizes: Any, lengths: Any) -> int:
    """Count equal keys of a sorted array. Return the number of entries written."""
    size = 0
    at = 0
    while at < len(keys):
        key = keys[at]
        end = at
        while end < len(keys) and keys[end] == key:
            end += 1
        field = np.int64(key & FIELD_MASK)
        row = np.int64(key >> ROW_SHIFT)
        lengths[row, field] += end - at
        left = end - at
        while left > 0:
            count = min(left, MOST_COUNT)
            codes[size] = np.uint32((key >> CODE_SHIFT) & np.uint64(0xFFFFFFFF))
            cells[size] = np.uint8((field << FIELD_SHIFT) | count)
            sizes[row] += 1
            size += 1
            left -= count
        at = end
    return size


def fold_rows(rows: Ints, codes: Codes, fields: Ints, documents: int, field_count: int) -> RowBlock:
    """Group occurrences, each given by document, term code and field, into rows with counts."""
    keys = (rows.astype(np.uint64) << ROW_SHIFT) | (codes.astype(np.uint64) << CODE_SHIFT) | fields.astype(np.uint64)
    keys.sort()
    return _folded(np.asarray(keys, np.uint64), documents, field_count)


def fold_documents(sizes: Ints, codes: Codes, terms: int) -> RowBlock:
    """Group occurrences in the only field of documents into rows with counts. Each document has some, one document
    after another. Codes are less than `terms`."""
    keys = np.empty(len(codes), np.uint64)
    _sort_documents(sizes, codes, terms, keys)
    return _folded(keys, len(sizes), 1)


@compiled
def _sort_documents(sizes: Any, codes: Any, terms: int, keys: Any) -> None:
    """Write document and code of each occurrence as one number, in order: sort by code, then by document, which keeps
    the order of codes. Both times by counting, since there are few of both."""
    places = np.zeros(terms + 1, np.int64)
    for at in range(len(codes)):
        places[codes[at] + 1] += 1
    for code in range(terms):
        places[code + 1] += places[code]
    rows, by_code = np.empty(len(codes), np.int64), np.empty(len(codes), np.uint32)
    starts = np.empty(len(sizes), np.int64)
    start = 0
    for row in range(len(sizes)):
        starts[row] = start
        for at in range(start, start + sizes[row]):
            place = places[codes[at]]
            places[codes[at]] = place + 1
            rows[place], by_code[place] = row, codes[at]
        start += sizes[row]
    for place in range(len(codes)):
        row = rows[place]
        keys[starts[row]] = (np.uint64(row) << ROW_SHIFT) | (np.uint64(by_code[place]) << CODE_SHIFT)
        starts[row] += 1


def _folded(keys: npt.NDArray[np.uint64], documents: int, field_count: int) -> RowBlock:
    """Return the rows of sorted keys."""
    found_codes = np.empty(len(keys), np.uint32)
    cells = np.empty(len(keys), np.uint8)
    sizes = np.zeros(documents, np.int64)
    lengths = np.zeros((documents, field_count), np.int32)
    size = _fold(keys, found_codes, cells, sizes, lengths)
    return RowBlock(found_codes[:size].copy(), cells[:size].copy(), sizes, lengths)


class RowsWriter(OpenFiles):
    """Append rows to files. Memory does not grow with the number of rows. Use it in a `with` statement."""

    def __init__(self, directory: Path, name: str, fields: int) -> None:
        super().__init__()
        directory.mkdir(parents=True, exist_ok=True)
        self._codes: IO[bytes] = self._stack.enter_context((directory / f"{name}.codes").open("wb"))
        self._cells: IO[bytes] = self._stack.enter_context((directory / f"{name}.cells").open("wb"))
        self._starts = self._stack.enter_context(ArrayWriter(directory / f"{name}.starts.npy", "<i8"))
        self._lengths = self._stack.enter_context(ArrayWriter(directory / f"{name}.lengths.npy", "<i4", fields))
        self._end = 0
        self._starts.append([0])

    def add(self, block: RowBlock) -> None:
        """Append the rows of the next documents."""
        self._codes.write(np.ascontiguousarray(block.codes, "<u4").data)
        self._cells.write(np.ascontiguousarray(block.cells, "u1").data)
        self._starts.append(self._end + np.cumsum(block.sizes))
        self._lengths.append(block.lengths)
        self._end += len(block.codes)


class Rows:
    """The rows of one family of terms, as mapped arrays."""

    def __init__(self, directory: Path, name: str) -> None:
        self.starts: Ints = read_array(directory / f"{name}.starts.npy")
        self.lengths: npt.NDArray[np.int32] = read_array(directory / f"{name}.lengths.npy")
        self.codes: Codes = map_file(directory / f"{name}.codes", np.uint8).view(np.uint32)
        self.cells: Cells = map_file(directory / f"{name}.cells", np.uint8)

    def __len__(self) -> int:
        return len(self.lengths)

    def block(self, first: int, end: int) -> RowBlock:
        """Return the rows from the first up to, but not including, the end."""
        start, stop = int(self.starts[first]), int(self.starts[end])
        sizes = np.diff(self.starts[first : end + 1])
        return RowBlock(self.codes[start:stop], self.cells[start:stop], sizes, self.lengths[first:end])


@compiled
def put(value: Any, out: Any, at: int) -> int:
    """Write one integer; return the position after it."""
    while value > 127:
        out[at] = (value & 127) | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@compiled
def get(data: Any, at: Any) -> Any:
    """Read one integer; return it and the position after it."""
    value = np.int64(0)
    shift = 0
    while True:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
