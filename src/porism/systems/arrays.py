"""Arrays that systems keep beside the index: their types and files, and rankings made of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from porism.search.retriever import Ranking

Array = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Small = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint64]
Halves = npt.NDArray[np.float16]
Singles = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

VOCABULARY = "vocabulary.txt"
T = TypeVar("T", bound=tuple[Any, ...])


def save_arrays(folder: Path, arrays: tuple[Any, ...]) -> None:
    """Write the arrays of a named tuple into a folder, one file for each."""
    folder.mkdir(exist_ok=True)
    for name, array in arrays._asdict().items():  # type: ignore[attr-defined]
        np.save(folder / f"{name}.npy", array)


def open_arrays(folder: Path, kind: type[T]) -> T:
    """Open a named tuple of arrays that `save_arrays` wrote; they are mapped, not read."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))


@dataclass(frozen=True)
class StoredIndex:
    """The code of each token, none of which may have a line break; the fields of a subclass are arrays."""

    codes: dict[str, int]

    def save(self, folder: Path) -> None:
        """Write the tokens and one file for each array into a folder."""
        (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in self.codes), "utf-8", newline="\n")
        for one in fields(self)[1:]:
            np.save(folder / f"{one.name}.npy", getattr(self, one.name))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an index; its arrays are mapped, not read."""
        with open(folder / VOCABULARY, encoding="utf-8", newline="\n") as lines:
            codes = {line[:-1]: code for code, line in enumerate(lines)}
        return cls(codes, *(np.load(folder / f"{one.name}.npy", mmap_mode="r") for one in fields(cls)[1:]))


def starts_of(sizes: npt.ArrayLike) -> Ints:
    """Return where each of consecutive groups of these sizes starts, and where the last one ends."""
    return np.append(0, np.cumsum(sizes, dtype=np.int64))


def grouped(codes: Small, size: int) -> tuple[npt.NDArray[np.intp], Ints]:
    """Return the order of items by their codes, equal ones as they were, and where each of `size` codes starts."""
    return np.argsort(codes, kind="stable"), starts_of(np.bincount(codes, minlength=size))


def best_of(ids: Ints, scores: npt.NDArray[np.floating], k: int) -> Ranking:
    """Return the k items with the highest scores; of equal scores the smaller id comes first."""
    order = np.lexsort((ids, -scores))[: max(k, 0)]
    return Ranking(np.asarray(ids[order], np.int64), np.asarray(scores[order], np.float64))


def first_of_each(ids: Ints, order: npt.NDArray[np.intp], k: int) -> npt.NDArray[np.intp]:
    """Return the first k places of an order, of each id the first only."""
    _, firsts = np.unique(ids[order], return_index=True)
    return order[np.sort(firsts)][: max(k, 0)]


def reordered(ranking: Ranking, scores: Floats) -> Ranking:
    """Return a ranking in the order of new scores; of equal scores the order of before is kept."""
    order = np.argsort(-scores, kind="stable")
    return Ranking(ranking.ids[order], scores[order])
