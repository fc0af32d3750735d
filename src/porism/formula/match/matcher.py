"""Find a pattern in a formula: whether it occurs, where, and at which canonical level.

A wildcard `?x` binds to a sub-expression, the same one at each occurrence; in a sum or product one wildcard may take
several operands. At level `renamed` variables may be exchanged one for one. The pattern may match the whole formula,
any sub-expression, some of the operands of a commutative operator (`a+b` in `x+y+z`), or a part of a chain of
relations. The strictest level that matches is reported."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.canonical.hashed import HashedNode, hashed_leaf, hashed_node
from porism.formula.canonical.rules import normalise
from porism.formula.match.backtracking import Backtracking, Exhausted, Match, Pair, is_wildcard
from porism.formula.tree import Node

__all__ = ["BUDGET", "Match", "MatchResult", "Pair", "PreparedTree", "find", "match"]

# Steps of one search over all levels: enough for any formula that a person writes, few enough for an immediate answer.
BUDGET = 200_000


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match or None. `exhausted` says that the search ran out of steps or of time, so that None proves nothing."""

    match: Match | None
    exhausted: bool


class PreparedTree:
    """An operator tree for many comparisons: its hashed nodes in two forms, each made on first use."""

    __slots__ = ("_labels", "_nodes", "_required", "_tree")

    def __init__(self, tree: Node) -> None:
        self._tree = tree
        self._nodes: dict[bool, HashedNode] = {}
        self._labels: dict[bool, frozenset[str]] = {}
        self._required: dict[Level, frozenset[str]] = {}

    def nodes(self, level: Level) -> HashedNode:
        """Return the root of the hashed nodes for a level."""
        written = level == "written"
        found = self._nodes.get(written)
        if found is None:
            found = self._nodes[written] = _as_written(self._tree) if written else normalise(self._tree, [])
        return found

    def labels(self, level: Level) -> frozenset[str]:
        """Return the labels at a level. Those of level `written` need no hashed nodes."""
        written = level == "written"
        found = self._labels.get(written)
        if found is None:
            found = self._labels[written] = _labels(self._tree) if written else _labels(self.nodes(level))
        return found

    def required(self, level: Level) -> frozenset[str]:
        """Return the labels that a formula must have for this pattern to occur in it at a level."""
        found = self._required.get(level)
        if found is None:
            order = [self.nodes(level)]
            for node in order:
                if not is_wildcard(node.label):  # a wildcard matches anything, whatever it is applied to
                    order.extend(node.operands)
            exchangeable = ("?", "V!") if level == "renamed" else ("?",)
            labels = [node.label for node in order if not node.label.startswith(exchangeable)]
            found = self._required[level] = frozenset(labels)
        return found


def _labels(root: Node | HashedNode) -> frozenset[str]:
    order: list[Any] = [root]
    for node in order:
        order += node.children if isinstance(node, Node) else node.operands
    return frozenset([node.label for node in order])


def match(pattern: Node, target: Node, level: Level = "renamed", whole: bool = False) -> Match | None:
    """Return the strictest match of a pattern in a formula, no looser than `level`; None without one."""
    return find(pattern, target, level, whole).match


def find(
    pattern: Node | PreparedTree,
    target: Node | PreparedTree,
    level: Level = "renamed",
    whole: bool = False,
    budget: int = BUDGET,
    skip: Collection[Level] = (),
) -> MatchResult:
    """Do what `match` does, and also report when the search ran out of steps, or of time (`porism.deadline`).

    `skip` names levels that are known not to match."""
    wanted = pattern if isinstance(pattern, PreparedTree) else PreparedTree(pattern)
    formula = target if isinstance(target, PreparedTree) else PreparedTree(target)
    steps = budget
    for name in LEVELS[: LEVELS.index(level) + 1]:
        if name in skip or not wanted.required(name) <= formula.labels(name):
            continue
        search = Backtracking(name, wanted.nodes(name), formula.nodes(name), steps)
        try:
            found = search.run(whole)
        except (Exhausted, RecursionError):
            return MatchResult(None, True)
        if found is not None:
            return MatchResult(found, False)
        steps = search.steps
    return MatchResult(None, False)


def _as_written(tree: Node) -> HashedNode:
    """Return the hashed nodes of an operator tree without applying any rule."""
    order = [tree]
    for node in order:
        order.extend(node.children)
    done: list[HashedNode] = []
    for node in reversed(order):
        count = len(node.children)
        if count:
            operands = done[:count][::-1]
            del done[:count]
            done.append(hashed_node(node.label, operands, node.places))
        else:
            done.append(hashed_leaf(node.label, node.places))
    return done[0]
