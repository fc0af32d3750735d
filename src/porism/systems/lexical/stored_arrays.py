"""The files of a system's index: a vocabulary, one token a line in the order of codes, and one file for each array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

VOCABULARY = "vocabulary.txt"


class StoredArrays(NamedTuple):
    """The code of each token, and the arrays in the order of their names; they are mapped, not read."""

    codes: dict[str, int]
    arrays: list[npt.NDArray[Any]]


def save_arrays(index: object, names: Sequence[str], tokens: Iterable[str], folder: Path) -> None:
    """Write the attributes of an index with these names, and its tokens, none of which may have a line break."""
    for name in names:
        np.save(folder / f"{name}.npy", getattr(index, name))
    (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in tokens), "utf-8", newline="\n")


def open_arrays(names: Sequence[str], folder: Path) -> StoredArrays:
    """Open what `save_arrays` wrote."""
    with open(folder / VOCABULARY, encoding="utf-8", newline="\n") as lines:
        codes = {line[:-1]: code for code, line in enumerate(lines)}
    return StoredArrays(codes, [np.load(folder / f"{name}.npy", mmap_mode="r") for name in names])
