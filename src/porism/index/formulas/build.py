"""Build the formula index: posting lists over distinct formulas, and their trees and paths as columns."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.files import atomic_directory, atomic_file
from porism.index.formulas.block import TYPES, Block, StoredFormula, make_block
from porism.index.formulas.codes import FORMS, CodesWriter, ExtraFormulas, encode_expressions
from porism.index.manifest import Manifest, read_manifest, write_manifest
from porism.index.schema import FORMULA_FAMILIES
from porism.index.storage.columns import ColumnWriter, OpenFiles, read_columns
from porism.index.storage.key_counts import CountedKeys, KeyCounter
from porism.index.storage.rows import Rows, RowsWriter
from porism.index.terms.dictionary import DictionaryWriter
from porism.index.terms.embedded import write_frequencies
from porism.index.terms.inversion import PostingLists, write_postings
from porism.index.worker import open_in_worker
from porism.parallel import Pool, cores, ordered, workers

KIND = "formulas"
CHUNK = 500  # formulas that a worker reads in one task
SMALL = 5_000  # fewer formulas are indexed in one process, before others would have started
SCAN = 500_000  # rows of the collection that are read together
STATISTICS = "statistics.json"
KEY_TYPES = {"key": "<u4", "key_count": "<u4"}

Ids = npt.NDArray[np.int64]


def build_formula_index(
    collection: Collection,
    directory: str | Path,
    progress: Callable[[int], object] | None = None,
    *,
    processes: int | None = None,
    base: str | Path | None = None,
    codes: Path | None = None,
) -> Manifest:
    """Index all distinct formulas of a collection into a new directory. `progress` is called with the number of formulas of each block.

    `base` is an index of the same collection before it grew. Its formulas are copied and only new ones are indexed, provided that the
    collection has the formulas of the base first and unchanged; otherwise all are indexed. The term codes of the formulas that were indexed
    now are written to the folder `codes`, for the index of posts.
    """
    visuals = _returnable(collection)
    known = _known_formulas(base, visuals, collection)
    old = Path(base) if known and base is not None else None
    number = processes or (1 if len(visuals) - known < SMALL else cores())
    with atomic_directory(directory) as work, workers(number) as pool:
        if old is not None:
            shutil.copytree(old / "rows", work / "rows")
        made = codes or work / "codes"
        with (
            _TermsWriter(work, old, known) as terms,
            ColumnWriter(work / "rows", TYPES) as columns,
            CodesWriter(made) as encoded,
        ):
            build = _FormulaWriter(terms, columns, encoded, old)
            _index(build, collection, visuals[known:], pool, 2 * number, progress)
        terms.finish()
        encoded.finish(terms.dictionaries, work / FORMS, None if old is None else old / FORMS)
        build.write(work)
        if codes is None:
            shutil.rmtree(made)
        counts = {"formulas": build.formulas, "expressions": collection.count("expressions")}
        return write_manifest(work, KIND, collection.digest, counts=counts)


class _TermsWriter(OpenFiles):
    """Write the term index of the formulas: rows to a temporary folder, then posting lists. Use it in a `with` statement, then `finish`."""

    def __init__(self, work: Path, base: Path | None, first: int) -> None:
        super().__init__()
        self._work = work
        self._base = base
        self._first = first  # row of the first new formula
        self._temporary = work / "passing"
        self.dictionaries = {family: DictionaryWriter(base and base / "terms" / family) for family in FORMULA_FAMILIES}
        self._rows = {
            family: self._stack.enter_context(RowsWriter(self._temporary, family, 1)) for family in FORMULA_FAMILIES
        }

    def add(self, block: Block) -> dict[str, npt.NDArray[np.uint32]]:
        """Append the rows of a block; return the dictionary ids of its local codes by family."""
        ids = {}
        for family, local in block.terms.items():
            assert local.hashes is not None
            ids[family] = self.dictionaries[family].intern(local.hashes)
            self._rows[family].add(local.rows._replace(codes=ids[family][local.rows.codes]))
        return ids

    def finish(self) -> None:
        """Write dictionaries, posting lists, frequencies and lengths."""
        for family, dictionary in self.dictionaries.items():
            path = self._work / "terms" / family
            rows = Rows(self._temporary, family)
            old = None if self._base is None else self._base / "terms" / family
            dictionary.save(path)
            write_postings(rows, dictionary.size, path, None if old is None else PostingLists(old), self._first)
            write_frequencies(path, None)
            lengths = rows.lengths if old is None else np.concatenate((np.load(f"{old}.lengths.npy"), rows.lengths))
            np.save(f"{path}.lengths.npy", lengths)
        shutil.rmtree(self._temporary)


def _index(
    build: _FormulaWriter,
    collection: Collection,
    visuals: Ids,
    pool: Pool | None,
    window: int,
    progress: Callable[[int], object] | None,
) -> None:
    """Index these distinct formulas, then encode the other expressions, which differ from them only in their LaTeX."""
    encoded = np.zeros(collection.count("expressions") + 1, np.bool_)
    encoded[: build.expressions + 1] = True
    for count, block in ordered(pool, _make_block, _tasks(collection, visuals), window):
        build.add(block)
        encoded[block.columns["expression"]] = True
        if progress is not None:
            progress(count)
    for _, extra in ordered(pool, _encode_extra, _tasks(collection, np.flatnonzero(~encoded)), window):
        build.add_extra(extra)


def _returnable(collection: Collection) -> Ids:
    """Return the visual ids of formulas that may be returned, in ascending order."""
    counter = KeyCounter("<i8")
    rows = collection.occurrences()
    while len(visual_ids := np.fromiter((row.visual_id for row in islice(rows, SCAN)), np.int64)):
        counter.count(visual_ids)
    return counter.result().keys


def _known_formulas(base: str | Path | None, visuals: Ids, collection: Collection) -> int:
    """Return how many formulas the base has; 0 if the collection does not have them first, with the same LaTeX."""
    if base is None:
        return 0
    read_manifest(Path(base), KIND)
    held = read_columns(Path(base) / "rows", {name: TYPES[name] for name in ("visual", "latex_at", "latex")})
    count = len(held["visual"])
    if not np.array_equal(held["visual"], visuals[:count]):
        return 0
    start = 0
    for visual_id, end in zip(held["visual"].tolist(), held["latex_at"].tolist(), strict=True):
        latex = collection.expression(collection.visual(visual_id).expression_id).latex
        if latex.encode("utf-8", "surrogatepass") != held["latex"][start:end].tobytes():
            return 0
        start = end
    return count


class _Task(NamedTuple):
    """A task of a worker, which opens the collection itself: visual ids or expression ids to index."""

    collection: Path
    digest: str
    ids: Ids


def _tasks(collection: Collection, ids: Ids) -> Iterator[tuple[int, _Task]]:
    """Yield tasks of CHUNK ids each, with their sizes."""
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        yield len(chunk), _Task(collection.path, collection.digest, chunk)


def _make_block(task: _Task) -> Block:
    """Make, in a worker, the block of visual ids."""
    collection = open_in_worker(task.collection, task.digest)
    formulas: list[StoredFormula] = []
    for visual_id in task.ids.tolist():
        expression = collection.expression(collection.visual(visual_id).expression_id)
        formulas.append(StoredFormula(visual_id, expression.id, expression.latex, expression.trees))
    return make_block(formulas)


def _encode_extra(task: _Task) -> ExtraFormulas:
    """Encode, in a worker, expressions that do not represent a visual id."""
    return encode_expressions(open_in_worker(task.collection, task.digest), task.ids.tolist())


class _FormulaWriter:
    """Write the blocks of an index, and count labels and path keys over all of them, those of a base included."""

    def __init__(self, terms: _TermsWriter, columns: ColumnWriter, codes: CodesWriter, base: Path | None) -> None:
        self.formulas = 0
        self.expressions = 0  # of the base
        self._codes = codes
        self._terms = terms
        self._columns = columns
        self._labels: dict[str, int] = {}
        self._layout: Counter[int] = Counter()  # formulas with each label in the layout tree
        self._operators: Counter[int] = Counter()  # and in the operator tree
        self._ends = dict.fromkeys((name for name in TYPES if name.endswith("_at")), 0)
        self._keys = KeyCounter("<u4")
        if base is not None:
            self._continue(base)

    def _continue(self, base: Path) -> None:
        statistics = json.loads((base / STATISTICS).read_text("utf-8"))
        self.formulas = statistics["formulas"]
        for at, (label, layout, operators) in enumerate(statistics["labels"]):
            self._labels[label] = at
            self._layout[at], self._operators[at] = layout, operators
        keys = read_columns(base / "keys", KEY_TYPES)
        self._keys = KeyCounter("<u4", CountedKeys(keys["key"], keys["key_count"].astype(np.int64)))
        self.expressions = read_manifest(base, KIND).counts["expressions"]
        rows = read_columns(base / "rows", {name: TYPES[name] for name in self._ends})
        self._ends = {name: int(ends[-1]) for name, ends in rows.items()}

    def add(self, block: Block) -> None:
        """Write a block and count its labels and path keys."""
        self._codes.add(block.encoded, self._terms.add(block))
        label_ids = np.array([self._labels.setdefault(label, len(self._labels)) for label in block.labels], np.int32)
        for name, values in block.columns.items():
            if name.endswith("_label"):
                values = label_ids[values]
            elif name in self._ends:
                values = values + self._ends[name]
                self._ends[name] = int(values[-1])
            self._columns.append(name, values)
        self._layout.update(_formulas_with_label(label_ids, block, "layout"))
        self._operators.update(_formulas_with_label(label_ids, block, "operator"))
        self._keys.add(block.keys, block.key_counts)
        self.formulas += len(block.columns["visual"])

    def add_extra(self, extra: ExtraFormulas) -> None:
        """Write the codes of expressions that only the index of posts needs."""
        ids = {family: self._terms.dictionaries[family].intern(found) for family, found in extra.hashes.items()}
        self._codes.add(extra.encoded, ids)

    def write(self, directory: Path) -> None:
        """Write the counts."""
        keys, counts = self._keys.result()
        with ColumnWriter(directory / "keys", KEY_TYPES) as columns:
            columns.append("key", keys)
            columns.append("key_count", counts)
        with atomic_file(directory / STATISTICS) as out:
            labels = [[label, self._layout[at], self._operators[at]] for label, at in self._labels.items()]
            json.dump({"formulas": self.formulas, "labels": labels}, out, ensure_ascii=True)


def _formulas_with_label(label_ids: npt.NDArray[np.int32], block: Block, tree: str) -> dict[int, int]:
    """Return for each label id how many formulas of the block have it in this tree (`layout` or `operator`)."""
    lengths = np.diff(block.columns[f"{tree}_at"], prepend=0)
    formula = np.repeat(np.arange(len(lengths)), lengths)
    pairs = np.unique(formula * len(label_ids) + block.columns[f"{tree}_label"])
    labels, counts = np.unique(pairs % len(label_ids), return_counts=True)
    return dict(zip(label_ids[labels].tolist(), counts.tolist(), strict=True))
