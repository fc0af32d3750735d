"""Records: the rows of all posts of a thread, in all families, one after another in a file, so that a candidate is one
read.

A record starts with two integers for each family: the size of its section in bytes, and its number of entries. The
sections follow. A section has for each post the number of its groups, then the groups. The entries of a group have one
field and codes of one width, and either a count of 1 each or counts of their own. A group is: entries << 6 | field << 2
| wide << 1 | counted; the counts, a byte each; and the codes, 2 bytes each, or 4 if they are wide. Codes are given in
the order of first appearance, so that frequent terms are not wide. That takes about 2.3 bytes an entry instead of the 5
of arrays, and is decoded without branches. Integers are those of `porism.store.embedded.storage.rows`. Compiled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.integrity import DamageError
from porism.store.embedded.storage.columns import ArrayWriter, OpenFiles, map_file, read_array
from porism.store.embedded.storage.rows import FIELD_BITS, FIELD_SHIFT, MOST_COUNT, RowBlock, get, put
from porism.store.records import TermRows

FILE, STARTS = "threads.rows", "threads.row_start.npy"
FIX = "build the index again, or restore it from a backup"
NARROW_CODES = 1 << 16  # codes below this have 2 bytes
KIND_BITS = FIELD_BITS + 2  # of a kind of groups: a field, and two flags
KINDS = 1 << KIND_BITS
LONGEST_ENTRY = 5  # bytes: a count, and four of the code
LONGEST_INTEGER = 10
LARGE = 1 << 22  # bytes from which numpy asks for large pages

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class _Sections(NamedTuple):
    """The sections of one family of some threads: bytes, where that of each thread ends, and its number of entries."""

    data: Bytes
    ends: Ints
    entries: Ints


class Records(NamedTuple):
    """The records of some threads: bytes, and where each starts and ends."""

    data: Bytes
    starts: Ints
    ends: Ints


@compiled
def _kind(code: Any, cell: Any) -> Any:
    """Return the kind of group of an entry: field, width of the code, and whether it has its own count."""
    wide, counted = code >= NARROW_CODES, (cell & MOST_COUNT) > 1
    return (np.int64(cell >> FIELD_SHIFT) << 2) | (2 if wide else 0) | (1 if counted else 0)


@compiled
def _put_post(codes: Any, cells: Any, sizes: Any, counts_at: Any, codes_at: Any, out: Any, at: int) -> int:
    """Write the groups of one post; return the position after them. The arrays by kind are overwritten."""
    sizes[:] = 0
    for entry in range(len(codes)):
        sizes[_kind(codes[entry], cells[entry])] += 1
    groups = 0
    for kind in range(KINDS):
        groups += 1 if sizes[kind] else 0
    at = put(np.int64(groups), out, at)
    for kind in range(KINDS):
        size = np.int64(sizes[kind])
        if size:
            at = put((size << KIND_BITS) | kind, out, at)
            counts_at[kind] = at
            codes_at[kind] = at + (size if kind & 1 else 0)
            at = codes_at[kind] + size * (4 if kind & 2 else 2)
    for entry in range(len(codes)):
        kind, code = _kind(codes[entry], cells[entry]), codes[entry]
        if kind & 1:
            out[counts_at[kind]] = cells[entry] & MOST_COUNT
            counts_at[kind] += 1
        place = codes_at[kind]
        out[place], out[place + 1] = code & 255, (code >> 8) & 255
        if kind & 2:
            out[place + 2], out[place + 3] = (code >> 16) & 255, code >> 24
        codes_at[kind] = place + (4 if kind & 2 else 2)
    return at


@compiled
def _put_sections(codes: Any, cells: Any, threads: Any, posts: Any, out: Any, ends: Any) -> None:
    """Write the section of each thread. Post p has the entries from posts[p] to posts[p + 1], thread t the posts from
    threads[t] to threads[t + 1]."""
    sizes, counts_at, codes_at = (np.zeros(KINDS, np.int64), np.zeros(KINDS, np.int64), np.zeros(KINDS, np.int64))
    at = 0
    for thread in range(len(threads) - 1):
        for post in range(threads[thread], threads[thread + 1]):
            start, end = posts[post], posts[post + 1]
            at = _put_post(codes[start:end], cells[start:end], sizes, counts_at, codes_at, out, at)
        ends[thread] = at


def _sections(rows: RowBlock, threads: Ints) -> _Sections:
    """Return the sections of one family; `threads` says where the posts of each thread start, and the last end."""
    posts = np.concatenate(([0], np.cumsum(rows.sizes)))
    groups = min(len(rows.codes), KINDS * len(rows.sizes))
    longest = LONGEST_ENTRY * len(rows.codes) + LONGEST_INTEGER * (len(rows.sizes) + groups)
    out, ends = np.empty(longest, np.uint8), np.zeros(len(threads) - 1, np.int64)
    _put_sections(rows.codes, rows.cells, threads, posts, out, ends)
    return _Sections(out[: int(ends[-1]) if len(ends) else 0], ends, np.diff(posts[threads]))


@compiled
def _join(data: Any, starts: Any, sizes: Any, entries: Any, out: Any, ends: Any) -> None:
    """Write the records of threads from their sections, given by thread and family."""
    at = 0
    for thread in range(sizes.shape[0]):
        for family in range(sizes.shape[1]):
            at = put(np.int64(sizes[thread, family]), out, at)
            at = put(np.int64(entries[thread, family]), out, at)
        for family in range(sizes.shape[1]):
            start, size = starts[thread, family], sizes[thread, family]
            out[at : at + size] = data[start : start + size]
            at += size
        ends[thread] = at


def encode_records(families: Sequence[RowBlock], sizes: Ints) -> Records:
    """Return the records of threads with these numbers of posts, from the rows of their posts in each family."""
    threads = np.concatenate(([0], np.cumsum(sizes)))
    made = [_sections(rows, threads) for rows in families]
    before = np.cumsum([0, *(len(one.data) for one in made[:-1])])
    own = np.stack([np.diff(one.ends, prepend=0) for one in made], axis=1)
    starts = np.stack([one.ends for one in made], axis=1) - own + before
    data = np.concatenate([one.data for one in made])
    out = np.empty(len(data) + 2 * LONGEST_INTEGER * own.size, np.uint8)
    ends = np.zeros(len(sizes), np.int64)
    _join(data, starts, own, np.stack([one.entries for one in made], axis=1), out, ends)
    return Records(out[: int(ends[-1]) if len(ends) else 0], ends - np.diff(ends, prepend=0), ends)


class RecordsWriter(OpenFiles):
    """Append records to a file in a directory. Use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._out: IO[bytes] = self._stack.enter_context((directory / FILE).open("wb"))
        self._stack.callback(lambda: self._out.write(b"\0"))  # an integer that damage made longer ends here
        self._starts = self._stack.enter_context(ArrayWriter(directory / STARTS, "<i8"))
        self._end = 0
        self._starts.append([0])

    def add(self, families: Sequence[RowBlock], sizes: Ints) -> None:
        """Append the records of the next threads."""
        made = encode_records(families, sizes)
        self._out.write(made.data.data)
        self._starts.append(self._end + made.ends)
        self._end += len(made.data)


