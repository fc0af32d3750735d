"""Differentials, integrals and derivatives."""

from __future__ import annotations

from typing import NamedTuple

from porism.formula.operators.scripts import PLAIN, Parser
from porism.formula.operators.table import INT, REL, SEP, SYMBOLS
from porism.formula.tree import Node, chain, row_of

_D = frozenset(("V!d", "T!d", "V!𝕕", "V!ⅆ", "V!𝐝", "V!𝖽", "V!𝚍", "𝑑", "d", "ⅆ"))
_PARTIAL = frozenset(("∂", "V!∂", "𝜕"))
_INTEGRAL_COUNTS = {"O!double-integral": 2, "O!triple-integral": 3, "O!quadruple-integral": 4}
DERIVATIVE_STARTS = _D | _PARTIAL  # the first tokens of a derivative typed with a slash
_SLASHES = frozenset(("/", "∕"))
# With more integrals inside integrals than this, the signs are read as plain prefixes.
_NESTED = 8


def differential(tokens: list[Node], at: int) -> int:
    """Return the number of tokens of a differential here (`d x`, `d μ (x)`, `dx`); 0 when none begins."""
    token = tokens[at]
    label = token.label
    if label in _D:
        if at + 1 >= len(tokens):
            return 0
        following = tokens[at + 1].label
        if following[:1] == "?" and len(following) > 1 and token.edges in PLAIN:
            return 2
        if following[:2] == "V!" and len(following) == 3 and (token.edges in PLAIN or "a" in token.edges):
            if at + 2 < len(tokens) and tokens[at + 2].label == "M!()1x1" and following != "V!x":
                return 3
            return 2
        if following[:2] == "M!" and token.edges in PLAIN and following[-3:] == "1x1":
            return 2
        return 0
    return 1 if label[:3] in ("V!d", "T!d") and len(label) == 4 and token.edges in PLAIN else 0


def variable(parser: Parser, tokens: list[Node]) -> Node:
    """Return the variable of a differential from all its tokens."""
    if len(tokens) == 1:
        token = tokens[0]
        return Node("V!" + token.label[3:], None, "", token.places)
    named = parser.row(tokens[1:])
    order = tokens[0].child("a")
    return named if order is None else Node("O!measure", [named, parser.chain(order)])


class Span(NamedTuple):
    """The positions of the first token and of the one after the last."""

    start: int
    end: int


def closing_differentials(tokens: list[Node], start: int) -> Span | None:
    """Return the positions of the differentials that close an integral whose sign is just before `start`."""
    depth = 0
    at = start
    size = len(tokens)
    while at < size:
        symbol = SYMBOLS.get(tokens[at].label)
        if symbol is not None:
            if symbol.form == INT:
                depth += _INTEGRAL_COUNTS.get(symbol.label, 1)
                if depth > _NESTED:
                    return None
            elif symbol.form in (REL, SEP):
                return None
        else:
            count = differential(tokens, at)
            if count and depth:
                depth -= 1
                at += count
                continue
            if count:
                end = at + count
                while end < size and (more := differential(tokens, end)):
                    end += more
                return Span(at, end)
        at += 1
    return None


def integral(parser: Parser, label: str, body: list[Node], differentials: list[Node]) -> list[Node]:
    """Return the body and the variables of an integral."""
    names = []
    at = 0
    while at < len(differentials):
        count = differential(differentials, at) or 1
        names.append(variable(parser, differentials[at : at + count]))
        at += count
    value = parser.row(body) if body else Node("N!1")
    return [value, names[0] if len(names) == 1 else Node(f"M!L-{len(names)}", names)]


def fraction_with_differential(tokens: list[Node], start: int) -> int:
    """Return the position of the `dx / ...` that closes the integral before `start`; -1 without one."""
    for at in range(start, len(tokens)):
        token = tokens[at]
        if token.label == "O!divide":
            row = row_of(token.children[token.edges.index("o")])
            if len(row) > 1 and differential(row, len(row) - 2) == 2:
                return at
        else:
            symbol = SYMBOLS.get(token.label)
            if symbol is not None and symbol.form in (REL, SEP, INT):
                return -1
    return -1


