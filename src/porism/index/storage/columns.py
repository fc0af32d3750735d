"""Columns of numbers in files: appended while building, memory-mapped when read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from porism.files import disk_error

SUFFIX = ".bin"


class ColumnWriter:
    """Appends arrays to one file for each named column, new or there already; use it in a `with` statement."""

    def __init__(self, directory: Path, types: Mapping[str, str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._types = types
        self._directory = directory
        self._stack = ExitStack()
        self._files: dict[str, IO[bytes]] = {
            name: self._stack.enter_context((directory / f"{name}{SUFFIX}").open("ab")) for name in types
        }

    def append(self, name: str, values: npt.ArrayLike) -> None:
        """Add values to the end of a column."""
        try:
            self._files[name].write(np.ascontiguousarray(values, self._types[name]).tobytes())
        except OSError as error:
            raise disk_error(error, self._directory) from error

    def __enter__(self) -> ColumnWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stack.close()
        except OSError as failure:
            raise disk_error(failure, self._directory) from failure


class ArrayWriter:
    """Appends to a `.npy` file that is whole once it is closed; use it in a `with` statement. Nothing stays in memory."""

    def __init__(self, path: Path, kind: str, width: int | None = None) -> None:
        self._path = path
        self._kind = np.dtype(kind)
        self._tail = () if width is None else (width,)
        self._rows = 0
        self._file: IO[bytes] = path.open("wb")
        self._head()

    def _head(self) -> None:
        # The library leaves room in the head, so that the number of rows can be told when it is known.
        about = {"descr": self._kind.str, "fortran_order": False, "shape": (self._rows, *self._tail)}
        np.lib.format.write_array_header_1_0(self._file, about)

    def append(self, values: npt.ArrayLike) -> None:
        """Add rows."""
        rows = np.ascontiguousarray(values, self._kind).reshape(-1, *self._tail)
        self._file.write(rows.data)
        self._rows += len(rows)

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._file.seek(0)
            self._head()
        try:
            self._file.close()
        except OSError as failure:
            # While another failure is on its way, that one is told.
            if kind is None:
                raise disk_error(failure, self._path) from failure


def read_array(path: Path) -> npt.NDArray[Any]:
    """A `.npy` file, mapped into memory and read when touched."""
    # A plain view: the subclass costs more than most look-ups.
    array: npt.NDArray[Any] = np.load(path, mmap_mode="r").view(np.ndarray)
    return array


def read_columns(directory: Path, types: Mapping[str, str]) -> dict[str, npt.NDArray[Any]]:
    """The columns of a directory, mapped into memory and read when touched."""
    return {name: _column(directory / f"{name}{SUFFIX}", kind) for name, kind in types.items()}


def _column(path: Path, kind: str) -> npt.NDArray[Any]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    return np.memmap(path, kind, "r").view(np.ndarray)