@compiled
def _find_sections(data: Any, starts: Any, ends: Any, places: Any, entries: Any) -> bool:
    """Write where each family's section starts, and its entries; return whether the records are intact."""
    families = places.shape[1]
    for number in range(len(starts)):
        at = starts[number]
        before = np.int64(0)
        for family in range(families):
            places[number, family] = before
            size, at = get(data, at)
            entries[number, family], at = get(data, at)
            if not 0 <= entries[number, family] <= size:  # an entry has one byte at least
                return False
            before += size
        for family in range(families):
            places[number, family] += at
        if at + before != ends[number]:
            return False
    return True


@compiled
def _read_codes(data: Any, at: Any, wide: bool, codes: Any) -> None:
    """Decode codes. Positions are unsigned, so that numba turns the loops into instructions over many codes."""
    if wide:
        for entry in range(len(codes)):
            place = at + np.uint64(entry) * np.uint64(4)
            codes[entry] = (
                np.uint32(data[place])
                | (np.uint32(data[place + np.uint64(1)]) << np.uint32(8))
                | (np.uint32(data[place + np.uint64(2)]) << np.uint32(16))
                | (np.uint32(data[place + np.uint64(3)]) << np.uint32(24))
            )
    else:
        for entry in range(len(codes)):
            place = at + np.uint64(entry) * np.uint64(2)
            codes[entry] = np.uint32(data[place]) | (np.uint32(data[place + np.uint64(1)]) << np.uint32(8))


