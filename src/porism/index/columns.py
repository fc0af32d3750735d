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


def read_columns(directory: Path, types: Mapping[str, str]) -> dict[str, npt.NDArray[Any]]:
    """The columns of a directory, mapped into memory and read when touched."""
    return {name: _column(directory / f"{name}{SUFFIX}", kind) for name, kind in types.items()}


def _column(path: Path, kind: str) -> npt.NDArray[Any]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    return np.memmap(path, kind, "r").view(np.ndarray)
