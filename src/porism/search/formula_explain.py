"""Why a formula was found: which symbols of the query stand where in it, under which names, and what each part of the score gave."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from porism.formula.canonical import Level
from porism.formula.match import match
from porism.formula.tree import Node
from porism.index.classes import VARIABLE, kind
from porism.index.features import Features, features
from porism.index.formula_store import FormulaStore
from porism.records import Explanation
from porism.search.alignment import DELETE, DIGITS, INSERT, LETTER, OPEN
from porism.search.formula_query import FormulaQuery

WORDS: dict[Level, str] = {
    "written": "occurs as written",
    "normalised": "occurs in another spelling",
    "commutative": "occurs in another order",
    "renamed": "occurs under other names",
}


class Lit(NamedTuple):
    """Pairs of symbols that match, as numbers in reading order on both sides."""

    pairs: list[tuple[int, int]]
    names: list[tuple[str, str]]


def explain(query: FormulaQuery, store: FormulaStore, row: int, shares: dict[str, float]) -> Explanation:
    """The explanation of the score of a row, given the share of each part."""
    layout, operators = store.trees(row)
    item = features(layout, operators)
    found = match(query.parsed.operators, operators)
    if found is not None:
        places = [(pair.pattern_places, pair.target_places) for pair in found.pairs]
        bindings = [(_name(label), _words(node)) for label, node in found.bindings]
        reason = f"the query {WORDS[found.level]}"
    else:
        lit = aligned(query, item, store)
        places = [(query.features.layout.nodes[a].places, item.layout.nodes[b].places) for a, b in lit.pairs]
        bindings = lit.names
        reason = f"{len(lit.pairs)} of {len(query.features.layout.labels)} symbols match in order"
    query_nodes, item_nodes = _in_pairs(places)
    parts = tuple(Explanation(value, _reason(name, query, item)) for name, value in shares.items() if value)
    return Explanation(sum(shares.values()), reason, parts, query_nodes, item_nodes, tuple(bindings))


def _name(label: str) -> str:
    return label[2:] if label[1:2] == "!" else label


def _words(node: Node) -> str:
    """What a name stands for: `x`, or `plus(x, 1)`."""
    inside = ", ".join(_words(child) for child in node.children)
    return f"{_name(node.label)}({inside})" if inside else _name(node.label)


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


def _reason(name: str, query: FormulaQuery, item: Features) -> str:
    """What a part of the score looks at, with what it saw."""
    shared = query.tuples & Counter(item.tuples)
    words = {
        "tuples": f"{shared.total()} of {query.tuples.total()} layout tuples are shared",
        "layout": "symbols that stand in the same order and place",
        "operators": "operators and operands in the same order",
        "structure": "the largest common part, with one name for each name",
        "occurrence": "the query occurs in it",
    }
    return words[name]


def aligned(query: FormulaQuery, item: Features, store: FormulaStore) -> Lit:
    """The symbols that the layout alignment pairs, and the letters it renames (each by its commonest partner)."""
    asked, given = query.features.layout, item.layout
    weights = query.layout.weights.tolist()
    others = [_weight(label, store) for label in given.labels]
    pairs = _trace(asked.labels, asked.edges, weights, given.labels, given.edges, others)
    names: dict[str, Counter[str]] = {}
    for a, b in pairs:
        if kind(asked.labels[a]) == VARIABLE:
            names.setdefault(asked.labels[a], Counter())[given.labels[b]] += 1
    chosen = [(one, partners.most_common(1)[0][0]) for one, partners in names.items()]
    return Lit(pairs, [(_name(one), _name(other)) for one, other in chosen if one != other])


def _weight(label: str, store: FormulaStore) -> float:
    return float(store.layout_weights[store.labels[label]])


def _trace(
    asked: list[str],
    edges: list[int],
    weights: list[float],
    given: list[str],
    other_edges: list[int],
    others: list[float],
) -> list[tuple[int, int]]:
    """The pairs of the cheapest alignment: the recurrence of `alignment.align`, kept whole so that it can be walked back."""
    # best[x][y] holds, for matched, deleted and inserted as the last step, the cost and the step before it.
    far = (1e9, 0)
    best = [[(far, far, far) for _ in range(len(given) + 1)] for _ in range(len(asked) + 1)]
    best[0][0] = ((0.0, 0), far, far)
    for x in range(len(asked) + 1):
        for y in range(len(given) + 1):
            if x or y:
                best[x][y] = (
                    _matched(best, x, y, asked, edges, weights, given, other_edges) if x and y else far,
                    _step(best[x - 1][y], 1, OPEN, DELETE * weights[x - 1]) if x else far,
                    _step(best[x][y - 1], 2, OPEN if 0 < x < len(asked) else 0.0, INSERT * others[y - 1]) if y else far,
                )
    return _walk_back(best, len(asked), len(given))


Step = tuple[float, int]
Cell = tuple[Step, Step, Step]


def _step(before: Cell, same: int, opened: float, cost: float) -> Step:
    """The cheapest way to go on with a gap."""
    value, last = min((before[at][0] + (0.0 if at == same else opened), at) for at in (same, 0, 3 - same))
    return value + cost, last


def _matched(
    best: list[list[Cell]], x: int, y: int, asked: list[str], edges: list[int], weights: list[float], given: list[str],
    other_edges: list[int],
) -> Step:  # fmt: skip
    one, other = asked[x - 1], given[y - 1]
    if one != other and (kind(one) != kind(other) or not kind(one)):
        return 1e9, 0
    cost = 0.0 if one == other else weights[x - 1] * (LETTER if kind(one) == VARIABLE else DIGITS)
    cost += 0.0 if edges[x - 1] == other_edges[y - 1] else weights[x - 1]
    value, last = min((best[x - 1][y - 1][at][0], at) for at in range(3))
    return value + cost, last


def _walk_back(best: list[list[Cell]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    state = min(range(3), key=lambda at: best[x][y][at][0])
    while x or y:
        before = best[x][y][state][1]
        if state == 0:
            pairs.append((x - 1, y - 1))
        x, y = x - (state != 2), y - (state != 1)
        state = before
    return pairs[::-1]
