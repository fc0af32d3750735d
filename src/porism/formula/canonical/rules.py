"""Rewrite operator trees to normal form: the rules of `rules.tsv`, and the few rules that need code."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from porism.formula.canonical.hashed import HashedNode, hashed_leaf, hashed_node
from porism.formula.tree import Node


class Rule(NamedTuple):
    """A row of `rules.tsv`. `left` and `right` are two spellings to which the rule gives one tree."""

    name: str
    kind: str
    source: str
    target: str
    ambiguous: bool
    left: str
    right: str


Places = tuple[int, ...]
# Takes label, operands, places and the list of flags; returns a node in normal form, or None when the rule does not
# apply.
Rewrite = Callable[[str, list[HashedNode], Places, list[str]], HashedNode | None]
Pattern = tuple[str, list["Pattern"]]


_LINES = files("porism.formula.canonical").joinpath("rules.tsv").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split("\t") for line in _LINES if line and not line.startswith("#")]
RULES = tuple(Rule(row[0], row[1], row[2], row[3], row[4] == "yes", row[5], row[6]) for row in _ROWS)
_RENAMES = {rule.source: rule.target for rule in RULES if rule.kind == "rename"}
_AMBIGUOUS = {rule.source: rule.name for rule in RULES if rule.kind == "rename" and rule.ambiguous}
# Relations and their mirror images: `a > b` becomes `b < a`.
_MIRRORED = {
    "O!gt": "O!lt", "O!geq": "O!leq", "O!much-greater": "O!much-less", "O!superset": "O!subset",
    "O!superseteq": "O!subseteq", "O!supersetneq": "O!subsetneq", "O!contains": "O!in", "O!succeeds": "O!precedes",
    "O!succeeds-eq": "O!precedes-eq", "O!implied-by": "O!implies", "O!from": "O!to", "O!defines": "O!assign",
}  # fmt: skip
_FORWARD = frozenset(_MIRRORED.values())
_PRIMES = {"1": "O!prime", "2": "O!prime-2", "3": "O!prime-3"}


def normal(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode:
    """Return the normal form of a node whose operands are in normal form."""
    label = _RENAMES.get(label, label)
    rewrites = _REWRITES.get(label)
    if rewrites is not None:
        for rewrite in rewrites:
            made = rewrite(label, operands, places, flags)
            if made is not None:
                return made
    return hashed_node(label, operands, places)


_leaves: dict[str, HashedNode] = {}
_MAX_LEAVES = 50_000


def normal_leaf(label: str) -> HashedNode:
    """Return the normal form of a node without operands. It is shared between formulas, so it has no places."""
    found = _leaves.get(label)
    if found is None:
        if len(_leaves) > _MAX_LEAVES:
            _leaves.clear()
        found = _leaves[label] = _leaf(label, ())
    return found


def _leaf(label: str, places: Places) -> HashedNode:
    if label[:3] == "N!.":
        return hashed_leaf("N!0" + label[2:], places)
    if label == "M!S-0":
        label = "C!emptyset"
    return hashed_leaf(_RENAMES.get(label, label), places)


def normalise(tree: Node, flags: list[str]) -> HashedNode:
    """Return the normal form of an operator tree. Ambiguous rules that apply add their names to `flags`."""
    order = [tree]
    for node in order:
        if node.children:
            order += node.children
    # Breadth first. Going backwards, the operands of a node come just before those of the node handled before it.
    done: list[HashedNode] = [_MISSING] * len(order)
    end = at = len(order)
    for node in reversed(order):
        at -= 1
        count = len(node.children)
        label = node.label
        if count:
            if label in _AMBIGUOUS:
                flags.append(_AMBIGUOUS[label])
            done[at] = normal(label, done[end - count : end], node.places, flags)
            end -= count
        else:
            leaf = _leaves.get(label) or normal_leaf(label)
            done[at] = HashedNode(
                leaf.label, (), node.places, leaf.normalised, leaf.commutative, leaf.shape, leaf.variables
            )
    return done[0]


_MISSING = hashed_leaf("W!")


def _subtract(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Rewrite a difference as a sum: `a-b` is `a+(-b)`."""
    if len(operands) < 2:
        return None
    rest = [normal("O!minus", [operand], places, flags) for operand in operands[1:]]
    return normal("U!plus", [operands[0], *rest], places, flags)


