"""Explanations of formula hits: which symbols match, under which names, and what each feature adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from porism.analysis.features import FlatLayout, flat_layout
from porism.analysis.paths import VARIABLE, symbol_kind
from porism.formula import parse_mathml
from porism.formula.binary import unpack
from porism.formula.canonical.forms import Level
from porism.formula.match.matcher import match
from porism.formula.mathml.presentation import to_presentation
from porism.formula.plaintext import readable
from porism.formula.tree import Node
from porism.records import Binding, Explanation
from porism.search.formulas.alignment import SymbolPair, matched_pairs
from porism.search.formulas.features import FEATURES, FormulaContext
from porism.search.formulas.query import layout_symbols
from porism.store.protocols import SymbolTable

LEVEL_REASONS: dict[Level, str] = {
    "written": "the query occurs as written",
    "normalised": "the query occurs in another notation",
    "commutative": "the query occurs with its operands in another order",
    "renamed": "the query occurs with other variable names",
}
MAX_VALUE_LENGTH = 60  # characters of the value of a binding


class NodePair(NamedTuple):
    """MathML elements of the query, and those of the formula that match them."""

    query: tuple[int, ...]
    item: tuple[int, ...]


def explain_hit(
    context: FormulaContext, table: SymbolTable, trees: bytes, contributions: Sequence[float]
) -> Explanation:
    """Explain the score of a formula, given its packed trees, from the contributions of the FEATURES."""
    query = context.query
    layout, operators = unpack(trees)
    found = match(query.parsed.operators, operators)
    if found is not None:
        nodes = [NodePair(pair.pattern_places, pair.target_places) for pair in found.pairs]
        bindings = readable_bindings(found.bindings)
        reason = LEVEL_REASONS[found.level]
    else:
        symbols, item_symbols = query.features.layout, flat_layout(layout)
        pairs = matched_pairs(query.layout, layout_symbols(item_symbols, table))
        nodes = [NodePair(symbols.nodes[a].places, item_symbols.nodes[b].places) for a, b in pairs]
        bindings = renamed_variables(symbols, item_symbols, pairs)
        reason = f"{len(pairs)} of {len(symbols.labels)} symbols match in order"
    query_nodes, item_nodes = _same_length(nodes)
    parts = tuple(
        Explanation(value, feature.explain(context, layout))
        for feature, value in zip(FEATURES, contributions, strict=True)
        if value
    )
    return Explanation(sum(contributions), reason, parts, query_nodes, item_nodes, tuple(bindings))


def readable_bindings(bindings: Iterable[tuple[str, Node]]) -> list[Binding]:
    """Return the value of each variable and wildcard of the query as a reader would write it: `x`, or `(x + 1)/y²`."""
    return [Binding(_name(label), _readable(node)) for label, node in bindings]


def _readable(node: Node) -> str:
    if node.label[:2] in ("V!", "N!") and not node.children:
        return _name(node.label)
    text = readable(parse_mathml(to_presentation(node)).layout)
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…"


def _name(label: str) -> str:
    return label[2:] if label[1:2] == "!" else label


def _same_length(pairs: Iterable[NodePair]) -> NodePair:
    """Join pairs; where one side has fewer elements, repeat its last, so that both sides have the same length."""
    query: list[int] = []
    item: list[int] = []
    for a, b in pairs:
        if a and b:
            longer = max(len(a), len(b))
            query += [*a, *[a[-1]] * (longer - len(a))]
            item += [*b, *[b[-1]] * (longer - len(b))]
    return NodePair(tuple(query), tuple(item))


def renamed_variables(query: FlatLayout, item: FlatLayout, pairs: Iterable[SymbolPair]) -> list[Binding]:
    """Return the variables that an alignment renames, each with the name it is paired with most often."""
    partners: dict[str, Counter[str]] = {}
    for pair in pairs:
        name = query.labels[pair.query]
        if symbol_kind(name) == VARIABLE:
            partners.setdefault(name, Counter())[item.labels[pair.item]] += 1
    chosen = [(name, counts.most_common(1)[0][0]) for name, counts in partners.items()]
    return [Binding(_name(name), _name(other)) for name, other in chosen if name != other]
