"""Classes of labels, and paths of operator trees: from every node to each of its ancestors. The key of a path is a hash
of the classes of operators on it.

After Approach Zero (Zhong and Zanibbi, ECIR 2019): nodes that reach an ancestor through the same classes of operators
are comparable, whatever their symbols are. A variable represents itself with its scripts: `x`, `x^2` and `x_1` reach a
sum by the same path. The position of an operand counts only if the operator has an order. Paths start at inner
operators as well as at leaves, so that `sin` against `cos`, or `<` against `=`, is compared as two symbols are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled

if TYPE_CHECKING:
    from porism.analysis.features import FlatOperators

OPERATOR, VARIABLE, NUMBER = 0, 1, 2
NO_SCRIPT, ABOVE, BELOW = 0, 1, 2
_SCRIPTS = {"O!SUP": ABOVE, "O!SUB": BELOW}
# Classes whose operands have no order, although not all of their labels say so (`U!`).
_UNORDERED = frozenset(("relation", "sum"))
Array = npt.NDArray[Any]
MAX_STEPS = 12
TREES_TOGETHER = 1 << 12  # whose paths are sorted as numbers: 12 bits for the tree, 8, 32, 8 and 4 for a path
# Mixed into a key where a path: reaches the outermost script of a node, enters a script from its base, starts at an
# inner node, enters a script from above or below.
_OUTERMOST, _BASE, _INNER, _SCRIPT = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F


class LabelTraits(NamedTuple):
    """What the comparison of structure needs to know of a label.

    `code` is the hash of its class, `unordered` means that its operands have no order, and `script` says whether it
    sets something above or below its first operand."""

    code: int
    unordered: bool
    script: int


@lru_cache(maxsize=100_000)
def label_traits(label: str) -> LabelTraits:
    """Return the traits of a label of a layout tree or an operator tree."""
    name = class_name(label)
    unordered = label[:2] == "U!" or name in _UNORDERED
    return LabelTraits(crc32(name.encode("utf-8", "surrogatepass")), unordered, _SCRIPTS.get(label, NO_SCRIPT))


def symbol_kind(label: str) -> int:
    """Return VARIABLE, NUMBER or OPERATOR. Only a variable replaces a variable, and a number a number."""
    if label[:2] == "V!" and (len(label) == 3 or label[3] == "_"):
        return VARIABLE
    return NUMBER if label[:2] == "N!" else OPERATOR


def class_name(label: str) -> str:
    """Return the class of a label."""
    head, rest = label[:2], label[2:]
    listed = _table().get(label)
    if listed is not None:
        return label if listed == "own" else listed
    if head == "V!":
        return "variable"
    if head == "N!":
        return {"0": "zero", "1": "one"}.get(rest, "number")
    if head == "M!":
        return label[:4]
    return {"T!": "text", "F!": "function"}.get(head, label)


@lru_cache(maxsize=1)
def _table() -> dict[str, str]:
    text = files(__package__).joinpath("classes.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {label: name for name, labels in rows for label in labels.split()}


class TraitColumns(NamedTuple):
    """Traits of labels as columns: class, variable or not, ordered operands or not, and which script."""

    codes: Array  # uint32
    variables: Array  # bool
    unordered: Array  # bool
    scripts: Array  # uint8


class Paths(NamedTuple):
    """The paths of one tree, sorted by upper end, key and lower end. Ends are positions of nodes. `steps` is the length
    of each path, and `leaves` the number of the tree's leaves."""

    above: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint32]
    below: npt.NDArray[np.uint8]
    steps: npt.NDArray[np.uint8]
    leaves: int


class PathTable(NamedTuple):
    """The paths of many trees as columns. `tree` is the position of a path's tree, `path_ends` where the paths of each
    tree end, and `node_starts` where its nodes start; `label_ids` has for each node the position of its label in
    `labels`."""

    above: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint32]
    below: npt.NDArray[np.uint8]
    steps: npt.NDArray[np.uint8]
    tree: npt.NDArray[np.int64]
    path_ends: list[int]
    leaves: list[int]
    node_starts: npt.NDArray[np.int64]
    labels: list[str]
    label_ids: npt.NDArray[np.int32]

    def by_tree(self) -> list[Paths]:
        """Return the paths of each tree."""
        return [
            Paths(self.above[a:b], self.keys[a:b], self.below[a:b], self.steps[a:b], leaves)
            for a, b, leaves in zip((0, *self.path_ends[:-1]), self.path_ends, self.leaves, strict=True)
        ]


