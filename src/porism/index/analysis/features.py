"""Features of a formula: terms for posting lists, and flat trees and paths for re-ranking."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from porism.formula.canonical.subexpressions import SubExpression, subexpressions
from porism.formula.layout.tuples import mathtuples
from porism.formula.tree import Node
from porism.index.analysis.flat import FlatLayout, FlatOperators, flat_layout, flat_operators
from porism.index.analysis.paths import Paths, PathTable, find_paths

# The first letter of the term of a sub-expression names its canonical level.
WRITTEN, NORMALISED, COMMUTATIVE, RENAMED = "abcd"
LEVEL_PREFIX: dict[str, str] = {
    "written": WRITTEN,
    "normalised": NORMALISED,
    "commutative": COMMUTATIVE,
    "renamed": RENAMED,
}
MAX_TERM_STEPS = 3  # longer paths find nothing that shorter ones do not
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Features(NamedTuple):
    """Features of one formula: the terms of each family, the flat trees, and the paths of the operator tree."""

    tuples: list[str]
    paths: list[str]
    parts: list[str]
    layout: FlatLayout
    operators: FlatOperators
    tree_paths: Paths


def features(layout: Node, operators: Node) -> Features:
    """Return the features of a formula from its layout tree and its operator tree."""
    return features_of_many([(layout, operators)])[0]


def features_of_many(formulas: Sequence[tuple[Node, Node]]) -> list[Features]:
    """Return the features of each formula. This is faster than formula by formula."""
    parts = [subexpressions(operators) for _, operators in formulas]
    flats = [flat_operators(own[0].normal) for own in parts]
    table = find_paths(flats)
    rows = zip(formulas, path_terms(table), part_terms(parts, flats), flats, table.by_tree(), strict=True)
    return [
        Features(mathtuples(layout), paths, terms, flat_layout(layout), flat, tree_paths)
        for (layout, _), paths, terms, flat, tree_paths in rows
    ]


def path_terms(table: PathTable) -> list[list[str]]:
    """Return the path terms of each tree: every short path twice, by classes alone and with the symbol at its lower end."""
    short = table.steps <= MAX_TERM_STEPS
    tree = table.tree[short]
    keys = table.keys[short].astype(np.uint64)
    labels = np.array([_label_hash(label) for label in table.labels], np.uint64)
    symbols = labels[table.label_ids[table.node_starts[tree] + table.below[short]]]
    with np.errstate(over="ignore"):
        with_symbol = ((keys << np.uint64(32)) | symbols) * _MULTIPLIER >> np.uint64(24)
    # All terms are formatted at once: big-endian bytes in hex, with a blank after each number.
    text = np.stack((keys, with_symbol), axis=1).astype(">u8").tobytes().hex(" ", 8)
    ends = np.cumsum(2 * np.bincount(tree, minlength=len(table.path_ends))).tolist()
    return _split_terms(text, ends, 17)


@lru_cache(maxsize=100_000)
def _label_hash(label: str) -> int:
    return crc32(label.encode("utf-8", "surrogatepass"))


def part_terms(parts: Sequence[list[SubExpression]], trees: Sequence[FlatOperators]) -> list[list[str]]:
    """Return the terms of each formula's sub-expressions: the hash of each that is larger than a leaf, at each canonical level. Those as
    written come first, and the whole formula comes before its parts."""
    hashes: list[bytes] = []
    levels: list[bytes] = []
    ends: list[int] = []
    for own, tree in zip(parts, trees, strict=True):
        written = [part.written for part in own if part.size > 1]
        hashes += written
        for node in tree.nodes:
            if node.operands:
                hashes += (node.normalised, node.commutative, node.renamed())
        levels.append(b"\xa0" * len(written) + b"\xb0\xc0\xd0" * ((len(hashes) - len(written) - sum(ends[-1:])) // 3))
        ends.append(len(hashes))
    rows = np.empty((len(hashes), 9), np.uint8)
    rows[:, 0] = np.frombuffer(b"".join(levels), np.uint8)
    rows[:, 1:] = np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 8)
    return _split_terms(rows.tobytes().hex(" ", 9), ends, 19)


def _split_terms(text: str, ends: list[int], width: int) -> list[list[str]]:
    """Split a text of terms of equal width into the terms of each formula."""
    return [text[start * width : end * width].split() for start, end in zip((0, *ends[:-1]), ends, strict=True)]