class SplitFraction(NamedTuple):
    """A fraction without the differential in its numerator, and the differential."""

    fraction: Node
    differential: list[Node]


def split_numerator(token: Node) -> SplitFraction:
    """Take the differential out of the numerator of a fraction."""
    row = [_bare(node) for node in row_of(token.children[token.edges.index("o")])]
    taken, rest = row[-2:], row[:-2]
    over = chain(rest) if rest else Node("N!1")
    under = token.children[token.edges.index("u")]
    scripts = [(e, c) for e, c in zip(token.edges, token.children, strict=True) if e not in "noue"]
    edges = "".join(edge for edge, _ in scripts)
    fraction = Node("O!divide", [over, under, *(c for _, c in scripts)], "ou" + edges, token.places)
    return SplitFraction(fraction, taken)


def _bare(node: Node) -> Node:
    """Return a copy of a token without what follows it."""
    if node.edges[:1] != "n":
        return node
    return Node(node.label, node.children[1:], node.edges[1:], node.places)


class SlashedDerivative(NamedTuple):
    """`dy/dx` typed with a slash as a fraction, and the position after it."""

    fraction: Node
    end: int


def slashed_derivative(tokens: list[Node], at: int) -> SlashedDerivative | None:
    """Read `dy/dx` or `d/dx` typed with a slash as a fraction; None when none begins here."""
    marks = _D if tokens[at].label in _D else _PARTIAL
    for slash in (at + 2, at + 1):
        end = slash + 3
        if (
            end <= len(tokens)
            and tokens[slash].label in _SLASHES
            and tokens[slash + 1].label in marks
            and tokens[slash + 1].edges == "n"
            and all(
                token.label[:2] == "V!" and len(token.label) == 3
                for token in (*tokens[at + 1 : slash], tokens[slash + 2])
            )
        ):
            over, under = ([_bare(token) for token in part] for part in (tokens[at:slash], tokens[slash + 1 : end]))
            children, edges = [chain(over), chain(under)], "ou"
            if end < len(tokens):
                children, edges = [tokens[end], *children], "nou"
            return SlashedDerivative(Node("O!divide", children, edges, tokens[slash].places), end)
    return None


class Derivative(NamedTuple):
    """A fraction read as a derivative: by what, of which order, and of what (None when that follows the fraction)."""

    label: str
    by: Node
    order: Node | None
    of: Node | None
    places: tuple[int, ...]

    def node(self, of: Node) -> Node:
        """Return the operator node: of what, by what, of which order."""
        children = [of, self.by] if self.order is None else [of, self.by, self.order]
        return Node(self.label, children, "", self.places)


def derivative(parser: Parser, over: Node, under: Node, places: tuple[int, ...]) -> Derivative | None:
    """Read a fraction such as `d/dx`, `dy/dx`, `d²y/dx²`, `∂²f/∂x∂y` as a derivative; None for a plain fraction."""
    first = over.label
    if first in _D:
        marks, label = _D, "O!diff"
    elif first in _PARTIAL:
        marks, label = _PARTIAL, "O!partialdiff"
    else:
        return None
    below = row_of(under)
    if below[0].label not in marks or len(below) < 2:
        return None
    names: list[Node] = []
    for token in below:
        if token.label in marks:
            places += token.places
        else:
            names.append(token)
    above = row_of(over)
    if len(names) > 6 or any(token.label in marks for token in above[1:]):
        return None
    order = over.child("a") or over.child("o")
    if order is not None and len(names) == 1 and "a" in names[0].edges:
        # The exponent of `dx²` repeats the order, which the numerator has.
        token, at = names[0], names[0].edges.index("a")
        children, edges = token.children[:at] + token.children[at + 1 :], token.edges[:at] + token.edges[at + 1 :]
        names = [Node(token.label, children, edges, token.places)]
    by = [parser.row([token]) for token in names]
    whole = by[0] if len(by) == 1 else Node(f"M!L-{len(by)}", by)
    of = parser.row(above[1:]) if len(above) > 1 else None
    return Derivative(label, whole, parser.chain(order) if order is not None else None, of, over.places + places)
