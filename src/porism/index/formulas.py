"""Building the formula index: postings over distinct formulas, and their trees and paths as columns."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.corpus.collection import Collection
from porism.corpus.parallel import ordered, workers
from porism.files import atomic_directory, atomic_file
from porism.index.block import TYPES, Block, Raw, make_block
from porism.index.columns import ColumnWriter, read_columns
from porism.index.features import FIELDS
from porism.index.manifest import Manifest, read_manifest, write_manifest
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
    base: str | Path | None = None,
) -> Manifest:
    """Index all distinct formulas of a collection into a new directory; `progress` hears how many are done, now and then.

    `base` is an index of the same collection before something was added to it: what it holds is taken over, and only new formulas
    are worked on. Where the formulas of the collection are not those of the base and then new ones, all are indexed.
    """
    visuals = _returnable(collection)
    known = _known(base, visuals, collection)
    number = processes or (1 if len(visuals) - known < SMALL else os.cpu_count() or 1)
    with atomic_directory(directory) as work, workers(number) as pool:
        if known and base is not None:
            for name in ("terms", "rows"):
                shutil.copytree(Path(base) / name, work / name)
        with PostingsWriter(work / "terms", FIELDS) as postings, ColumnWriter(work / "rows", TYPES) as columns:
            build = _Build(postings, columns, Path(base) if known and base is not None else None)
            tasks = ((len(chunk), chunk) for chunk in _chunks(collection, visuals[known:]))
            for count, block in ordered(pool, make_block, tasks, 2 * number):
                build.add(block)
                if progress is not None:
                    progress(count)
        build.write(work)
        return write_manifest(work, KIND, collection.digest, counts={"formulas": build.formulas})


def _returnable(collection: Collection) -> npt.NDArray[np.int64]:
    """The visual ids of formulas that may be returned, in order."""
    return np.unique(np.fromiter((row[3] for row in collection.occurrences()), np.int64))


def _known(base: str | Path | None, visuals: npt.NDArray[np.int64], collection: Collection) -> int:
    """How many of the formulas the base holds, if they are the first ones and look as they did; else 0."""
    if base is None:
        return 0
    read_manifest(Path(base), KIND)
    held = read_columns(Path(base) / "rows", {name: TYPES[name] for name in ("visual", "latex_at", "latex")})
    count = len(held["visual"])
    if not np.array_equal(held["visual"], visuals[:count]):
        return 0
    start = 0
    for number, end in zip(held["visual"].tolist(), held["latex_at"].tolist(), strict=True):
        latex = collection.expression(collection.visual(number).expression_id).latex
        if latex.encode("utf-8", "surrogatepass") != held["latex"][start:end].tobytes():
            return 0
        start = end
    return count


def _chunks(collection: Collection, visuals: npt.NDArray[np.int64]) -> Iterator[list[Raw]]:
    """The formulas of these visual ids, some at a time."""
    for start in range(0, len(visuals), CHUNK):
        chunk: list[Raw] = []
        for number in visuals[start : start + CHUNK].tolist():
            expression = collection.expression(collection.visual(number).expression_id)
            chunk.append(Raw(number, expression.id, expression.latex, expression.trees))
        yield chunk


class _Build:
    """What is gathered over the blocks of one index, going on from what a base gathered."""

    def __init__(self, postings: PostingsWriter, columns: ColumnWriter, base: Path | None) -> None:
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
        if base is not None:
            self._go_on_from(base)

    def _go_on_from(self, base: Path) -> None:
        raw = json.loads((base / STATISTICS).read_text("utf-8"))
        self.formulas, self._tuples = raw["formulas"], raw["tuples"]
        for at, (label, layout, operators) in enumerate(raw["labels"]):
            self._labels[label] = at
            self._layout[at], self._operators[at] = layout, operators
        keys = read_columns(base / "keys", KEY_TYPES)
        self._keys, self._key_counts = keys["key"], keys["key_count"]
        rows = read_columns(base / "rows", {name: TYPES[name] for name in self._ends})
        self._ends = {name: int(ends[-1]) for name, ends in rows.items()}

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
