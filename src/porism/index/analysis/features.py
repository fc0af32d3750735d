"""Features of a formula: terms for posting lists, and its trees and paths as rows of numbers for re-ranking."""

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
from porism.index.analysis.paths import Forest, Paths, tree_paths

# The first letter of the term of a sub-expression names its canonical level.
WRITTEN, NORMALISED, COMMUTATIVE, RENAMED = "abcd"
LEVEL_PREFIX: dict[str, str] = {
    "written": WRITTEN,
    "normalised": NORMALISED,
    "commutative": COMMUTATIVE,
    "renamed": RENAMED,
}
MAX_TERM_STEPS = 3  # longer paths are too rare to find anything that shorter ones do not
_SYMBOL = np.uint64(0x9E3779B97F4A7C15)


class Features(NamedTuple):
    """Of one formula: the terms of each field, and its trees and paths as rows."""

    tuples: list[str]
    paths: list[str]
    parts: list[str]
    layout: FlatLayout
    operators: FlatOperators
    ways: Paths


def features(layout: Node, operators: Node) -> Features:
    """All features of a formula from its layout tree and its operator tree."""
    return features_of_many([(layout, operators)])[0]


def features_of_many(formulas: Sequence[tuple[Node, Node]]) -> list[Features]:
    """The features of each formula; quicker than one by one."""
    known = [subexpressions(operators) for _, operators in formulas]
    flats = [flat_operators(one[0].normal) for one in known]
    forest = tree_paths(flats)
    rows = zip(formulas, path_terms(forest), part_terms(known, flats), flats, forest.trees(), strict=True)
    return [
        Features(mathtuples(layout), paths, terms, flat_layout(layout), flat, way)
        for (layout, _), paths, terms, flat, way in rows
    ]


def path_terms(forest: Forest) -> list[list[str]]:
    """For each tree, every path of few steps once by classes alone and once with the symbol at its lower end."""
    near = forest.steps <= MAX_TERM_STEPS
    tree = forest.tree[near]
    keys = forest.keys[near].astype(np.uint64)
    labels = np.array([_number(label) for label in forest.labels], np.uint64)
    symbols = labels[forest.number[forest.starts[tree] + forest.below[near]]]
    with np.errstate(over="ignore"):
        named = ((keys << np.uint64(32)) | symbols) * _SYMBOL >> np.uint64(24)
    # Big-endian bytes in hex, a blank after each number: all terms are written at once.
    text = np.stack((keys, named), axis=1).astype(">u8").tobytes().hex(" ", 8)
    ends = np.cumsum(2 * np.bincount(tree, minlength=len(forest.stops))).tolist()
    return _split(text, ends, 17)


@lru_cache(maxsize=100_000)
def _number(label: str) -> int:
    return crc32(label.encode("utf-8", "surrogatepass"))


def part_terms(known: Sequence[list[SubExpression]], trees: Sequence[FlatOperators]) -> list[list[str]]:
    """For each formula, the hash of every sub-expression that is more than a leaf, at each canonical level: as written first, and the
    whole before its parts."""
    hashes: list[bytes] = []
    levels: list[bytes] = []
    ends: list[int] = []
    for own, tree in zip(known, trees, strict=True):
        written = [part.written for part in own if part.size > 1]
        hashes += written
        for term in tree.terms:
            if term.operands:
                hashes += (term.normalised, term.commutative, term.renamed())
        levels.append(b"\xa0" * len(written) + b"\xb0\xc0\xd0" * ((len(hashes) - len(written) - sum(ends[-1:])) // 3))
        ends.append(len(hashes))
    rows = np.empty((len(hashes), 9), np.uint8)
    rows[:, 0] = np.frombuffer(b"".join(levels), np.uint8)
    rows[:, 1:] = np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 8)
    return _split(rows.tobytes().hex(" ", 9), ends, 19)


def _split(text: str, ends: list[int], width: int) -> list[list[str]]:
    """Terms of equal width that were written one after another, those of each formula apart."""
    return [text[start * width : end * width].split() for start, end in zip((0, *ends[:-1]), ends, strict=True)]
