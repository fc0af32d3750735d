"""Columns of numbers in files: append them while building, memory-map them to read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import IO, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from porism.files import disk_error

SUFFIX = ".bin"
SMALL_FILE = 1 << 16  # bytes
# numpy reads the header of a file with Python's parser, which in Python 3.11 fails when two threads use it at the same
# time.
HEADERS = Lock()
Keys = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
LEAST_BUFFER = 1_000_000  # keys that are buffered at least before they are merged


class OpenFiles:
    """Base class of writers that keep several files open. Use a writer in a `with` statement, which closes them."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


class ColumnWriter(OpenFiles):
    """Append arrays to named columns, one file each, which may exist already. Use it in a `with` statement."""

    def __init__(self, directory: Path, types: Mapping[str, str]) -> None:
        super().__init__()
        directory.mkdir(parents=True, exist_ok=True)
        self._types = types
        self._directory = directory
        self._files: dict[str, IO[bytes]] = {
            name: self._stack.enter_context((directory / f"{name}{SUFFIX}").open("ab")) for name in types
        }

    def append(self, name: str, values: npt.ArrayLike) -> None:
        """Append values to a column."""
        try:
            self._files[name].write(np.ascontiguousarray(values, self._types[name]).tobytes())
        except OSError as error:
            raise disk_error(error, self._directory) from error

    def __exit__(self, *error: Any) -> None:
        try:
            self._stack.close()
        except OSError as failure:
            raise disk_error(failure, self._directory) from failure


class ArrayWriter:
    """Append rows to a `.npy` file, complete once it is closed; nothing stays in memory. For a `with` statement."""

    def __init__(self, path: Path, dtype: str, width: int | None = None) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        self._row_shape = () if width is None else (width,)
        self._rows = 0
        self._file: IO[bytes] = path.open("wb")
        self._write_header()

    def _write_header(self) -> None:
        # numpy pads the header, so that it can be overwritten once the number of rows is known.
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._rows, *self._row_shape)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: npt.ArrayLike) -> None:
        """Append rows."""
        rows = np.ascontiguousarray(values, self._dtype).reshape(-1, *self._row_shape)
        self._file.write(rows.data)
        self._rows += len(rows)

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        if kind is None:
            self._file.seek(0)
            self._write_header()
        try:
            self._file.close()
        except OSError as failure:
            # An error that is being raised already must not be replaced by this one.
            if kind is None:
                raise disk_error(failure, self._path) from failure


def read_array(path: Path) -> npt.NDArray[Any]:
    """Map a `.npy` file into memory, or read it if it is small. Pages of a mapped file are read when they are used."""
    # A plain array: indexing np.memmap costs more than most look-ups.
    with HEADERS:
        array: npt.NDArray[Any] = np.load(path, mmap_mode=None if _is_small(path) else "r").view(np.ndarray)
    array.flags.writeable = False
    return array


def smallest(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return counts in the smallest type that holds all of them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def map_file(path: Path, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Map a file of numbers into memory, or read it if it is small."""
    array: npt.NDArray[Any] = (
        np.fromfile(path, dtype) if _is_small(path) else np.memmap(path, dtype, "r").view(np.ndarray)
    )
    array.flags.writeable = False  # also where it was read: compiled code has one version for both
    return array


def _is_small(path: Path) -> bool:
    """Whether a file is read at once. Mapped files keep descriptors open, and segments have hundreds of files."""
    return path.stat().st_size <= SMALL_FILE


def read_columns(directory: Path, types: Mapping[str, str]) -> dict[str, npt.NDArray[Any]]:
    """Map the columns of a directory into memory. Pages are read when they are used."""
    return {name: map_file(directory / f"{name}{SUFFIX}", dtype) for name, dtype in types.items()}


class CountedKeys(NamedTuple):
    """Distinct keys in ascending order, and the count of each."""

    keys: Keys
    counts: Counts


class KeyCounter:
    """A counter of integer keys that takes 16 bytes a key.

    New keys are buffered until there are as many of them as counted ones and then merged, so that each key is moved a
    few times only. At its peak the counter holds three times its keys."""

    def __init__(self, dtype: str) -> None:
        self._counted = CountedKeys(np.empty(0, dtype), np.empty(0, np.int64))
        self._buffer: list[CountedKeys] = []
        self._buffered = 0

    def add(self, keys: Keys, counts: Counts) -> None:
        """Add the counts of keys."""
        self._buffer.append(CountedKeys(keys, counts))
        self._buffered += len(keys)
        if self._buffered >= max(LEAST_BUFFER, len(self._counted.keys)):
            self._merge()

    def count(self, keys: Keys) -> None:
        """Count every occurrence of the keys once."""
        distinct, counts = np.unique(keys, return_counts=True)
        self.add(distinct, counts)

    def _merge(self) -> None:
        keys = np.concatenate([self._counted.keys, *(block.keys for block in self._buffer)])
        counts = np.concatenate([self._counted.counts, *(block.counts for block in self._buffer)])
        self._buffer, self._buffered = [], 0
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, np.int64)
        self._counted = CountedKeys(keys[first], np.add.reduceat(counts, first) if len(first) else counts)

    def result(self) -> CountedKeys:
        """Return the keys and their counts."""
        if self._buffer:
            self._merge()
        return self._counted
