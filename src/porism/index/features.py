"""What of a formula is indexed: terms for the postings, rows of numbers for the re-ranker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from porism.formula.canonical import Part, parts
from porism.formula.rules_term import Term
from porism.formula.tree import Node
from porism.formula.tuples import mathtuples
from porism.index.flat import FlatLayout, FlatOperators, flat_layout, flat_operators
from porism.index.paths import Forest, Paths, tree_paths

FIELDS = ("tuples", "paths", "parts")
# One letter for each canonical level in the names of parts.
WRITTEN, NORMALISED, COMMUTATIVE, RENAMED = "wncr"
MAX_TERM_STEPS = 3  # longer paths are too rare to find anything that shorter ones do not
_WIDTH = 17  # sixteen digits and a blank
MASK = (1 << 64) - 1
MAX_NAMES = 40_000  # of parts that are kept: small parts come again in other formulas
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
    known = [parts(operators) for _, operators in formulas]
    flats = [flat_operators(one[0].term) for one in known]
    forest = tree_paths(flats)
    return [
        Features(mathtuples(layout), paths, part_terms(own, flat), flat_layout(layout), flat, way)
        for (layout, _), own, flat, way, paths in zip(
            formulas, known, flats, forest.trees(), path_terms(forest), strict=True
        )
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
    # Big-endian bytes in hex, a blank between pairs of numbers and one within them: all terms are written at once.
    text = np.stack((keys, named), axis=1).astype(">u8").tobytes().hex(" ", 8)
    ends = np.cumsum(2 * _WIDTH * np.bincount(tree, minlength=len(forest.stops))).tolist()
    return [text[start:end].split() for start, end in zip((0, *ends[:-1]), ends, strict=True)]


@lru_cache(maxsize=100_000)
def _number(label: str) -> int:
    return crc32(label.encode("utf-8", "surrogatepass"))


def part_terms(known: list[Part], tree: FlatOperators) -> list[str]:
    """The hash of every sub-expression that is more than a leaf, at each canonical level: as written first, the whole first."""
    terms = [f"{WRITTEN}{part.written & MASK:x}" for part in known if part.size > 1]
    for term in tree.terms:
        if term.kids:
            terms += _named(term)
    return terms


_names: dict[int, tuple[str, str, str]] = {}


def _named(term: Term) -> tuple[str, str, str]:
    """The names of a part at the levels above the written one."""
    found = _names.get(term.plain)
    if found is None:
        if len(_names) >= MAX_NAMES:
            _names.clear()
        found = _names[term.plain] = (
            f"{NORMALISED}{term.plain & MASK:x}",
            f"{COMMUTATIVE}{term.mixed & MASK:x}",
            f"{RENAMED}{term.renamed() & MASK:x}",
        )
    return found
