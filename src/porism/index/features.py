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
    levels: list[int] = []
    for parent in tree.parents:
        levels.append(levels[parent] + 1 if parent >= 0 else 0)
    depths = np.array(levels)
    near = depths[ways.below] - depths[ways.above] <= MAX_TERM_STEPS
    symbols = np.array([crc32(label.encode("utf-8", "surrogatepass")) for label in tree.labels], np.uint64)
    keys = ways.keys[near].astype(np.uint64)
    with np.errstate(over="ignore"):
        named = ((keys << np.uint64(32)) | symbols[ways.below[near]]) * _SYMBOL >> np.uint64(24)
    # Big-endian bytes in hex, a blank between numbers: all terms are written at once.
    return np.concatenate((keys, named)).astype(">u8").tobytes().hex(" ", 8).split()


def part_terms(written: Node, tree: FlatOperators) -> list[str]:
    """The hash of every sub-expression that is more than a leaf, at each canonical level."""
    terms = [f"{WRITTEN}{number:x}" for number in _written_parts(written)]
    for term in tree.terms:
        if term.kids:
            terms += (f"{NORMALISED}{term.plain:x}", f"{COMMUTATIVE}{term.mixed:x}", f"{RENAMED}{term.renamed():x}")
    return terms


def _written_parts(root: Node) -> list[int]:
    """The hashes of the sub-expressions of a tree as it stands; the root's comes last."""
    order = [root]
    for node in order:
        order += node.children
    # Walking backwards, the operands of a node are those numbers just before the ones that the last node took.
    numbers = [0] * len(order)
    end = at = len(order)
    parts: list[int] = []
    for node in reversed(order):
        at -= 1
        total = label_hash(node.label)[0]
        count = len(node.children)
        if count:
            for number, factor in zip(numbers[end - count : end], POSITIONS, strict=False):
                total += number * factor
            end -= count
        numbers[at] = mix(total & MASK)
        if count:
            parts.append(numbers[at])
    return parts
