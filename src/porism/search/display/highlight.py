"""Which symbols of a formula in a post answer to which symbols of a formula in the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porism.formula import Parsed
from porism.formula.match.matcher import Ready, find
from porism.index.analysis.flat import flat_layout
from porism.index.formulas.store import FormulaStore
from porism.search.display.reading import Reading, reading
from porism.search.formulas.explain import aligned, told
from porism.search.formulas.query import layout_symbols

LARGEST = 80  # symbols; larger formulas are compared by occurrence alone
ENOUGH = 0.4  # share of the query's symbols that must find a partner


@dataclass(frozen=True, slots=True)
class Lit:
    """Places of MathML elements on both sides, what was renamed, the share of the query formula that found a partner, and the
    strictest level at which it occurs (empty where it does not)."""

    query_nodes: tuple[int, ...] = ()
    item_nodes: tuple[int, ...] = ()
    bindings: tuple[tuple[str, str], ...] = ()
    share: float = 0.0
    level: str = ""


class Sought:
    """A formula of the query, ready to be sought in many others."""

    def __init__(self, parsed: Parsed, store: FormulaStore) -> None:
        self.ready = Ready(parsed.operators)
        self.flat = flat_layout(parsed.layout)
        self.numbers = layout_symbols(self.flat, store)


def light(asked: Sought, item: Reading, store: FormulaStore) -> Lit:
    """Light the match of one formula in another; nothing where they are not alike."""
    found = find(asked.ready, item.ready).match
    if found is not None:
        query = [place for pair in found.pairs for place in pair.pattern_places]
        given = [place for pair in found.pairs for place in pair.target_places]
        return Lit(tuple(query), tuple(given), tuple(told(found.bindings)), 1.0, found.level)
    labels = item.flat.labels
    if len(labels) > LARGEST or any(label not in store.labels for label in labels):
        return Lit()
    pairs = aligned(asked.flat, asked.numbers, item.flat, store)
    share = len(pairs.pairs) / max(1, len(asked.flat.labels))
    if share < ENOUGH:
        return Lit()
    query = [place for a, _ in pairs.pairs for place in asked.flat.nodes[a].places]
    given = [place for _, b in pairs.pairs for place in item.flat.nodes[b].places]
    return Lit(tuple(query), tuple(given), tuple(pairs.names), share)


class Lighter:
    """Lights the formulas of posts for one query; what was compared once is remembered."""

    def __init__(self, formulas: Sequence[Parsed], store: FormulaStore, most: int) -> None:
        self._store = store
        self._formulas = formulas
        self._most = most
        self._asked: dict[int, Sought] = {}
        self._known: dict[tuple[int, str], Lit] = {}

    def one(self, number: int, latex: str) -> Lit:
        """How a formula answers to the query formula of this number."""
        key = (number, latex)
        if key not in self._known:
            if number not in self._asked:
                self._asked[number] = Sought(self._formulas[number], self._store)
            self._known[key] = light(self._asked[number], reading(latex), self._store)
        return self._known[key]

    def best(self, latex: str) -> Lit:
        """How a formula answers to that one of the first formulas of the query that it is most like."""
        found = [self.one(number, latex) for number in range(min(self._most, len(self._formulas)))]
        return max(found, key=lambda lit: (lit.share, len(lit.item_nodes)), default=Lit())
