"""Highlights: which symbols of a formula in a post match which symbols of a formula in the query."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from porism.deadline import TimeLimitExceeded, check, remaining, shorten, time_limit
from porism.formula import Parsed
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.match.matcher import Match, find
from porism.records import Binding
from porism.search.display.post_formulas import ComparableFormula, SharedParts, parsed_formula
from porism.search.formulas.alignment import SymbolPair, SymbolSequence, matched_pairs
from porism.search.formulas.query import known_symbols, layout_symbols
from porism.search.formulas.searcher import readable_bindings, renamed_variables
from porism.store.protocols import SymbolTable
from porism.text.segment import Segment

FORMULAS_KEPT = 500  # formulas of queries whose terms are kept for the next page
MAX_SYMBOLS = 80  # in larger formulas only an occurrence of the whole query formula is highlighted
TIME_SHARE = 0.5  # of the time that is left for a query, which its highlights may take
NOT_HIGHLIGHTED = "there was not enough time to highlight all formulas"
MIN_SHARE = 0.4  # of the symbols of the query formula that must match

Compared = TypeVar("Compared")


@dataclass(frozen=True, slots=True)
class Highlight:
    """The match of a query formula in a formula of a post.

    `query_nodes` and `item_nodes` are the matching MathML elements on both sides, `share` is the share of the query's
    symbols that match, and `level` the strictest canonical level at which the query formula occurs (empty if it does
    not)."""

    query_nodes: tuple[int, ...] = ()
    item_nodes: tuple[int, ...] = ()
    bindings: tuple[Binding, ...] = ()
    share: float = 0.0
    level: str = ""


NO_HIGHLIGHT = Highlight()


class PatternMatch(NamedTuple):
    """How a query formula matches another: its occurrence, or the pairs of an alignment."""

    found: Match | None
    pairs: list[SymbolPair]


class QueryPattern(ComparableFormula):
    """A formula of the query, prepared to be compared with many formulas."""

    def __init__(self, parsed: Parsed, table: SymbolTable) -> None:
        super().__init__(parsed)
        self._table = table
        self._size = max(1, len(self.layout.labels))
        self.symbols: SymbolSequence = layout_symbols(self.layout, table)

    def most_aligned(self, item: ComparableFormula) -> float:
        """Return an upper bound of the share of an alignment: what matches if the order of symbols does not matter."""
        if len(item.layout.labels) > MAX_SYMBOLS:
            return 0.0
        counts = item.symbol_counts
        return sum([min(count, counts.get(key, 0)) for key, count in self.symbol_counts.items()]) / self._size

    def share(self, pairs: Sequence[SymbolPair]) -> float:
        """Return the share of the symbols that are paired."""
        return len(pairs) / self._size

    def match(self, item: ComparableFormula, skip: Collection[Level] = (), least: float = MIN_SHARE) -> PatternMatch:
        """Return how the whole query formula occurs in a formula, at a level that is not skipped, else the pairs of the
        best alignment; none if fewer symbols match than `least` and MIN_SHARE demand."""
        found = find(self.operators, item.operators, skip=skip).match if len(skip) < len(LEVELS) else None
        if found is not None or self.most_aligned(item) < max(least, MIN_SHARE):
            return PatternMatch(found, [])
        return PatternMatch(None, self.align(item))

    def align(self, item: ComparableFormula) -> list[SymbolPair]:
        """Return the pairs of the best alignment with a formula; none if too few symbols match."""
        symbols = known_symbols(item.layout, self._table)
        pairs = [] if symbols is None else matched_pairs(self.symbols, symbols)
        return pairs if self.share(pairs) >= MIN_SHARE else []


@lru_cache(FORMULAS_KEPT)
def query_pattern(formula: Parsed, table: SymbolTable) -> QueryPattern:
    """Return a formula of the query as a pattern. Every page of its query needs it again."""
    return QueryPattern(formula, table)


def highlight(pattern: QueryPattern, item: ComparableFormula) -> Highlight:
    """Return the match of a query formula in a formula of a post; NO_HIGHLIGHT if they are not similar."""
    found, pairs = pattern.match(item)
    if found is not None:
        query_nodes = [place for pair in found.pairs for place in pair.pattern_places]
        item_nodes = [place for pair in found.pairs for place in pair.target_places]
        bindings = readable_bindings(found.bindings)
        return Highlight(tuple(query_nodes), tuple(item_nodes), tuple(bindings), 1.0, found.level)
    if not pairs:
        return NO_HIGHLIGHT
    query_nodes = [place for pair in pairs for place in pattern.layout.nodes[pair.query].places]
    item_nodes = [place for pair in pairs for place in item.layout.nodes[pair.item].places]
    bindings = renamed_variables(pattern.layout, item.layout, pairs)
    return Highlight(tuple(query_nodes), tuple(item_nodes), tuple(bindings), pattern.share(pairs))


class MatchedNodes(NamedTuple):
    """The MathML elements of a formula that match a query formula, and the share of the query's symbols that do."""

    share: float
    size: int
    nodes: tuple[int, ...]


