"""What of a formula is indexed: terms for the postings, rows of numbers for the re-ranker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
_WIDTH = 17  # sixteen digits and a blank
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
    flats = [flat_operators(normalise(operators, [])) for _, operators in formulas]
    ways = tree_paths(flats)
    terms = path_terms(flats, ways)
    return [
        Features(mathtuples(layout), paths, part_terms(operators, flat), flat_layout(layout), flat, way)
        for (layout, operators), flat, way, paths in zip(formulas, flats, ways, terms, strict=True)
    ]


def path_terms(trees: Sequence[FlatOperators], ways: Sequence[Paths]) -> list[list[str]]:
    """For each tree, every path of few steps once by classes alone and once with the symbol at its lower end."""
    labels = [np.array([_number(label) for label in tree.labels], np.uint64) for tree in trees]
    near = [way.steps <= MAX_TERM_STEPS for way in ways]
    keys = np.concatenate([way.keys[few] for way, few in zip(ways, near, strict=True)]).astype(np.uint64)
    symbols = np.concatenate([own[way.below[few]] for own, way, few in zip(labels, ways, near, strict=True)])
    with np.errstate(over="ignore"):
        named = ((keys << np.uint64(32)) | symbols) * _SYMBOL >> np.uint64(24)
    # Big-endian bytes in hex, a blank between pairs of numbers and one within them: all terms are written at once.
    text = np.stack((keys, named), axis=1).astype(">u8").tobytes().hex(" ", 8)
    ends = np.cumsum([2 * _WIDTH * int(few.sum()) for few in near]).tolist()
    return [text[start:end].split() for start, end in zip((0, *ends[:-1]), ends, strict=True)]


@lru_cache(maxsize=100_000)
def _number(label: str) -> int:
    return crc32(label.encode("utf-8", "surrogatepass"))


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
