"""Building the formula index: postings over distinct formulas, and their trees and paths as columns."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.corpus.collection import Collection
from porism.corpus.parallel import ordered, workers
from porism.files import atomic_directory, atomic_file
from porism.index.block import TYPES, Block, Raw, make_block
from porism.index.columns import ColumnWriter
from porism.index.features import FIELDS
from porism.index.manifest import Manifest, write_manifest
from porism.index.postings import PostingsWriter

KIND = "formulas"
CHUNK = 500
SMALL = 5_000  # fewer formulas are built sooner in one process than processes start
STATISTICS = "statistics.json"
KEY_TYPES = {"key": "<u4", "key_count": "<i8"}


def build_formula_index(
    collection: Collection,
    directory: str | Path,
    progress: Callable[[int], object] | None = None,
    *,
    processes: int | None = None,
) -> Manifest:
    """Index all distinct formulas of a collection into a new directory; `progress` hears how many are done, now and then."""
    number = processes or (1 if collection.count("visuals") < SMALL else os.cpu_count() or 1)
    with atomic_directory(directory) as work, workers(number) as pool:
        with PostingsWriter(work / "terms", FIELDS) as postings, ColumnWriter(work / "rows", TYPES) as columns:
            build = _Build(postings, columns)
            tasks = ((len(chunk), chunk) for chunk in _chunks(collection))
            for count, block in ordered(pool, make_block, tasks, 2 * number):
                build.add(block)
                if progress is not None:
                    progress(count)
        build.write(work)
        return write_manifest(work, KIND, collection.digest, counts={"formulas": build.formulas})


def _chunks(collection: Collection) -> Iterator[list[Raw]]:
    """The distinct formulas that may be returned, some at a time, in the order of their ids."""
    returnable = np.unique(np.fromiter((row[3] for row in collection.occurrences()), np.int64))
    chunk: list[Raw] = []
    for visual in collection.visuals():
        at = int(np.searchsorted(returnable, visual.id))
        if at == len(returnable) or returnable[at] != visual.id:
            continue
        expression = collection.expression(visual.expression_id)
        chunk.append(Raw(visual.id, expression.id, expression.latex, expression.trees))
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Build:
    """What is gathered over the blocks of one index."""

    def __init__(self, postings: PostingsWriter, columns: ColumnWriter) -> None:
        self.formulas = 0
        self._postings = postings
        self._columns = columns
        self._labels: dict[str, int] = {}
        self._layout: Counter[int] = Counter()  # in how many formulas a label stands
        self._operators: Counter[int] = Counter()
        self._ends = dict.fromkeys((name for name in TYPES if name.endswith("_at")), 0)
        self._tuples = 0
        self._keys = np.empty(0, np.uint32)
        self._key_counts = np.empty(0, np.int64)

    def add(self, block: Block) -> None:
        """Write a block and count what is in it."""
        for row, terms in enumerate(block.terms, self.formulas):
            self._postings.add(row, dict(zip(FIELDS, terms, strict=True)))
            self._tuples += terms[0].count(" ") + 1
        numbers = np.array([self._labels.setdefault(label, len(self._labels)) for label in block.labels], np.int32)
        for name, values in block.columns.items():
            if name.endswith("_label"):
                values = numbers[values]
            elif name in self._ends:
                values = values + self._ends[name]
                self._ends[name] = int(values[-1])
            self._columns.append(name, values)
        self._layout.update(_holders(numbers, block, "layout"))
        self._operators.update(_holders(numbers, block, "operator"))
        self._keys, self._key_counts = _merged(self._keys, self._key_counts, block.keys, block.key_counts)
        self.formulas += len(block.terms)

    def write(self, directory: Path) -> None:
        """Write what was counted."""
        with ColumnWriter(directory / "keys", KEY_TYPES) as keys:
            keys.append("key", self._keys)
            keys.append("key_count", self._key_counts)
        with atomic_file(directory / STATISTICS) as out:
            labels = [[label, self._layout[at], self._operators[at]] for label, at in self._labels.items()]
            json.dump({"formulas": self.formulas, "tuples": self._tuples, "labels": labels}, out, ensure_ascii=True)


def _holders(numbers: npt.NDArray[np.int32], block: Block, tree: str) -> dict[int, int]:
    """For each label, in how many formulas of the block it stands."""
    lengths = np.diff(block.columns[f"{tree}_at"], prepend=0)
    formula = np.repeat(np.arange(len(lengths)), lengths)
    pairs = np.unique(formula * len(numbers) + block.columns[f"{tree}_label"])
    labels, counts = np.unique(pairs % len(numbers), return_counts=True)
    return dict(zip(numbers[labels].tolist(), counts.tolist(), strict=True))


def _merged(
    keys: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.int64],
    more: npt.NDArray[np.uint32],
    more_counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Two sorted lists of keys with counts as one."""
    joined, at = np.unique(np.concatenate((keys, more)), return_inverse=True)
    sums = np.bincount(at, weights=np.concatenate((counts, more_counts)), minlength=len(joined))
    return joined, sums.astype(np.int64)
