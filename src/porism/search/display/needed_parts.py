"""Which sub-expressions a formula must have for a query formula to occur in it: a cheap check before the search for the occurrence.

An occurrence pairs each operand of the query formula with an equal sub-expression, at some canonical level. The index has the codes of the
sub-expressions of every expression, so most formulas are ruled out without their operator trees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from porism.formula.canonical.hashed import HashedNode
from porism.formula.match.backtracking import is_wildcard
from porism.formula.match.matcher import PreparedTree
from porism.index.analysis.features import RENAMED, WRITTEN
from porism.index.formulas.store import WHOLE
from porism.index.protocols import UNKNOWN, FormulaStore, Term

# Operators whose operands are never split: the query formula occurs only as a whole sub-expression. A sum or a chain of relations may
# have further operands.
_WHOLE = frozenset(("O!SUP", "O!SUB", "O!divide", "O!divide-slash", "O!root", "O!apply", "O!int", "O!sum"))


@dataclass(frozen=True, slots=True)
class NeededParts:
    """The codes of the needed sub-expressions as written, and up to renaming. None if no formula of the index has them all."""

    written: frozenset[int] | None = frozenset()
    renamed: frozenset[int] | None = frozenset()

    def are_among(self, codes: Collection[int]) -> bool:
        """Return whether a formula with these sub-expressions may contain the query formula."""
        return any(needed is not None and needed.issubset(codes) for needed in (self.written, self.renamed))


def needed_parts(pattern: PreparedTree, store: FormulaStore) -> NeededParts:
    """Return the sub-expressions that a query formula needs. A wildcard matches anything, so nothing is needed of a formula with one."""
    if any(map(is_wildcard, pattern.labels("written"))):
        return NeededParts()
    written = [_term(WRITTEN, node.normalised) for node in _needed(pattern.nodes("written"))]
    renamed = [_term(RENAMED, node.renamed()) for node in _needed(pattern.nodes("renamed"))]
    codes = store.terms.statistics([Term("parts", text) for text in (*written, *renamed)], WHOLE).codes.tolist()
    first, second = codes[: len(written)], codes[len(written) :]
    return NeededParts(*(None if UNKNOWN in found else frozenset(found) for found in (first, second)))


def _needed(root: HashedNode) -> Iterator[HashedNode]:
    """Yield the node itself if it occurs only as a whole, else those of its operands that are larger than a symbol."""
    if root.label in _WHOLE:
        yield root
    else:
        yield from (operand for operand in root.operands if operand.operands)


def _term(level: str, digest: bytes) -> str:
    return f"{level}0{digest.hex()}"
