"""Which symbols of a formula in a post answer to which symbols of a formula in the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porism.formula import Parsed, parse
from porism.formula.match import match
from porism.index.features import features
from porism.index.formula_store import FormulaStore
from porism.search.formula_explain import aligned
from porism.search.formula_query import FormulaQuery, prepare

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


def light(query: FormulaQuery, item: Parsed, store: FormulaStore) -> Lit:
    """Light the match of one formula in another; nothing where they are not alike."""
    if item.operators is None or query.parsed.operators is None:
        return Lit()
    found = match(query.parsed.operators, item.operators)
    if found is not None:
        asked = [place for pair in found.pairs for place in pair.pattern_places]
        given = [place for pair in found.pairs for place in pair.target_places]
        names = tuple((_bare(label), _bare(node.label)) for label, node in found.bindings if not node.children)
        return Lit(tuple(asked), tuple(given), names, 1.0, found.level)
    other = features(item.layout, item.operators)
    if len(other.layout.labels) > LARGEST or any(label not in store.labels for label in other.layout.labels):
        return Lit()
    pairs = aligned(query, other, store)
    share = len(pairs.pairs) / max(1, len(query.features.layout.labels))
    if share < ENOUGH:
        return Lit()
    asked = [place for a, _ in pairs.pairs for place in query.features.layout.nodes[a].places]
    given = [place for _, b in pairs.pairs for place in other.layout.nodes[b].places]
    return Lit(tuple(asked), tuple(given), tuple(pairs.names), share)


def _bare(label: str) -> str:
    return label[2:] if label[1:2] == "!" else label


class Lighter:
    """Lights the formulas of posts for one query; what was compared once is remembered."""

    def __init__(self, formulas: Sequence[Parsed], store: FormulaStore, most: int) -> None:
        self._store = store
        self._formulas = formulas
        self._most = most
        self._queries: dict[int, FormulaQuery] = {}
        self._known: dict[tuple[int, str], Lit] = {}

    def one(self, number: int, latex: str) -> Lit:
        """How a formula answers to the query formula of this number."""
        key = (number, latex)
        if key not in self._known:
            if number not in self._queries:
                self._queries[number] = prepare(self._formulas[number].latex, self._store)
            self._known[key] = light(self._queries[number], parse(latex), self._store)
        return self._known[key]

    def best(self, latex: str) -> Lit:
        """How a formula answers to that one of the first formulas of the query that it is most like."""
        found = [self.one(number, latex) for number in range(min(self._most, len(self._formulas)))]
        return max(found, key=lambda lit: (lit.share, len(lit.item_nodes)), default=Lit())
