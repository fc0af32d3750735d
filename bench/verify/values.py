"""Values that the authors of a system stored, compared with ours: the second stage of Tangent-S, and features of DPRL's
learning to rank.

The trees are those of the formula pool, in the text format of Tangent-S, so that only the computation is compared. A
formula whose stored tree cannot be read is left out.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula import from_tangent
from porism.formula.layout.tuples import unescape
from porism.formula.tree import Node
from porism.systems.dprl.edit_distance import edit_features, symbol_ids
from porism.systems.dprl.layout import with_plain_brackets
from porism.systems.dprl.tuples import tuple_features
from porism.systems.tangent.alignment import align
from porism.systems.tangent.forest import Labels, make_forest


def read_operators(text: str) -> Node:
    """Read an operator tree. Raise ValueError for any other text."""
    root = Node("")
    stack = [root]
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = at + 1
            while end < len(text) and (text[end] not in "[]," or (text[end] == "," and end == at + 1)):
                end += 1
            node = Node(unescape(text[at + 1 : end]))
            stack[-1].children.append(node)
            stack.append(node)
            at = end
        elif text[at] == "," and len(stack) > 1 and text[at + 2 : at + 3] == "[":
            at += 2
        elif text[at] == "]" and len(stack) > 1:
            stack.pop()
            at += 1
        else:
            raise ValueError(f"not an operator tree: {text[at]!r} at {at}")
    if len(stack) != 1 or len(root.children) != 1:
        raise ValueError("not an operator tree: brackets do not match")
    return root.children[0]


TOLERANCE = 1e-6
TANGENT_FILE = "fidelity/tangent-s.vectors.official45.tsv"
LTR_FILE = "fidelity/dprl-ltr.features.pool2020.tsv"
Row = dict[str, str]
Values = Mapping[str, npt.NDArray[np.float64]]


class Group(NamedTuple):
    """The rows of one topic and one kind of tree, with the trees of query and candidates."""

    rows: list[Row]
    query: Node
    candidates: list[Node]


def tangent_values(data: Path) -> Mapping[str, float]:
    """Return the share of stored values of Tangent-S's second stage that ours equal."""
    equal = total = 0
    rows = _read(data / TANGENT_FILE)
    for kind in ("slt", "opt"):
        for group in _groups(data, [row for row in rows if row["tree"] == kind], kind):
            ours = alignment_values(group.query, group.candidates, kind)
            for at, name in enumerate(("mss", "precision_unified", "recall_exact")):
                equal += _equal(ours[:, at], group.rows, name)
                total += len(group.rows)
    return {"values": equal / max(total, 1)}


def ltr_values(data: Path) -> Mapping[str, float]:
    """Return the share of stored features of DPRL's learning to rank that ours equal, by kind of feature."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    rows = _read(data / LTR_FILE)
    for kind, title in (("slt", "layout"), ("opt", "operators")):
        for group in _groups(data, rows, kind):
            for name, ours in feature_values(group.query, group.candidates, kind).items():
                counts = found["tuples" if name.startswith("tuple") else f"edit distance ({title})"]
                counts[0] += _equal(ours, group.rows, name)
                counts[1] += len(group.rows)
    return {name: equal / total for name, (equal, total) in found.items()}


class ValueCheck(NamedTuple):
    """A file of stored values in the test data, and what compares it with ours: shares by name."""

    file: str
    compare: Callable[[Path], Mapping[str, float]]


CHECKS: Mapping[str, ValueCheck] = {
    "baselines/Tangent-S": ValueCheck(TANGENT_FILE, tangent_values),
    "DPRL/LTR": ValueCheck(LTR_FILE, ltr_values),
}


def alignment_values(query: Node, candidates: Sequence[Node], kind: str) -> npt.NDArray[np.float64]:
    """Return similarity, precision and recall of each candidate."""
    labels = Labels.of(candidates)
    extended = labels.extended(query)
    forests = make_forest([query], extended.ids), make_forest(candidates, labels.ids)
    return align(*forests, np.arange(len(candidates)), extended.classes, kind == "opt")


def feature_values(query: Node, candidates: Sequence[Node], kind: str) -> Values:
    """Return the edit-distance and tuple features of each candidate, named as in the stored file."""
    labels = Labels.of(candidates)
    extended = labels.extended(query)
    forests = make_forest([query], extended.ids), make_forest(candidates, labels.ids)
    chosen, operators = np.arange(len(candidates)), kind == "opt"
    found = {}
    for types, letter in ((False, ""), (True, "t")):
        edits = edit_features(*forests, chosen, symbol_ids(extended, types, braces=False), operators)
        found[f"ted_{kind}_{letter}"], found[f"ted_{kind}_w{letter}"] = edits.plain, edits.weighted
        unordered, symbols = extended.classes.unordered, symbol_ids(extended, types)
        found[f"tuple_{kind}_{types}"] = tuple_features(*forests, chosen, symbols, unordered, operators)
    return found


def read_tree(text: str, kind: str, plain_brackets: bool = False) -> Node | None:
    """Read a stored tree; None where it cannot be read."""
    try:
        if kind == "opt":
            return read_operators(text)
        tree = from_tangent(text)
    except ValueError:
        return None
    return with_plain_brackets(tree) if plain_brackets else tree


def _groups(data: Path, rows: Sequence[Row], kind: str) -> Iterator[Group]:
    """Yield the rows of each topic with their trees."""
    plain = "tree" not in rows[0] if rows else False  # learning to rank reads brackets as symbols
    pool = {row["visual_id"]: row[kind] for row in _read(data / "formula-pool-2020/formulas.tsv")}
    topics = {row["topic"]: row[kind] for row in _read(data / "formula-pool-2020/topics.tsv")}
    by_topic: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_topic[row["topic"]].append(row)
    for topic, group in by_topic.items():
        query = read_tree(topics.get(topic, ""), kind, plain)
        trees = [(row, read_tree(pool.get(row["visual_id"], ""), kind, plain)) for row in group]
        known = [(row, tree) for row, tree in trees if tree is not None]
        if query is not None and known:
            yield Group([row for row, _ in known], query, [tree for _, tree in known])


def _equal(ours: npt.NDArray[np.float64], rows: Sequence[Row], name: str) -> int:
    theirs = np.array([float(row[name]) for row in rows])
    return int((np.abs(ours - theirs) < TOLERANCE).sum())


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