def _flatten(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Merge a sum in a sum, a product in a product: `a+(b+c)` is `a+b+c`."""
    if len(operands) < 2 or not any(operand.label == label and operand.operands for operand in operands):
        return None
    flat: list[HashedNode] = []
    for operand in operands:
        if operand.label == label and operand.operands:
            flat.extend(operand.operands)
            places += operand.places
        else:
            flat.append(operand)
    return normal(label, flat, places, flags)


def _sign_out(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Move the minus signs of factors before the product."""
    negative = [one for one in operands if one.label == "O!minus" and len(one.operands) == 1]
    if not negative:
        return None
    factors = [one.operands[0] if one.label == "O!minus" and len(one.operands) == 1 else one for one in operands]
    product = normal(label, factors, places, flags)
    if len(negative) % 2 == 0:
        return product
    return normal("O!minus", [product], negative[0].places, flags)


def _number_fraction(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Move factors into the numerator of a numeric fraction: `½x` is `x/2`, and `2·(1/x)` is `2/x`."""
    if len(operands) < 2:
        return None
    for at, operand in enumerate(operands):
        if operand.label == "O!divide" and len(operand.operands) == 2 and operand.operands[0].label[:2] == "N!":
            others = [*operands[:at], *operands[at + 1 :]]
            if operand.operands[1].label[:2] == "N!" or all(other.label[:2] == "N!" for other in others):
                factors = [*operands[:at], operand.operands[0], *operands[at + 1 :]]
                above = normal("U!times", factors, places, flags)
                return normal("O!divide", [above, operand.operands[1]], operand.places, flags)
    return None


def _unit_factor(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Drop factors of one."""
    if len(operands) < 2 or not any(operand.label == "N!1" for operand in operands):
        return None
    factors = [operand for operand in operands if operand.label != "N!1"] or operands[:1]
    return factors[0] if len(factors) == 1 else normal(label, factors, places, flags)


def _index_name(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Make `x_1` and `x_{\\text{max}}` names of variables."""
    if len(operands) == 2 and operands[0].label[:2] == "V!" and operands[1].label[:2] in ("N!", "T!"):
        return hashed_leaf(f"{operands[0].label}_{operands[1].label[2:]}", operands[0].places + operands[1].places)
    return None


def _derivative(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Rewrite `df/dx` and `d f(x)/dx` as `f'(x)`. The order of the derivative is the number of primes."""
    what, by = operands[0], operands[1] if len(operands) > 1 else _MISSING
    order = operands[2].label[2:] if len(operands) == 3 else "1"
    called = what.label == "O!apply" and len(what.operands) == 2 and what.operands[1].normalised == by.normalised
    name = what.operands[0] if called else what
    if name.label[:2] != "V!" or by.label[:2] != "V!" or order not in _PRIMES:
        return None
    return normal("O!apply", [normal(_PRIMES[order], [name], places, flags), by], what.places if called else (), flags)


def _mirror(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Rewrite `a > b` as `b < a`."""
    if len(operands) < 2:
        return None
    return normal(_MIRRORED[label], operands[::-1], places, flags)


def _mirror_chain(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
    """Reverse a chain of `>` and `≥`. Make a chain of one relation one node."""
    relations = operands[1::2]
    names = [operand.label for operand in relations]
    if any(name[:2] not in ("O!", "U!") for name in names):
        return None
    if any(name in _MIRRORED for name in names) and not any(name in _FORWARD for name in names):
        turned = [hashed_node(_MIRRORED.get(one.label, one.label), one.operands, one.places) for one in relations]
        operands = list(operands)
        operands[1::2] = turned
        return normal(label, operands[::-1], places, flags)
    if len(set(names)) == 1 and not any(operand.operands for operand in relations):
        return normal(names[0], operands[::2], sum((operand.places for operand in relations), places), flags)
    return None


_CODE: dict[str, Rewrite] = {
    "subtract": _subtract,
    "flatten": _flatten,
    "sign_out": _sign_out,
    "number_fraction": _number_fraction,
    "unit_factor": _unit_factor,
    "index_name": _index_name,
    "derivative": _derivative,
    "mirror": _mirror,
    "mirror_chain": _mirror_chain,
}
_TOKEN = re.compile(r"[^\s(),]+|[(),]")


def _parse(text: str) -> Pattern:
    """Parse `O!SUP(V!e, x)` to nested pairs of label and operands. A label without `!` matches any sub-expression."""
    tokens = _TOKEN.findall(text)
    at = 0

    def pattern() -> Pattern:
        nonlocal at
        label = tokens[at]
        at += 1
        operands = []
        if at < len(tokens) and tokens[at] == "(":
            while tokens[at] != ")":
                at += 1
                operands.append(pattern())
            at += 1
        return label, operands

    return pattern()


def _fits(pattern: Pattern, node: HashedNode, bound: dict[str, HashedNode]) -> bool:
    """Match a pattern with a node and note in `bound` what each of its letters matches."""
    label, operands = pattern
    if "!" not in label:
        known = bound.setdefault(label, node)
        return known is node or known.normalised == node.normalised
    if node.label != label or len(node.operands) != len(operands):
        return False
    return all(_fits(part, operand, bound) for part, operand in zip(operands, node.operands, strict=True))


def _build(pattern: Pattern, bound: dict[str, HashedNode], places: Places, flags: list[str]) -> HashedNode:
    """Build the normal form of a pattern from what its letters match."""
    label, parts = pattern
    if "!" not in label:
        return bound[label]
    operands = [_build(part, bound, places, flags) for part in parts]
    return normal(label, operands, places, flags) if operands else _leaf(label, places)


def _compile(rule: Rule) -> Rewrite:
    """Turn a row of kind `rewrite` into a function."""
    _, patterns = _parse(rule.source)
    target = _parse(rule.target)
    count = len(patterns)
    # The first operand with a fixed label is checked before anything else: it rules out most nodes.
    at, first = next(((at, part[0]) for at, part in enumerate(patterns) if "!" in part[0]), (0, ""))

    def rewrite(label: str, operands: list[HashedNode], places: Places, flags: list[str]) -> HashedNode | None:
        if len(operands) != count or (first and operands[at].label != first):
            return None
        bound: dict[str, HashedNode] = {}
        for part, operand in zip(patterns, operands, strict=True):
            if not _fits(part, operand, bound):
                return None
        if rule.ambiguous:
            flags.append(rule.name)
        return _build(target, bound, places, flags)

    return rewrite


def _table() -> dict[str, tuple[Rewrite, ...]]:
    """Return the rewrites that may apply to each label, in the order of the rules."""
    table: dict[str, list[Rewrite]] = {}
    for rule in RULES:
        if rule.kind == "rewrite" and "(" in rule.source:
            table.setdefault(rule.source.partition("(")[0], []).append(_compile(rule))
        elif rule.kind == "code" and rule.target in _CODE:
            for label in rule.source.split(" "):
                table.setdefault(label, []).append(_CODE[rule.target])
    return {label: tuple(dict.fromkeys(rewrites)) for label, rewrites in table.items()}


_REWRITES = _table()
