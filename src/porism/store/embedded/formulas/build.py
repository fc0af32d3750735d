"""Build the formula index: blocks of formulas as columns, posting lists over distinct formulas, and their trees and
paths."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import OperatorTable, operator_table
from porism.analysis.paths import PathTable
from porism.analysis.schema import FORMULA_FAMILIES
from porism.compiled import compiled
from porism.corpus.content import VisualTrees
from porism.corpus.store.collection import Collection
from porism.corpus.store.excerpt import expression_rows, open_excerpt, visual_rows
from porism.files import atomic_directory, atomic_file
from porism.formula.binary import unpack_operators
from porism.parallel import Jobs, Pool, ordered, workers, worth
from porism.store.embedded.formulas.codes import (
    FORMS,
    CodesWriter,
    EncodedFormulas,
    ExtraFormulas,
    encode,
    encode_expressions,
    local_terms,
)
from porism.store.embedded.formulas.packed_layouts import LayoutTable, layout_table
from porism.store.embedded.formulas.store import KEY_TYPES, KIND, STATISTICS, TYPES, compress_trees
from porism.store.embedded.manifest import Manifest, write_manifest
from porism.store.embedded.storage.columns import ColumnWriter, KeyCounter, OpenFiles
from porism.store.embedded.storage.rows import Rows, RowsWriter, fold_documents
from porism.store.embedded.terms.dictionary import DictionaryWriter, LocalRows
from porism.store.embedded.terms.embedded import write_frequencies
from porism.store.embedded.terms.postings import write_postings


@dataclass(frozen=True, slots=True)
class FormulaBlock:
    """Formulas as columns. A label is its position in `labels`. `terms` are the rows of each family, `keys` and
    `key_counts` say how many path groups have each path key, and `encoded` has the term codes of the expressions, for
    the index of posts."""

    columns: dict[str, npt.NDArray[Any]]
    labels: list[str]
    terms: dict[str, LocalRows]
    keys: npt.NDArray[np.uint32]
    key_counts: npt.NDArray[np.int64]
    encoded: EncodedFormulas


def make_block(formulas: Sequence[VisualTrees]) -> FormulaBlock:
    """Compute the block of formulas, of which there is at least one."""
    packed = [formula.trees for formula in formulas]
    layouts = layout_table(packed)
    table = operator_table([unpack_operators(trees, with_places=False) for trees in packed])
    label_ids = {label: number for number, label in enumerate(layouts.labels)}
    keys, counts = np.unique(_path_groups(table.tree_paths), return_counts=True)
    columns = _columns(formulas, layouts, table, label_ids)
    terms = local_terms(layouts, table)
    encoded = encode([formula.expression_id for formula in formulas], table, terms)
    rows = {
        family: LocalRows(fold_documents(found.sizes, found.codes, len(found.hashes)), found.hashes)
        for family, found in terms.items()
    }
    return FormulaBlock(columns, list(label_ids), rows, keys, counts, encoded)


def _path_groups(paths: PathTable) -> npt.NDArray[np.uint32]:
    """Return the keys of path groups. A group is the paths of a formula with the same upper end and the same key."""
    first = np.ones(len(paths.keys), np.bool_)
    first[1:] = False
    for values in (paths.tree, paths.above, paths.keys):
        first[1:] |= values[1:] != values[:-1]
    return paths.keys[first]


def _columns(
    formulas: Sequence[VisualTrees], layouts: LayoutTable, table: OperatorTable, label_ids: dict[str, int]
) -> dict[str, npt.NDArray[Any]]:
    latex = [formula.latex.encode("utf-8", "surrogatepass") for formula in formulas]
    trees = [compress_trees(formula.trees) for formula in formulas]
    paths = table.tree_paths
    numbers = [label_ids.setdefault(label, len(label_ids)) for label in paths.labels]
    operators = np.array(numbers, np.int32)[paths.label_ids]
    columns: dict[str, npt.ArrayLike] = {
        "visual": [formula.visual_id for formula in formulas],
        "expression": [formula.expression_id for formula in formulas],
        "leaves": paths.leaves,
        "latex_at": np.cumsum([len(text) for text in latex]),
        "latex": np.frombuffer(b"".join(latex), np.uint8),
        "trees_at": np.cumsum([len(packed) for packed in trees]),
        "trees": np.frombuffer(b"".join(trees), np.uint8),
        "layout_at": layouts.ends,
        "layout_label": layouts.label_ids,
        "layout_edge": layouts.edges,
        "operator_at": np.cumsum([len(flat.labels) for flat in table.operators]),
        "operator_label": operators,
        "path_at": paths.path_ends,
        "path_above": paths.above,
        "path_key": paths.keys,
        "path_label": operators[paths.node_starts[paths.tree] + paths.below],
    }
    return {name: np.asarray(values, TYPES[name]) for name, values in columns.items()}


def formulas_with_label(label_ids: npt.NDArray[np.int32], block: FormulaBlock, tree: str) -> dict[int, int]:
    """Return for each label id how many formulas of the block have it in this tree (`layout` or `operator`)."""
    counts = np.zeros(len(label_ids), np.int64)
    _count_formulas(block.columns[f"{tree}_at"], block.columns[f"{tree}_label"], counts)
    present = np.flatnonzero(counts)
    return dict(zip(label_ids[present].tolist(), counts[present].tolist(), strict=True))


@compiled
def _count_formulas(ends: Any, labels: Any, counts: Any) -> None:
    """Count the formulas with each label, given the labels of all nodes and where the nodes of each formula end."""
    last = np.full(len(counts), -1, np.int64)
    start = 0
    for formula in range(len(ends)):
        for at in range(start, ends[formula]):
            label = labels[at]
            if last[label] != formula:
                last[label] = formula
                counts[label] += 1
        start = ends[formula]


CHUNK = 500  # formulas that a worker reads in one task
SMALL = 5_000  # fewer formulas are indexed in one process, before others would have started

Ids = npt.NDArray[np.int64]


def build_formula_index(
    collection: Collection,
    directory: str | Path,
    progress: Callable[[int], object] | None = None,
    *,
    jobs: Jobs = 0,
    codes: Path | None = None,
    part: FormulaPart | None = None,
) -> Manifest:
    """Index all distinct formulas of a collection, or a part of them, into a new directory. `progress` is called with
    the number of formulas of each block. The term codes of the expressions are written to the folder `codes`, for the
    index of posts."""
    if part is None:
        part = FormulaPart(np.fromiter(collection.returnable_visuals(), np.int64), 1)
    with atomic_directory(directory) as work, workers(worth(jobs, len(part.visuals) < SMALL)) as pool:
        made = codes or work / "codes"
        with (
            _TermsWriter(work) as terms,
            ColumnWriter(work / "rows", TYPES) as columns,
            CodesWriter(made) as encoded,
        ):
            build = _FormulaWriter(terms, columns, encoded)
            _index(build, collection, part, pool, progress)
        if pool is not None:
            pool.end()
        terms.finish()
        encoded.finish(terms.dictionaries, work / FORMS, part.first_expression)
        build.write(work)
        if codes is None:
            shutil.rmtree(made)
        counts = {"formulas": build.formulas, "expressions": collection.count("expressions")}
        return write_manifest(work, KIND, collection.digest, counts=counts)


class FormulaPart(NamedTuple):
    """A part of the formulas of a collection: visual ids in ascending order, and the first of the expressions that no
    other part has."""

    visuals: Ids
    first_expression: int


class _TermsWriter(OpenFiles):
    """Write the term index of the formulas: rows to a temporary folder, then posting lists. Use it in a `with`
    statement, then `finish`."""

    def __init__(self, work: Path) -> None:
        super().__init__()
        self._work = work
        self._temporary = work / "passing"
        self.dictionaries = {family: DictionaryWriter() for family in FORMULA_FAMILIES}
        self._rows = {
            family: self._stack.enter_context(RowsWriter(self._temporary, family, 1)) for family in FORMULA_FAMILIES
        }

    def add(self, block: FormulaBlock) -> dict[str, npt.NDArray[np.uint32]]:
        """Append the rows of a block; return the dictionary ids of its local codes by family."""
        ids = {}
        for family, local in block.terms.items():
            ids[family] = self.dictionaries[family].intern(local.hashes)
            self._rows[family].add(local.rows._replace(codes=ids[family][local.rows.codes]))
        return ids

    def finish(self) -> None:
        """Write dictionaries, posting lists, frequencies and lengths."""
        for family, dictionary in self.dictionaries.items():
            path = self._work / "terms" / family
            rows = Rows(self._temporary, family)
            dictionary.save(path)
            write_postings(rows, dictionary.size, path)
            write_frequencies(path, None)
            np.save(f"{path}.lengths.npy", rows.lengths)
        shutil.rmtree(self._temporary)


def _index(
    build: _FormulaWriter,
    collection: Collection,
    part: FormulaPart,
    pool: Pool | None,
    progress: Callable[[int], object] | None,
) -> None:
    """Index these distinct formulas, then encode the other expressions, which differ from them only in their LaTeX."""
    encoded = np.zeros(collection.count("expressions") + 1, np.bool_)
    encoded[: part.first_expression] = True
    for count, block in ordered(pool, _make_block, _tasks(collection, part.visuals), _with_visuals):
        build.add(block)
        encoded[block.columns["expression"]] = True
        if progress is not None:
            progress(count)
    for _, extra in ordered(pool, _encode_extra, _tasks(collection, np.flatnonzero(~encoded)), _with_expressions):
        build.add_extra(extra)


@lru_cache(1)
def open_in_worker(path: Path, digest: str) -> Collection:
    """Open a collection, or return it if it is open already: the digest tells collections at one path apart."""
    return Collection.open(path)


class _Task(NamedTuple):
    """A task of a worker: visual ids or expression ids of a collection."""

    collection: Callable[[], Collection]
    ids: Ids


def _tasks(collection: Collection, ids: Ids) -> Iterator[tuple[int, _Task]]:
    """Yield tasks of CHUNK ids each, with their sizes."""
    content = partial(open_in_worker, collection.path, collection.digest)
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        yield len(chunk), _Task(content, chunk)


def _with_visuals(task: _Task) -> _Task:
    """Return a task that holds the visual ids it reads."""
    return task._replace(collection=partial(open_excerpt, visual_rows(task.collection(), task.ids.tolist())))


def _with_expressions(task: _Task) -> _Task:
    """Return a task that holds the expressions it reads."""
    return task._replace(collection=partial(open_excerpt, expression_rows(task.collection(), task.ids.tolist())))


def _make_block(task: _Task) -> FormulaBlock:
    """Make, in a worker, the block of visual ids."""
    return make_block(list(task.collection().visual_trees(task.ids.tolist())))


def _encode_extra(task: _Task) -> ExtraFormulas:
    """Encode, in a worker, expressions that do not represent a visual id."""
    return encode_expressions(task.collection(), task.ids.tolist())


class _FormulaWriter:
    """Write the blocks of an index, and count labels and path keys over all of them."""

    def __init__(self, terms: _TermsWriter, columns: ColumnWriter, codes: CodesWriter) -> None:
        self.formulas = 0
        self._codes = codes
        self._terms = terms
        self._columns = columns
        self._labels: dict[str, int] = {}
        self._layout: Counter[int] = Counter()  # formulas with each label in the layout tree
        self._operators: Counter[int] = Counter()  # and in the operator tree
        self._ends = dict.fromkeys((name for name in TYPES if name.endswith("_at")), 0)
        self._keys = KeyCounter("<u4")

    def add(self, block: FormulaBlock) -> None:
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
        self._layout.update(formulas_with_label(label_ids, block, "layout"))
        self._operators.update(formulas_with_label(label_ids, block, "operator"))
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
