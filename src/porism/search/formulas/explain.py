"""Why a formula was found: which symbols of the query stand where in it, under which names, and what each part of the score gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from porism.formula import parse_mathml
from porism.formula.canonical.forms import Level
from porism.formula.layout.tuples import mathtuples
from porism.formula.match.matcher import match
from porism.formula.mathml.present import present
from porism.formula.text import readable
from porism.formula.tree import Node
from porism.index.analysis.classes import VARIABLE, kind
from porism.index.analysis.flat import FlatLayout, flat_layout
from porism.index.formulas.store import FormulaStore
from porism.records import Explanation
from porism.search.formulas.alignment import Symbols
from porism.search.formulas.query import FormulaQuery, layout_symbols
from porism.search.formulas.trace import paired

WORDS: dict[Level, str] = {
    "written": "occurs as written",
    "normalised": "occurs in another spelling",
    "commutative": "occurs in another order",
    "renamed": "occurs under other names",
}
LONGEST = 60  # characters of what a wildcard stands for


class Aligned(NamedTuple):
    """Pairs of symbols that match, as numbers in reading order on both sides."""

    pairs: list[tuple[int, int]]
    names: list[tuple[str, str]]


def explain(query: FormulaQuery, store: FormulaStore, row: int, shares: dict[str, float]) -> Explanation:
    """The explanation of the score of a row, given the share of each part."""
    layout, operators = store.trees(row)
    found = match(query.parsed.operators, operators)
    if found is not None:
        places = [(pair.pattern_places, pair.target_places) for pair in found.pairs]
        bindings = told(found.bindings)
        reason = f"the query {WORDS[found.level]}"
    else:
        asked, given = query.features.layout, flat_layout(layout)
        lit = aligned(asked, query.layout, given, store)
        places = [(asked.nodes[a].places, given.nodes[b].places) for a, b in lit.pairs]
        bindings = lit.names
        reason = f"{len(lit.pairs)} of {len(asked.labels)} symbols match in order"
    query_nodes, item_nodes = _in_pairs(places)
    tuples = Counter(mathtuples(layout))
    parts = tuple(Explanation(value, _reason(name, query, tuples)) for name, value in shares.items() if value)
    return Explanation(sum(shares.values()), reason, parts, query_nodes, item_nodes, tuple(bindings))


def told(bindings: Iterable[tuple[str, Node]]) -> list[tuple[str, str]]:
    """What each name and wildcard of the query stands for, as a reader would write it: `x`, or `(x + 1)/y²`."""
    return [(_name(label), _written(node)) for label, node in bindings]


def _written(node: Node) -> str:
    if node.label[:2] in ("V!", "N!") and not node.children:
        return _name(node.label)
    text = readable(parse_mathml(present(node)).layout)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _name(label: str) -> str:
    return label[2:] if label[1:2] == "!" else label


def _in_pairs(places: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of both sides, as many on each: a side with fewer repeats its last."""
    left: list[int] = []
    right: list[int] = []
    for a, b in places:
        if a and b:
            longer = max(len(a), len(b))
            left += [*a, *[a[-1]] * (longer - len(a))]
            right += [*b, *[b[-1]] * (longer - len(b))]
    return tuple(left), tuple(right)


def _reason(name: str, query: FormulaQuery, tuples: Counter[str]) -> str:
    """What a part of the score looks at, with what it saw."""
    shared = query.tuples & tuples
    words = {
        "tuples": f"{shared.total()} of {query.tuples.total()} layout tuples are shared",
        "layout": "symbols that stand in the same order and place",
        "operators": "operators and operands in the same order",
        "structure": "the largest common part, with one name for each name",
        "occurrence": "the query occurs in it",
    }
    return words[name]


def aligned(asked: FlatLayout, numbers: Symbols, given: FlatLayout, store: FormulaStore) -> Aligned:
    """The symbols that the layout alignment pairs, and the letters it renames (each by its commonest partner)."""
    pairs = paired(numbers, layout_symbols(given, store))
    names: dict[str, Counter[str]] = {}
    for a, b in pairs:
        if kind(asked.labels[a]) == VARIABLE:
            names.setdefault(asked.labels[a], Counter())[given.labels[b]] += 1
    chosen = [(one, partners.most_common(1)[0][0]) for one, partners in names.items()]
    return Aligned(pairs, [(_name(one), _name(other)) for one, other in chosen if one != other])
