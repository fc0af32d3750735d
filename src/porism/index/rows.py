"""What each document consists of: rows of (term code, count) on disk, mapped into memory; the forward side of the inverted index.

A reader can score any document by any weighting, see which terms matched, and learn from the terms of good documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Values = npt.NDArray[np.float32]
HALVES = 2  # counts are stored as whole numbers of halves


class RowsWriter:
    """Appends rows; use it in a `with` statement. Memory does not grow with the number of rows, but for one number each."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._codes: IO[bytes] = (directory / f"{name}.codes").open("wb")
        self._counts: IO[bytes] = (directory / f"{name}.counts").open("wb")
        self._starts = [0]
        self._lengths: list[float] = []

    def add(self, counts: Mapping[int, float]) -> None:
        """Add the next row."""
        codes = np.fromiter(counts.keys(), np.uint32, len(counts))
        values = np.fromiter(counts.values(), np.float32, len(counts))
        order = np.argsort(codes)
        codes[order].tofile(self._codes)
        np.minimum(np.rint(values[order] * HALVES), 65535).astype(np.uint16).tofile(self._counts)
        self._starts.append(self._starts[-1] + len(counts))
        self._lengths.append(float(values.sum()))

    def copy(self, rows: Rows, number: int) -> None:
        """Add a row of other rows as it is."""
        start, end = int(rows.starts[number]), int(rows.starts[number + 1])
        rows.codes[start:end].tofile(self._codes)
        rows.counts[start:end].tofile(self._counts)
        self._starts.append(self._starts[-1] + end - start)
        self._lengths.append(float(rows.lengths[number]))

    def __enter__(self) -> RowsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._codes.close()
        self._counts.close()
        if kind is None:
            np.save(self._directory / f"{self._name}.starts.npy", np.array(self._starts, np.int64))
            np.save(self._directory / f"{self._name}.lengths.npy", np.array(self._lengths, np.float32))


class Rows:
    """Reads rows. `lengths` are the sums of the counts, `mean` their mean."""

    def __init__(self, directory: Path, name: str) -> None:
        self.starts: npt.NDArray[np.int64] = np.load(directory / f"{name}.starts.npy")
        self.lengths: Values = np.load(directory / f"{name}.lengths.npy")
        self.codes: Codes = _mapped(directory / f"{name}.codes").view(np.uint32)
        self.counts: npt.NDArray[np.uint16] = _mapped(directory / f"{name}.counts").view(np.uint16)
        self.mean = float(self.lengths.mean()) if len(self.lengths) else 0.0

    def __len__(self) -> int:
        return len(self.lengths)

    def row(self, number: int) -> tuple[Codes, Values]:
        """The codes (ascending) and counts of one row."""
        start, end = self.starts[number], self.starts[number + 1]
        return self.codes[start:end], self.counts[start:end].astype(np.float32) / np.float32(HALVES)


def _mapped(path: Path) -> npt.NDArray[np.uint8]:
    if path.stat().st_size == 0:  # nothing can be mapped
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r"))  # a plain view: the subclass costs more than most look-ups