def find_paths(trees: Sequence[FlatOperators]) -> PathTable:
    """Return all paths of operator trees. Pass many trees together: a call costs more than a tree."""
    ends = np.cumsum([len(tree.labels) for tree in trees])
    parents = np.array([parent for tree in trees for parent in tree.parents], np.int32)
    ranks = np.array([rank for tree in trees for rank in tree.ranks], np.int32)
    ids: dict[str, int] = {}
    label_ids = np.array([ids.setdefault(label, len(ids)) for tree in trees for label in tree.labels], np.int32)
    found, variable = [label_traits(label) for label in ids], label_traits("V!x").code
    traits = TraitColumns(
        np.array([one.code for one in found], np.uint32)[label_ids],
        np.array([one.code == variable for one in found], np.bool_)[label_ids],
        np.array([one.unordered for one in found], np.bool_)[label_ids],
        np.array([one.script for one in found], np.uint8)[label_ids],
    )
    size = len(parents) * (MAX_STEPS + 1)
    columns: list[Array] = [np.empty(size, dtype) for dtype in (np.uint8, np.uint32, np.uint8, np.uint8)]
    path_ends, leaves = np.empty(len(trees), np.int64), np.empty(len(trees), np.int64)
    above, keys, below, steps = columns
    _fill_paths(ends, parents, ranks, traits, above, keys, below, steps, path_ends, leaves)
    above, keys, below, steps = (column[: path_ends[-1]] for column in columns)
    tree = np.repeat(np.arange(len(trees)), np.diff(path_ends, prepend=0))
    above, keys, below, steps = _sorted(tree, above, keys, below, steps)
    node_starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    return PathTable(
        above, keys, below, steps, tree, path_ends.tolist(), leaves.tolist(), node_starts, list(ids), label_ids
    )


def _sorted(tree: Array, above: Array, keys: Array, below: Array, steps: Array) -> tuple[Array, Array, Array, Array]:
    """Sort the paths of each tree by upper end, key and lower end. Return the columns but that of trees."""
    if len(tree) and tree[-1] >= TREES_TOGETHER:
        order = np.lexsort((below, keys, above, tree))
        return above[order], keys[order], below[order], steps[order]
    # A path is one number of 64 bits: sorting numbers takes a quarter of the time of sorting rows of columns.
    packed = tree.astype(np.uint64)
    for column, bits in ((above, 8), (keys, 32), (below, 8), (steps, 4)):
        packed = (packed << np.uint64(bits)) | column
    packed.sort()
    shifts = ((44, np.uint8), (12, np.uint32), (4, np.uint8))
    above, keys, below = ((packed >> np.uint64(shift)).astype(kind) for shift, kind in shifts)
    return above, keys, below, (packed & np.uint64(15)).astype(np.uint8)


@compiled
def _fill_paths(
    ends: Array, parents: Array, ranks: Array, traits: TraitColumns, above: Array, keys: Array, below: Array,
    steps: Array, path_ends: Array, leaves: Array,
) -> None:  # fmt: skip
    """Fill the columns with the paths of all trees, and `path_ends` and `leaves` for each tree."""
    start = count = 0
    for tree in range(len(ends)):
        end = ends[tree]
        own = TraitColumns(
            traits.codes[start:end], traits.variables[start:end], traits.unordered[start:end], traits.scripts[start:end]
        )
        found, leaves[tree] = _fill_tree_paths(
            parents[start:end], ranks[start:end], own, above[count:], keys[count:], below[count:], steps[count:]
        )
        count += found
        path_ends[tree] = count
        start = end


@compiled
def _fill_tree_paths(
    parents: Array, ranks: Array, traits: TraitColumns, above: Array, keys: Array, below: Array, steps: Array
) -> tuple[int, int]:
    """Fill the columns with all paths of one tree. Return how many paths and how many leaves it has."""
    codes, scripts = traits.codes, traits.scripts
    size = len(parents)
    inner = np.zeros(size, np.bool_)
    for node in range(1, size):
        inner[parents[node]] = True
    count = leaves = 0
    for node in range(size):
        if inner[node] and scripts[node] != NO_SCRIPT:
            continue
        at = node
        key = np.uint32(codes[node])
        if inner[node]:
            key = _extend_key(key, _INNER)
        else:
            leaves += 1
            if traits.variables[node]:
                key = _extend_key(key, _OUTERMOST)
                at = _outermost_script(at, parents, ranks, scripts)
        if not inner[node] or parents[node] < 0:
            above[count], keys[count], below[count], steps[count] = at, key, node, 0
            count += 1
        for length in range(1, MAX_STEPS + 1):
            up = parents[at]
            if up < 0:
                break
            if scripts[up] == NO_SCRIPT:
                position = 0 if traits.unordered[up] else min(ranks[at], 2) + 1
                key = _extend_key(key, np.uint32(codes[up]) + np.uint32(position))
                at = up
            elif ranks[at] == 0:
                key = _extend_key(key, _BASE + scripts[up])
                at = up
            else:
                key = _extend_key(_extend_key(key, _SCRIPT + scripts[up]), _OUTERMOST)
                at = _outermost_script(up, parents, ranks, scripts)
            above[count], keys[count], below[count], steps[count] = at, key, node, length
            count += 1
    return count, leaves


@compiled
def _outermost_script(at: int, parents: Array, ranks: Array, scripts: Array) -> int:
    """Return the outermost script that has this node as its base; the node itself if there is none."""
    while parents[at] >= 0 and scripts[parents[at]] != NO_SCRIPT and ranks[at] == 0:
        at = parents[at]
    return at


@compiled
def _extend_key(key: Any, code: Any) -> Any:
    """Return the key of a path with one more step: mix a 32-bit code in (as MurmurHash3 finalises)."""
    mixed = np.uint32(np.uint32(key) * np.uint32(31) + np.uint32(code))
    mixed = np.uint32((mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    return np.uint32(mixed ^ (mixed >> np.uint32(13)))
