"""Does a pattern occur in a formula, where, and how strictly?

Wildcards `?x` bind to whole sub-expressions, the same one at each occurrence; in a sum or product one wildcard may take several operands.
At level `renamed` variables may be exchanged one for one. The pattern may be the whole formula, any sub-expression, some of the operands
of an operator whose operands are free (`a+b` in `x+y+z`), or a part of a chain of relations. The strictest level that fits is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from porism.formula.canonical import LEVELS, Level
from porism.formula.match_search import Exhausted, Match, Pair, Search
from porism.formula.rules import normalise
from porism.formula.rules_term import Term, leaf, make
from porism.formula.tree import Node

__all__ = ["BUDGET", "Found", "Match", "Pair", "find", "match"]

# Steps of search in all; enough for any formula a person writes, little enough to answer at once.
BUDGET = 200_000


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search: a match or None; `exhausted` says that the search was given up, so that None proves nothing."""

    match: Match | None
    exhausted: bool


def match(pattern: Node, target: Node, level: Level = "renamed", whole: bool = False) -> Match | None:
    """The strictest match of a pattern in a formula (both operator trees), no looser than `level`; None when there is none."""
    return find(pattern, target, level, whole).match


def find(pattern: Node, target: Node, level: Level = "renamed", whole: bool = False, budget: int = BUDGET) -> Found:
    """As `match`, and says when the search was given up."""
    allowed = LEVELS[: LEVELS.index(level) + 1]
    left = budget
    sides = _plain(pattern), _plain(target)
    for name in allowed:
        if name == "normalised":
            sides = normalise(pattern, []), normalise(target, [])
        search = Search(name, *sides, left)
        try:
            found = search.run(whole)
        except (Exhausted, RecursionError):
            return Found(None, True)
        if found is not None:
            return Found(found, False)
        left = search.left
    return Found(None, False)


def _plain(tree: Node) -> Term:
    """The operator tree as terms, no rule applied."""
    order = [tree]
    for node in order:
        order.extend(node.children)
    done: list[Term] = []
    for node in reversed(order):
        count = len(node.children)
        if count:
            kids = done[:count][::-1]
            del done[:count]
            done.append(make(node.label, kids, node.places))
        else:
            done.append(leaf(node.label, node.places))
    return done[0]