@compiled
def _read_sections(
    data: Any, places: Any, sizes: Any, size: int, most: int, starts: Any, ends: Any, codes: Any, fields: Any,
    counts: Any, lengths: Any,
) -> bool:  # fmt: skip
    """Decode the section of each thread at `places` (`sizes`: its number of posts) to the positions from `size` up to
    `most`.

    Return whether the sections are intact. Damaged bytes never lead outside of the arrays."""
    post = 0
    for thread in range(len(places)):
        at = places[thread]
        for _ in range(sizes[thread]):
            starts[post] = size
            groups, at = get(data, at)
            for _ in range(groups):
                head, at = get(data, at)
                number, field, wide, counted = head >> KIND_BITS, (head & (KINDS - 1)) >> 2, head & 2, head & 1
                if field >= lengths.shape[1] or not 0 < number <= most - size:
                    return False
                after = at + number * (2 + wide + counted)
                if after >= len(data):
                    return False
                total, end = number, size + number
                fields[size:end] = field
                if counted:
                    total = np.int64(0)
                    for entry in range(number):
                        count = np.int64(data[np.uint64(at) + np.uint64(entry)]) & MOST_COUNT
                        total += count
                        counts[size + entry] = count
                    at += number
                else:
                    counts[size:end] = 1
                _read_codes(data, np.uint64(at), wide > 0, codes[size:end])
                lengths[post, field] += total
                size, at = end, after
            ends[post] = size
            post += 1
    return size == most


def _entry_arrays(size: int) -> tuple[npt.NDArray[np.uint32], Bytes, Bytes]:
    """Return arrays for the codes, fields and counts of entries, as one piece of memory: many middle-sized pieces would
    be returned to the system and requested again with every query, which takes longer than decoding."""
    memory = np.empty(max(6 * size, LARGE), np.uint8)
    return memory[: 4 * size].view(np.uint32), memory[4 * size : 5 * size], memory[5 * size : 6 * size]


def decode_records(
    records: Records, sizes: Ints, families: Sequence[str], wanted: Sequence[str], fields: int
) -> dict[str, TermRows] | None:
    """Return the entries of the posts of threads in the wanted families; None if a record is damaged. `sizes` are the
    numbers of posts, `families` those of the records, whose data has a byte more."""
    data, starts, ends = records
    shape = (len(starts), len(families))
    places, entries = np.empty(shape, np.int64), np.empty(shape, np.int64)
    if not _find_sections(data, starts, ends, places, entries):
        return None
    numbers = [families.index(family) for family in wanted]
    bounds = np.concatenate(([0], np.cumsum(entries[:, numbers].sum(0)))).tolist()
    arrays = _entry_arrays(bounds[-1])
    posts, found = int(sizes.sum()), {}
    for family, number, (start, end) in zip(wanted, numbers, pairwise(bounds), strict=True):
        spans = np.empty((2, posts), np.int64)
        made = TermRows(spans[0], spans[1], *arrays, np.zeros((posts, fields), np.int32))
        if not _read_sections(data, np.ascontiguousarray(places[:, number]), sizes, start, end, *made):
            return None
        found[family] = made
    return found


class RecordsReader:
    """Records of a directory, mapped into memory."""

    def __init__(self, directory: Path, families: Sequence[str], fields: int) -> None:
        self._directory = directory
        self._data: Bytes = map_file(directory / FILE, np.uint8)
        self._starts: Ints = read_array(directory / STARTS)
        self._families = families
        self._fields = fields

    def read(self, threads: Ints, sizes: Ints, families: Sequence[str]) -> dict[str, TermRows]:
        """Return the entries of the posts of threads in some families; `sizes` are the numbers of posts."""
        records = Records(self._data, self._starts[threads], self._starts[threads + 1])
        found = decode_records(records, sizes, self._families, families, self._fields)
        if found is None:
            raise DamageError("is damaged: a record cannot be read", where=str(self._directory / FILE), fix=FIX)
        return found

    def packed(self, first: int, end: int) -> list[bytes]:
        """Return the packed record of each thread from the first up to, but not including, the end."""
        bounds = self._starts[first : end + 1].tolist()
        return [self._data[start:stop].tobytes() for start, stop in pairwise(bounds)]
