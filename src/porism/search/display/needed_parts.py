"""Which sub-expressions a formula must have for a query formula to occur in it: a cheap check before the search for the
occurrence.

An occurrence pairs each operand of the query formula with an equal sub-expression, at some canonical level. The index
has the sub-expressions of every expression, so most formulas are ruled out without their operator trees."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from porism.analysis.features import COMMUTATIVE, RENAMED
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.canonical.hashed import HashedNode
from porism.formula.match.backtracking import is_wildcard
from porism.formula.match.matcher import PreparedTree

# Operators whose operands are never split: the query formula occurs only as a whole sub-expression. A sum or a chain of
# relations may have further operands.
_WHOLE = frozenset(("O!SUP", "O!SUB", "O!divide", "O!divide-slash", "O!root", "O!apply", "O!int", "O!sum"))


_NAMED: tuple[Level, ...] = ("written", "normalised", "commutative")  # levels at which names of variables must agree


@dataclass(frozen=True, slots=True)
class NeededParts:
    """The needed sub-expressions at level `commutative`, and up to renaming, by their positions in a request."""

    commutative: frozenset[int] = frozenset()
    renamed: frozenset[int] = frozenset()

    def impossible_levels(self, positions: Collection[int]) -> tuple[Level, ...]:
        """Return the levels at which the query formula does not occur in a formula with these sub-expressions."""
        if not self.renamed.issubset(positions):
            return LEVELS
        return () if self.commutative.issubset(positions) else _NAMED


class NeededTerms(NamedTuple):
    """The needed sub-expressions as terms, at level `commutative` and up to renaming."""

    commutative: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()


def needed_terms(pattern: PreparedTree) -> NeededTerms:
    """Return the sub-expressions that a query formula needs. A wildcard matches anything, so nothing is needed of a
    formula with one."""
    if any(map(is_wildcard, pattern.labels("written"))):
        return NeededTerms()
    nodes = list(_needed(pattern.nodes("renamed")))
    return NeededTerms(
        tuple(part_term(COMMUTATIVE, node.commutative) for node in nodes),
        tuple(part_term(RENAMED, node.renamed()) for node in nodes),
    )


def _needed(root: HashedNode) -> Iterator[HashedNode]:
    """Yield the node itself if it occurs only as a whole, else those of its operands that are larger than a symbol."""
    if root.label in _WHOLE:
        yield root
    else:
        yield from (operand for operand in root.operands if operand.operands)


def part_term(level: str, digest: bytes) -> str:
    """Return the term of a sub-expression from its hash at a level."""
    return f"{level}0{digest.hex()}"
