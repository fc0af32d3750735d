"""Does a pattern occur in a formula, where, and how strictly?

Wildcards `?x` bind to whole sub-expressions, the same one at each occurrence; in a sum or product one wildcard may take several operands.
At level `renamed` variables may be exchanged one for one. The pattern may be the whole formula, any sub-expression, some of the operands
of an operator whose operands are free (`a+b` in `x+y+z`), or a part of a chain of relations. The strictest level that fits is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.canonical.hashed import HashedNode, hashed_leaf, hashed_node
from porism.formula.canonical.rules import normalise
from porism.formula.match.search import Exhausted, Match, Pair, Search, is_wildcard
from porism.formula.tree import Node

__all__ = ["BUDGET", "Found", "Match", "Pair", "Ready", "find", "match"]

# Steps of search in all; enough for any formula a person writes, little enough to answer at once.
BUDGET = 200_000


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search: a match or None; `exhausted` says that the search was given up, so that None proves nothing."""

    match: Match | None
    exhausted: bool


class Ready:
    """An operator tree made ready to be compared many times: its terms as written and in normal form, each made when first needed."""

    __slots__ = ("_labels", "_needs", "_terms", "_tree")

    def __init__(self, tree: Node) -> None:
        self._tree = tree
        self._terms: dict[bool, HashedNode] = {}
        self._labels: dict[bool, frozenset[str]] = {}
        self._needs: dict[Level, frozenset[str]] = {}

    def terms(self, level: Level) -> HashedNode:
        """The tree as terms for a level."""
        written = level == "written"
        found = self._terms.get(written)
        if found is None:
            found = self._terms[written] = _plain(self._tree) if written else normalise(self._tree, [])
        return found

    def labels(self, level: Level) -> frozenset[str]:
        """The labels of these terms; those of the tree as written are known without making them."""
        written = level == "written"
        found = self._labels.get(written)
        if found is None:
            found = self._labels[written] = _labels(self._tree) if written else _labels(self.terms(level))
        return found

    def needs(self, level: Level) -> frozenset[str]:
        """The labels that a formula must have for this pattern to occur in it at a level."""
        found = self._needs.get(level)
        if found is None:
            order = [self.terms(level)]
            for term in order:
                if not is_wildcard(term.label):  # which stands for anything, whatever it is applied to
                    order.extend(term.operands)
            exchanged = ("?", "V!") if level == "renamed" else ("?",)
            needed = [term.label for term in order if not term.label.startswith(exchanged)]
            found = self._needs[level] = frozenset(needed)
        return found


def _labels(root: Node | HashedNode) -> frozenset[str]:
    order: list[Any] = [root]
    for one in order:
        order += one.children if isinstance(one, Node) else one.operands
    return frozenset([one.label for one in order])


def match(pattern: Node, target: Node, level: Level = "renamed", whole: bool = False) -> Match | None:
    """The strictest match of a pattern in a formula (both operator trees), no looser than `level`; None when there is none."""
    return find(pattern, target, level, whole).match


def find(
    pattern: Node | Ready, target: Node | Ready, level: Level = "renamed", whole: bool = False, budget: int = BUDGET
) -> Found:
    """As `match`, and says when the search was given up."""
    asked = pattern if isinstance(pattern, Ready) else Ready(pattern)
    given = target if isinstance(target, Ready) else Ready(target)
    left = budget
    for name in LEVELS[: LEVELS.index(level) + 1]:
        if not asked.needs(name) <= given.labels(name):
            continue
        search = Search(name, asked.terms(name), given.terms(name), left)
        try:
            found = search.run(whole)
        except (Exhausted, RecursionError):
            return Found(None, True)
        if found is not None:
            return Found(found, False)
        left = search.left
    return Found(None, False)


def _plain(tree: Node) -> HashedNode:
    """The operator tree as terms, no rule applied."""
    order = [tree]
    for node in order:
        order.extend(node.children)
    done: list[HashedNode] = []
    for node in reversed(order):
        count = len(node.children)
        if count:
            kids = done[:count][::-1]
            del done[:count]
            done.append(hashed_node(node.label, kids, node.places))
        else:
            done.append(hashed_leaf(node.label, node.places))
    return done[0]
