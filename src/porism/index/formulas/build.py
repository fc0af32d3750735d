"""Building the formula index: postings over distinct formulas, and their trees and paths as columns."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.files import atomic_directory, atomic_file
from porism.index.formulas.block import TYPES, Block, Raw, make_block
from porism.index.formulas.codes import CodesWriter, ExtraFormulas, encode_expressions
from porism.index.manifest import Manifest, read_manifest, write_manifest
from porism.index.schema import FORMULA_FAMILIES
from porism.index.storage.columns import ColumnWriter, read_columns
from porism.index.storage.rows import Rows, RowsWriter
from porism.index.storage.tally import Tally
from porism.index.terms.dictionary import DictionaryWriter
from porism.index.terms.embedded import write_frequencies
from porism.index.terms.inversion import PostingLists, write_postings
from porism.index.worker import opened
from porism.parallel import Pool, cores, ordered, workers

KIND = "formulas"
CHUNK = 500
SMALL = 5_000  # fewer formulas are built sooner in one process than processes start
SCAN = 500_000  # rows of the collection that are looked at together
STATISTICS = "statistics.json"
FORMS = "forms"
KEY_TYPES = {"key": "<u4", "key_count": "<i8"}

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
    """Index all distinct formulas of a collection into a new directory; `progress` hears how many are done, now and then.

    `base` is an index of the same collection before something was added to it: what it holds is taken over, and only new formulas
    are worked on. Where the formulas of the collection are not those of the base and then new ones, all are indexed. The term codes
    of all formulas that were worked on go to the folder `codes`, for the posts.
    """
    visuals = _returnable(collection)
    known = _known(base, visuals, collection)
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
            build = _Build(terms, columns, encoded, old)
            _index(build, collection, visuals[known:], pool, 2 * number, progress)
        terms.finish()
        encoded.finish(terms.dictionaries, work / FORMS, None if old is None else old / FORMS)
        build.write(work)
        if codes is None:
            shutil.rmtree(made)
        counts = {"formulas": build.formulas, "expressions": collection.count("expressions")}
        return write_manifest(work, KIND, collection.digest, counts=counts)


class _TermsWriter:
    """Write the term index of the formulas: rows into a passing folder, then posting lists. Use it in a `with` statement, then `finish`."""

    def __init__(self, work: Path, base: Path | None, first: int) -> None:
        self._work = work
        self._base = base
        self._first = first  # row of the first new formula
        self._passing = work / "passing"
        self._stack = ExitStack()
        self.dictionaries = {family: DictionaryWriter(base and base / "terms" / family) for family in FORMULA_FAMILIES}
        self._rows = {
            family: self._stack.enter_context(RowsWriter(self._passing, family, 1)) for family in FORMULA_FAMILIES
        }

    def add(self, block: Block) -> dict[str, npt.NDArray[np.uint32]]:
        """Append the rows of a block; return the dictionary ids of its local codes by family."""
        ids = {}
        for family, local in block.terms.items():
            assert local.hashes is not None
            ids[family] = self.dictionaries[family].intern(local.hashes)
            self._rows[family].add(local.rows._replace(codes=ids[family][local.rows.codes]))
        return ids

    def __enter__(self) -> _TermsWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def finish(self) -> None:
        """Write dictionaries, posting lists, frequencies and lengths."""
        for family, dictionary in self.dictionaries.items():
            path = self._work / "terms" / family
            rows = Rows(self._passing, family)
            old = None if self._base is None else self._base / "terms" / family
            dictionary.save(path)
            write_postings(rows, dictionary.size, path, None if old is None else PostingLists(old), self._first)
            write_frequencies(path, None)
            lengths = rows.lengths if old is None else np.concatenate((np.load(f"{old}.lengths.npy"), rows.lengths))
            np.save(f"{path}.lengths.npy", lengths)
        shutil.rmtree(self._passing)


def _index(
    build: _Build,
    collection: Collection,
    visuals: Ids,
    pool: Pool | None,
    window: int,
    progress: Callable[[int], object] | None,
) -> None:
    """Work on these distinct formulas, then on other ways in which formulas are written."""
    written = np.zeros(collection.count("expressions") + 1, np.bool_)
    written[: build.expressions + 1] = True
    for count, block in ordered(pool, _block, _chunks(collection, visuals), window):
        build.add(block)
        written[block.columns["expression"]] = True
        if progress is not None:
            progress(count)
    for _, extra in ordered(pool, _extra, _chunks(collection, np.flatnonzero(~written)), window):
        build.add_extra(extra)


def _returnable(collection: Collection) -> Ids:
    """The visual ids of formulas that may be returned, in order."""
    tally = Tally("<i8")
    rows = collection.occurrences()
    while len(some := np.fromiter((row[3] for row in islice(rows, SCAN)), np.int64)):
        tally.add_all(some)
    return tally.result()[0]


def _known(base: str | Path | None, visuals: Ids, collection: Collection) -> int:
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


Task = tuple[Path, str, Ids]


def _chunks(collection: Collection, numbers: Ids) -> Iterator[tuple[int, Task]]:
    """Tasks of some numbers each; the workers read the collection themselves."""
    for start in range(0, len(numbers), CHUNK):
        chunk = numbers[start : start + CHUNK]
        yield len(chunk), (collection.path, collection.digest, chunk)


def _block(task: Task) -> Block:
    """What a worker does for visual ids."""
    path, digest, numbers = task
    collection = opened(path, digest)
    formulas: list[Raw] = []
    for number in numbers.tolist():
        expression = collection.expression(collection.visual(number).expression_id)
        formulas.append(Raw(number, expression.id, expression.latex, expression.trees))
    return make_block(formulas)


def _extra(task: Task) -> ExtraFormulas:
    """Encode, in a worker, expressions that no visual id is represented by."""
    path, digest, numbers = task
    return encode_expressions(opened(path, digest), numbers.tolist())


class _Build:
    """What is gathered over the blocks of one index, going on from what a base gathered."""

    def __init__(self, terms: _TermsWriter, columns: ColumnWriter, codes: CodesWriter, base: Path | None) -> None:
        self.formulas = 0
        self.expressions = 0  # that the base knows
        self._codes = codes
        self._terms = terms
        self._columns = columns
        self._labels: dict[str, int] = {}
        self._layout: Counter[int] = Counter()  # in how many formulas a label stands
        self._operators: Counter[int] = Counter()
        self._ends = dict.fromkeys((name for name in TYPES if name.endswith("_at")), 0)
        self._keys = Tally("<u4")
        if base is not None:
            self._go_on_from(base)

    def _go_on_from(self, base: Path) -> None:
        raw = json.loads((base / STATISTICS).read_text("utf-8"))
        self.formulas = raw["formulas"]
        for at, (label, layout, operators) in enumerate(raw["labels"]):
            self._labels[label] = at
            self._layout[at], self._operators[at] = layout, operators
        keys = read_columns(base / "keys", KEY_TYPES)
        self._keys = Tally("<u4", keys["key"], keys["key_count"])
        self.expressions = read_manifest(base, KIND).counts["expressions"]
        rows = read_columns(base / "rows", {name: TYPES[name] for name in self._ends})
        self._ends = {name: int(ends[-1]) for name, ends in rows.items()}

    def add(self, block: Block) -> None:
        """Write a block and count what is in it."""
        self._codes.add(block.encoded, self._terms.add(block))
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
        self._keys.add(block.keys, block.key_counts)
        self.formulas += len(block.columns["visual"])

    def add_extra(self, extra: ExtraFormulas) -> None:
        """Write the codes of formulas that only posts need."""
        ids = {family: self._terms.dictionaries[family].intern(found) for family, found in extra.hashes.items()}
        self._codes.add(extra.encoded, ids)

    def write(self, directory: Path) -> None:
        """Write what was counted."""
        keys, counts = self._keys.result()
        with ColumnWriter(directory / "keys", KEY_TYPES) as columns:
            columns.append("key", keys)
            columns.append("key_count", counts)
        with atomic_file(directory / STATISTICS) as out:
            labels = [[label, self._layout[at], self._operators[at]] for label, at in self._labels.items()]
            json.dump({"formulas": self.formulas, "labels": labels}, out, ensure_ascii=True)


def _holders(numbers: npt.NDArray[np.int32], block: Block, tree: str) -> dict[int, int]:
    """For each label, in how many formulas of the block it stands."""
    lengths = np.diff(block.columns[f"{tree}_at"], prepend=0)
    formula = np.repeat(np.arange(len(lengths)), lengths)
    pairs = np.unique(formula * len(numbers) + block.columns[f"{tree}_label"])
    labels, counts = np.unique(pairs % len(numbers), return_counts=True)
    return dict(zip(numbers[labels].tolist(), counts.tolist(), strict=True))