NOTHING_MATCHED = MatchedNodes(0.0, 0, ())


def matched_nodes(
    pattern: QueryPattern, item: ComparableFormula, skip: Collection[Level], least: float
) -> MatchedNodes:
    """Return the share and the elements of `highlight`, but nothing for an alignment with less than the least share.

    The pattern is known not to occur at the levels to skip."""
    found, pairs = pattern.match(item, skip, least)
    if found is not None:
        nodes = [place for pair in found.pairs for place in pair.target_places]
        return MatchedNodes(1.0, len(nodes), tuple(nodes))
    nodes = [place for pair in pairs for place in item.layout.nodes[pair.item].places]
    return MatchedNodes(pattern.share(pairs), len(nodes), tuple(nodes))


class Highlighter:
    """Highlights formulas of posts for one query; each comparison is made once.

    When the time of the query is half over, the other formulas are shown without highlights, and `notes` say so."""

    def __init__(
        self, formulas: Sequence[Parsed], table: SymbolTable, limit: int, parts: SharedParts | None = None
    ) -> None:
        self._table = table
        self._parts = parts
        self._formulas = formulas
        self._limit = limit
        self._highlights: dict[tuple[int, str], Highlight] = {}
        self._nodes: dict[tuple[str, frozenset[int]], tuple[int, ...]] = {}
        self._end = time.monotonic() + TIME_SHARE * remaining()
        self.notes: tuple[str, ...] = ()

    def match(self, number: int, latex: str) -> Highlight:
        """Return the match of the query formula with this number in a formula."""
        key = (number, latex)
        if key not in self._highlights:
            found = self._within_time(lambda: highlight(self._pattern(number), parsed_formula(latex)))
            if found is None:
                return NO_HIGHLIGHT
            self._highlights[key] = found
        return self._highlights[key]

    def _within_time(self, compare: Callable[[], Compared]) -> Compared | None:
        """Return the result of a comparison; None and a note if there is no time for it."""
        try:
            with time_limit(self._end - time.monotonic()):
                check()
                found = compare()
                check()  # a match that the time limit ended is no result
                return found
        except TimeLimitExceeded:
            check()
            shorten()
            self.notes = (NOT_HIGHLIGHTED,)
            return None

    def best_nodes(self, formula: Segment, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return the MathML elements of a post's formula in its best match with the first of some query formulas."""
        key = (formula.text, frozenset(numbers))
        if key not in self._nodes:
            found = self._within_time(lambda: self._best(formula, sorted(key[1])[: self._limit]))
            if found is None:
                return ()
            self._nodes[key] = found.nodes
        return self._nodes[key]

    def most_similar(self, number: int, formulas: Iterable[Segment]) -> Segment | None:
        """Return the formula of a post that a query formula matches best; None if none is similar."""
        best, least = None, 0.0
        for formula in formulas:
            found = self._within_time(partial(self._matched, number, formula, least))
            if found is None:
                break
            if found.share > least:
                best, least = formula, found.share
            if least == 1.0:
                break
        return best

    def _best(self, formula: Segment, numbers: Sequence[int]) -> MatchedNodes:
        best = NOTHING_MATCHED
        for number in numbers:
            found = self._matched(number, formula, best.share)
            if found[:2] > best[:2]:
                best = found
        return best

    def _matched(self, number: int, formula: Segment, least: float) -> MatchedNodes:
        """Match a query formula with a formula of a post; a match with less than the least share need not be found."""
        pattern, item = self._pattern(number), parsed_formula(formula.text)
        # The parts of a formula whose LaTeX was made readable, and of one that the index cut, are not those of the
        # item.
        indexed = formula.expression_id and item.parsed.latex == formula.text and len(item.layout.labels) <= MAX_SYMBOLS
        if not indexed or self._parts is None:
            return matched_nodes(pattern, item, (), least)
        positions = self._parts.positions(formula.expression_id)
        return matched_nodes(pattern, item, self._parts.needed[number].impossible_levels(positions), least)

    def _pattern(self, number: int) -> QueryPattern:
        return query_pattern(self._formulas[number], self._table)  # type: ignore[arg-type] # tables compare by identity
