"""What each document consists of: rows of (term code, count) on disk, mapped into memory; the forward side of the inverted index.

A reader can score any document by any weighting, see which terms matched, and learn from the terms of good documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.index.storage.columns import ArrayWriter, read_array

Codes = npt.NDArray[np.uint32]
Values = npt.NDArray[np.float32]
HALVES = 2  # counts are stored as whole numbers of halves
MOST = 65535  # halves that are stored


class RowBlock(NamedTuple):
    """Some rows, one after another: codes (ascending in each row) and counts in halves; the size and the length of each row."""

    codes: Codes
    counts: npt.NDArray[np.uint16]
    sizes: npt.NDArray[np.int64]
    lengths: Values


def joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Blocks one after another as one."""
    if len(blocks) == 1:
        return blocks[0]
    codes, counts, sizes, lengths = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    return RowBlock(codes, counts, sizes, lengths)


class RowsWriter:
    """Appends rows; use it in a `with` statement. Memory does not grow with the number of rows."""

    def __init__(self, directory: Path, name: str) -> None:
        self._stack = ExitStack()
        self._codes: IO[bytes] = self._stack.enter_context((directory / f"{name}.codes").open("wb"))
        self._counts: IO[bytes] = self._stack.enter_context((directory / f"{name}.counts").open("wb"))
        self._starts = self._stack.enter_context(ArrayWriter(directory / f"{name}.starts.npy", "<i8"))
        self._lengths = self._stack.enter_context(ArrayWriter(directory / f"{name}.lengths.npy", "<f4"))
        self._end = 0
        self._starts.append([0])

    def add(self, block: RowBlock) -> None:
        """Add the next rows."""
        self._codes.write(np.ascontiguousarray(block.codes, "<u4").data)
        self._counts.write(np.ascontiguousarray(block.counts, "<u2").data)
        self._starts.append(self._end + np.cumsum(block.sizes))
        self._lengths.append(block.lengths)
        self._end += len(block.codes)

    def __enter__(self) -> RowsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


class Rows:
    """Reads rows. `lengths` are the sums of the counts."""

    def __init__(self, directory: Path, name: str) -> None:
        self.starts: npt.NDArray[np.int64] = read_array(directory / f"{name}.starts.npy")
        self.lengths: Values = read_array(directory / f"{name}.lengths.npy")
        self.codes: Codes = _mapped(directory / f"{name}.codes").view(np.uint32)
        self.counts: npt.NDArray[np.uint16] = _mapped(directory / f"{name}.counts").view(np.uint16)

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def mean(self) -> float:
        """The mean length of a row."""
        return float(self.lengths.mean()) if len(self.lengths) else 0.0

    def row(self, number: int) -> tuple[Codes, Values]:
        """The codes (ascending) and counts of one row."""
        start, end = self.starts[number], self.starts[number + 1]
        return self.codes[start:end], self.counts[start:end].astype(np.float32) / np.float32(HALVES)

    def block(self, first: int, end: int) -> RowBlock:
        """The rows from the first up to the end."""
        start, stop = int(self.starts[first]), int(self.starts[end])
        sizes = np.diff(self.starts[first : end + 1])
        return RowBlock(self.codes[start:stop], self.counts[start:stop], sizes, self.lengths[first:end])


def _mapped(path: Path) -> npt.NDArray[np.uint8]:
    if path.stat().st_size == 0:  # nothing can be mapped
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r"))  # a plain view: the subclass costs more than most look-ups
