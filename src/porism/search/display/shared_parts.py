"""Sub-expressions of a query in the expressions of posts, as the index has them: what an expression shares with the
query, and whether a query formula can occur in it.

An occurrence pairs each operand of the query formula with an equal sub-expression, at some canonical level. So most
formulas are ruled out without their operator trees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from porism.analysis.features import COMMUTATIVE, RENAMED
from porism.formula import Parsed
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.canonical.hashed import HashedNode
from porism.formula.match.backtracking import is_wildcard
from porism.formula.match.matcher import PreparedTree
from porism.search.retrieval.query_terms import QueryTerms
from porism.store.records import ExpressionParts

FORMULAS_KEPT = 500  # formulas of queries whose terms are kept for the next page
PAGES_KEPT = 4  # of a query, whose expressions stay known
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
    """Return the sub-expressions that a query formula needs: none if it has a wildcard, which matches anything."""
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


class FormulaTerms(NamedTuple):
    """The terms of a whole query formula, as written and with variables renamed, and those of needed parts."""

    whole: tuple[str, ...]
    needed: NeededTerms


@lru_cache(FORMULAS_KEPT)
def formula_terms(formula: Parsed) -> FormulaTerms:
    """Return the terms by which a query formula is found in others. Every page of its query needs them again."""
    pattern = PreparedTree(formula.operators)
    root = pattern.nodes("renamed")
    whole = (part_term(COMMUTATIVE, root.commutative), part_term(RENAMED, root.renamed())) if root.operands else ()
    return FormulaTerms(whole, needed_terms(pattern))


class SharedPart(NamedTuple):
    """A sub-expression of the query: its weight x idf, its formula, and the formula that it is as a whole (-1:
    none)."""

    weight: float
    formula: int
    whole: int = -1


_NO_PARTS: list[SharedPart] = []
_NO_NUMBERS: set[int] = set()


class SharedParts:
    """The sub-expressions of a query in the expressions of posts. Safe for concurrent use.

    `terms` are requested with the posts; `use` takes what came with them."""

    def __init__(self, parts: QueryTerms, formulas: Sequence[Parsed] = ()) -> None:
        own = [formula_terms(formula) for formula in formulas]
        whole = {term: number for number, found in enumerate(own) for term in found.whole}
        rows = zip(parts.scores.tolist(), parts.formulas, parts.texts, strict=True)
        self._parts = [SharedPart(weight, formula, whole.get(text, -1)) for weight, formula, text in rows]
        needed = (term for found in own for terms in found.needed for term in terms)
        places = {term: at for at, term in enumerate(dict.fromkeys((*parts.texts, *needed)))}
        self.terms = tuple(places)
        self.needed = [
            NeededParts(*(frozenset(map(places.__getitem__, terms)) for terms in found.needed)) for found in own
        ]
        self._sources: tuple[ExpressionParts, ...] = ()
        self._positions: dict[int, frozenset[int]] = {}
        self._found: dict[int, list[SharedPart]] = {}
        self._whole: dict[int, set[int]] = {0: set()}
        self._weights: dict[int, float] = {0: 0.0}

    def use(self, found: ExpressionParts) -> None:
        """Look up expressions among those of posts that were just read; those of the pages before stay known."""
        self._sources = (found, *self._sources)[:PAGES_KEPT]

    def positions(self, expression: int) -> frozenset[int]:
        """Return the positions of the terms that an expression of the collection has."""
        known = self._positions.get(expression)
        if known is None:
            found = (found for source in self._sources if (found := source.of(expression)))
            known = self._positions[expression] = frozenset(next(found, ()))
        return known

    def weight(self, expression: int) -> float:
        """Return the weight of the sub-expressions that an expression of the collection shares with the query."""
        found = self._weights.get(expression)
        if found is None:
            found = self._weights[expression] = sum([part.weight for part in self.of(expression)])
        return found

    def of(self, expression: int) -> list[SharedPart]:
        """Return the sub-expressions that an expression of the collection shares with the query, each once."""
        if not self._parts or not expression:
            return []
        found = self._found.get(expression)
        if found is None:
            number = len(self._parts)
            found = [self._parts[at] for at in self.positions(expression) if at < number] or _NO_PARTS
            self._whole[expression] = {part.whole for part in found if part.whole >= 0} if found else _NO_NUMBERS
            self._found[expression] = found  # last: another thread that finds it may read the rest
        return found

    def contained(self, expressions: Iterable[int]) -> set[int]:
        """Return the query formulas that expressions contain as a whole, perhaps with other variables."""
        if not self._parts:
            return set()
        for expression in expressions:
            if expression not in self._found:
                self.of(expression)
        return set().union(*map(self._whole.__getitem__, expressions))
