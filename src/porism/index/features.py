"""What of a formula is indexed: terms for the postings, rows of numbers for the re-ranker."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

import numpy as np

from porism.formula.rules import normalise
from porism.formula.rules_term import MASK, POSITIONS, label_hash, mix
from porism.formula.tree import Node
from porism.formula.tuples import mathtuples
from porism.index.flat import FlatLayout, FlatOperators, flat_layout, flat_operators
from porism.index.paths import Paths, tree_paths

FIELDS = ("tuples", "paths", "parts")
# One letter for each canonical level in the names of parts.
WRITTEN, NORMALISED, COMMUTATIVE, RENAMED = "wncr"
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
    flat = flat_operators(normalise(operators, []))
    ways = tree_paths(flat)
    return Features(
        mathtuples(layout), path_terms(flat, ways), part_terms(operators, flat), flat_layout(layout), flat, ways
    )


def path_terms(tree: FlatOperators, ways: Paths) -> list[str]:
    """Each path of few steps once by classes alone and once with the symbol at its lower end."""
    depths = np.zeros(len(tree.labels), np.int32)
    for node, parent in enumerate(tree.parents):
        depths[node] = depths[parent] + 1 if parent >= 0 else 0
    near = depths[ways.below] - depths[ways.above] <= MAX_TERM_STEPS
    symbols = np.array([crc32(label.encode("utf-8", "surrogatepass")) for label in tree.labels], np.uint64)
    keys = ways.keys[near].astype(np.uint64)
    with np.errstate(over="ignore"):
        named = ((keys << np.uint64(32)) | symbols[ways.below[near]]) * _SYMBOL >> np.uint64(24)
    return [f"{key:x}" for key in keys.tolist()] + [f"{key:x}" for key in named.tolist()]


def part_terms(written: Node, tree: FlatOperators) -> list[str]:
    """The hash of every sub-expression that is more than a leaf, at each canonical level."""
    terms = [f"{WRITTEN}{number:x}" for number in _written_parts(written)]
    for term in tree.terms:
        if term.kids:
            terms += (f"{NORMALISED}{term.plain:x}", f"{COMMUTATIVE}{term.mixed:x}", f"{RENAMED}{term.renamed():x}")
    return terms


def _written_parts(root: Node) -> list[int]:
    """The hashes of the sub-expressions of a tree as it stands."""
    order = [root]
    for node in order:
        order.extend(node.children)
    numbers: dict[int, int] = {}
    parts: list[int] = []
    for node in reversed(order):
        total = label_hash(node.label)[0]
        for child, factor in zip(node.children, POSITIONS, strict=False):
            total += numbers[id(child)] * factor
        numbers[id(node)] = mix(total & MASK)
        if node.children:
            parts.append(numbers[id(node)])
    return parts
