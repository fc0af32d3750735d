"""The rules of the canonical form: `rules.tsv` compiled, and the few that need code."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from porism.formula.canonical.terms import Term, hash_text, leaf, make
from porism.formula.tree import Node


class Rule(NamedTuple):
    """A line of the table. `left` and `right` are two spellings that the rule makes one tree."""

    name: str
    kind: str
    source: str
    target: str
    ambiguous: bool
    left: str
    right: str


Places = tuple[int, ...]
# Called with label, operands, places and the list of flags; gives a term in normal form, or None when it does not apply.
Rewrite = Callable[[str, list[Term], Places, list[str]], Term | None]
Pattern = tuple[str, list["Pattern"]]


_TEXT = files("porism.formula.canonical").joinpath("rules.tsv").read_text(encoding="utf-8")
# What the numbers of terms depend on: the rules, and how this Python joins hashes.
PROBE = hash((hash_text(_TEXT), 1))


def _read() -> tuple[Rule, ...]:
    rows = [line.split("\t") for line in _TEXT.splitlines() if line and not line.startswith("#")]
    return tuple(Rule(row[0], row[1], row[2], row[3], row[4] == "yes", row[5], row[6]) for row in rows)


RULES = _read()
_RENAMES = {rule.source: rule.target for rule in RULES if rule.kind == "rename"}
_FLAGGED = {rule.source: rule.name for rule in RULES if rule.kind == "rename" and rule.ambiguous}
_FLIPS = {
    "O!gt": "O!lt",
    "O!geq": "O!leq",
    "O!much-greater": "O!much-less",
    "O!superset": "O!subset",
    "O!superseteq": "O!subseteq",
    "O!supersetneq": "O!subsetneq",
    "O!contains": "O!in",
    "O!succeeds": "O!precedes",
    "O!succeeds-eq": "O!precedes-eq",
    "O!implied-by": "O!implies",
    "O!from": "O!to",
    "O!defines": "O!assign",
}
_FORWARD = frozenset(_FLIPS.values())
_PRIMES = {"1": "O!prime", "2": "O!prime-2", "3": "O!prime-3"}


def normal(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term:
    """The normal form of a node whose operands are in normal form."""
    label = _RENAMES.get(label, label)
    rewrites = _REWRITES.get(label)
    if rewrites is not None:
        for rewrite in rewrites:
            made = rewrite(label, kids, places, flags)
            if made is not None:
                return made
    return make(label, kids, places)


_leaves: dict[str, Term] = {}


def normal_leaf(label: str) -> Term:
    """The normal form of a node without operands; shared, so without places."""
    found = _leaves.get(label)
    if found is None:
        if len(_leaves) > 50_000:
            _leaves.clear()
        found = _leaves[label] = _leaf(label, ())
    return found


def _leaf(label: str, places: Places) -> Term:
    if label[:3] == "N!.":
        return leaf("N!0" + label[2:], places)
    if label == "M!S-0":
        return leaf("C!emptyset", places)
    return leaf(_RENAMES.get(label, label), places)


def normalise(tree: Node, flags: list[str]) -> Term:
    """The normal form of an operator tree; ambiguous rewrites add their names to `flags`."""
    order = [tree]
    for node in order:
        if node.children:
            order += node.children
    # Breadth first: walking backwards, the operands of a node are the terms just before those of the node read before it.
    done: list[Term] = [_BLANK] * len(order)
    end = at = len(order)
    for node in reversed(order):
        at -= 1
        count = len(node.children)
        label = node.label
        if count:
            if label in _FLAGGED:
                flags.append(_FLAGGED[label])
            done[at] = normal(label, done[end - count : end], node.places, flags)
            end -= count
        else:
            known = _leaves.get(label) or normal_leaf(label)
            done[at] = Term(known.label, (), node.places, known.plain, known.mixed, known.shape, known.spots)
    return done[0]


_BLANK = leaf("W!")


def _subtract(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    if len(kids) < 2:
        return None
    rest = [normal("O!minus", [kid], places, flags) for kid in kids[1:]]
    return normal("U!plus", [kids[0], *rest], places, flags)


def _flatten(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    if len(kids) < 2 or not any(kid.label == label and kid.kids for kid in kids):
        return None
    flat: list[Term] = []
    for kid in kids:
        if kid.label == label and kid.kids:
            flat.extend(kid.kids)
            places += kid.places
        else:
            flat.append(kid)
    return normal(label, flat, places, flags)


def _sign_out(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    """Minus signs of factors go before the product."""
    negative = [kid for kid in kids if kid.label == "O!minus" and len(kid.kids) == 1]
    if not negative:
        return None
    factors = [kid.kids[0] if kid.label == "O!minus" and len(kid.kids) == 1 else kid for kid in kids]
    product = normal(label, factors, places, flags)
    if len(negative) % 2 == 0:
        return product
    return normal("O!minus", [product], negative[0].places, flags)


def _number_fraction(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    """A fraction of two numbers among factors takes the other factors into its numerator, and so does a number over anything among
    numbers."""
    if len(kids) < 2:
        return None
    for at, kid in enumerate(kids):
        if kid.label == "O!divide" and len(kid.kids) == 2 and kid.kids[0].label[:2] == "N!":
            others = [*kids[:at], *kids[at + 1 :]]
            if kid.kids[1].label[:2] == "N!" or all(other.label[:2] == "N!" for other in others):
                factors = [*kids[:at], kid.kids[0], *kids[at + 1 :]]
                above = normal("U!times", factors, places, flags)
                return normal("O!divide", [above, kid.kids[1]], kid.places, flags)
    return None


def _unit_factor(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    if len(kids) < 2 or not any(kid.label == "N!1" for kid in kids):
        return None
    factors = [kid for kid in kids if kid.label != "N!1"] or kids[:1]
    return factors[0] if len(factors) == 1 else normal(label, factors, places, flags)


def _index_name(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    """`x_1` and `x_{\\text{max}}` are names."""
    if len(kids) == 2 and kids[0].label[:2] == "V!" and kids[1].label[:2] in ("N!", "T!"):
        return leaf(f"{kids[0].label}_{kids[1].label[2:]}", kids[0].places + kids[1].places)
    return None


def _derivative(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    """`df/dx` and `d f(x)/dx` are `f'(x)`; the order of the derivative is the number of primes."""
    what, by = kids[0], kids[1] if len(kids) > 1 else _BLANK
    order = kids[2].label[2:] if len(kids) == 3 else "1"
    called = what.label == "O!apply" and len(what.kids) == 2 and what.kids[1].plain == by.plain
    name = what.kids[0] if called else what
    if name.label[:2] != "V!" or by.label[:2] != "V!" or order not in _PRIMES:
        return None
    return normal("O!apply", [normal(_PRIMES[order], [name], places, flags), by], what.places if called else (), flags)


def _flip(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    if len(kids) < 2:
        return None
    return normal(_FLIPS[label], kids[::-1], places, flags)


def _flip_chain(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
    """A chain that only goes down is turned round; a chain of one kind is one node."""
    relations = kids[1::2]
    names = [kid.label for kid in relations]
    if any(name[:2] not in ("O!", "U!") for name in names):
        return None
    if any(name in _FLIPS for name in names) and not any(name in _FORWARD for name in names):
        turned = [make(_FLIPS.get(kid.label, kid.label), kid.kids, kid.places) for kid in relations]
        kids = list(kids)
        kids[1::2] = turned
        return normal(label, kids[::-1], places, flags)
    if len(set(names)) == 1 and not any(kid.kids for kid in relations):
        return normal(names[0], kids[::2], sum((kid.places for kid in relations), places), flags)
    return None


_CODE: dict[str, Rewrite] = {
    "subtract": _subtract,
    "flatten": _flatten,
    "sign_out": _sign_out,
    "number_fraction": _number_fraction,
    "unit_factor": _unit_factor,
    "index_name": _index_name,
    "derivative": _derivative,
    "flip": _flip,
    "flip_chain": _flip_chain,
}
_TOKEN = re.compile(r"[^\s(),]+|[(),]")


def _parse(text: str) -> Pattern:
    """`O!SUP(V!e, x)` as nested pairs of label and operands; a label without `!` stands for any part."""
    tokens = _TOKEN.findall(text)
    at = 0

    def term() -> Pattern:
        nonlocal at
        label = tokens[at]
        at += 1
        operands = []
        if at < len(tokens) and tokens[at] == "(":
            while tokens[at] != ")":
                at += 1
                operands.append(term())
            at += 1
        return label, operands

    return term()


def _fits(pattern: Pattern, term: Term, found: dict[str, Term]) -> bool:
    label, operands = pattern
    if "!" not in label:
        known = found.setdefault(label, term)
        return known is term or known.plain == term.plain
    if term.label != label or len(term.kids) != len(operands):
        return False
    return all(_fits(part, kid, found) for part, kid in zip(operands, term.kids, strict=True))


def _compile(rule: Rule) -> Rewrite:
    _, operands = _parse(rule.source)
    target = _parse(rule.target)
    count = len(operands)
    # The operand whose label rules out most: looked at before anything else.
    at, first = next(((at, part[0]) for at, part in enumerate(operands) if "!" in part[0]), (0, ""))

    def rewrite(label: str, kids: list[Term], places: Places, flags: list[str]) -> Term | None:
        if len(kids) != count or (first and kids[at].label != first):
            return None
        found: dict[str, Term] = {}
        for part, kid in zip(operands, kids, strict=True):
            if not _fits(part, kid, found):
                return None
        if rule.ambiguous:
            flags.append(rule.name)
        return build(target, places)(found, flags)

    def build(pattern: Pattern, places: Places) -> Callable[[dict[str, Term], list[str]], Term]:
        label, parts = pattern

        def made(found: dict[str, Term], flags: list[str]) -> Term:
            if "!" not in label:
                return found[label]
            inner = [build(part, places)(found, flags) for part in parts]
            return normal(label, inner, places, flags) if inner else _leaf(label, places)

        return made

    return rewrite


def _table() -> dict[str, tuple[Rewrite, ...]]:
    table: dict[str, list[Rewrite]] = {}
    for rule in RULES:
        if rule.kind == "rewrite" and "(" in rule.source:
            table.setdefault(rule.source.partition("(")[0], []).append(_compile(rule))
        elif rule.kind == "code" and rule.target in _CODE:
            for label in rule.source.split(" "):
                table.setdefault(label, []).append(_CODE[rule.target])
    return {label: tuple(dict.fromkeys(rewrites)) for label, rewrites in table.items()}


_REWRITES = _table()
