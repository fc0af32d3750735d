"""The search behind `match`: backtracking over operands, cut short by the numbers of terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.formula.canonical.forms import Level
from porism.formula.canonical.hashed import HashedNode, hashed_leaf, hashed_node, label_of
from porism.formula.tree import Node


class Pair(NamedTuple):
    """A node of the pattern and the node of the formula that it stands for: labels and places of both."""

    pattern: str
    target: str
    pattern_places: tuple[int, ...]
    target_places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern occurs. `bindings` has what each wildcard and, at level `renamed`, each exchanged variable stands for."""

    level: Level
    whole: bool
    pairs: tuple[Pair, ...]
    bindings: tuple[tuple[str, Node], ...]


class Exhausted(Exception):
    """The search took more steps than it was given."""


# Pairs found so far, the last first; shared between the branches of the search.
Trail = tuple["Trail", HashedNode, HashedNode] | None


class State(NamedTuple):
    """What is bound so far: wildcards, variables in both directions, pairs."""

    wild: dict[str, HashedNode]
    forth: dict[str, str]
    back: dict[str, str]
    trail: Trail

    def add(self, pattern: HashedNode, target: HashedNode) -> State:
        """The state with one more pair."""
        return State(self.wild, self.forth, self.back, (self.trail, pattern, target))


_START = State({}, {}, {}, None)


def is_wildcard(label: str) -> bool:
    """Whether a label of a pattern stands for anything."""
    return label[:1] == "?" and len(label) > 1


class Search:
    """A search for a pattern in a formula at one level."""

    def __init__(self, level: Level, pattern: HashedNode, target: HashedNode, left: int) -> None:
        self.level = level
        self.pattern = pattern
        self.target = target
        self.left = left
        self.free = level in ("commutative", "renamed")
        self.rename = level == "renamed"
        self.numbers: dict[int, int] = {}
        self.open = _with_wildcards(pattern)

    def run(self, whole: bool) -> Match | None:
        """Try the whole formula, then every sub-expression from the root down."""
        pattern, target = self.pattern, self.target
        for state in self.term(pattern, target, _START):
            return self.made(state, True)
        if whole:
            return None
        anything = is_wildcard(pattern.label) or (self.rename and pattern.label[:2] == "V!")
        order = [target]
        for term in order:
            order.extend(term.operands)
        for term in order:
            same = term.label == pattern.label
            if (same or anything) and term is not target:
                for state in self.term(pattern, term, _START):
                    return self.made(state, False)
            if same or term.label == "O!chain":
                for state in self.part(pattern, term):
                    return self.made(state, False)
        return None

    def made(self, state: State, whole: bool) -> Match:
        """The match of a finished search."""
        pairs = []
        trail = state.trail
        while trail is not None:
            trail, p, t = trail
            pairs.append(Pair(p.label, t.label, p.places, _places(t) if is_wildcard(p.label) else t.places))
        bindings = [(name, term.tree()) for name, term in state.wild.items()]
        bindings += [(name, Node(other)) for name, other in state.forth.items()]
        return Match(self.level, whole, tuple(reversed(pairs)), tuple(bindings))

    def number(self, term: HashedNode) -> int:
        """What two closed terms must share to be equal at this level, names of variables aside."""
        if not self.free:
            return term.normalised
        if not self.rename:
            return term.commutative
        found = self.numbers.get(id(term))
        if found is None:
            found = self.numbers[id(term)] = term.renamed()
        return found

    def step(self) -> None:
        """Count a step of the search."""
        self.left -= 1
        if self.left < 0:
            raise Exhausted

    def term(self, pattern: HashedNode, target: HashedNode, state: State) -> Iterator[State]:
        """All ways in which a pattern is a term."""
        self.step()
        if is_wildcard(pattern.label):
            yield from self.bind(pattern, target, state)
        elif self.rename and pattern.label[:2] == "V!" and not pattern.operands:
            yield from self.exchange(pattern, target, state)
        elif pattern.label == target.label and bool(pattern.operands) == bool(target.operands):
            closed = id(pattern) not in self.open
            if closed and self.number(pattern) != self.number(target):
                return
            if closed and not self.rename:
                yield self.equal(pattern, target, state)
                return
            state = state.add(pattern, target)
            if not pattern.operands:
                yield state
            elif self.free and label_of(pattern.label).commutative:
                yield from self.some(list(pattern.operands), list(target.operands), state, pattern.label, partly=False)
            elif len(pattern.operands) == len(target.operands):
                yield from self.row(pattern.operands, target.operands, state)

    def equal(self, pattern: HashedNode, target: HashedNode, state: State) -> State:
        """Pair the parts of two terms known to be equal."""
        stack = [(pattern, target)]
        while stack:
            p, t = stack.pop()
            state = state.add(p, t)
            left, right = p.operands, t.operands
            if self.free and label_of(p.label).commutative:
                left = sorted(left, key=lambda term: term.commutative)
                right = sorted(right, key=lambda term: term.commutative)
            stack.extend(reversed(list(zip(left, right, strict=True))))
        return state

    def bind(self, pattern: HashedNode, target: HashedNode, state: State) -> Iterator[State]:
        """A wildcard stands for the same sub-expression everywhere, never for an operand that was left out."""
        if target.label == "W!":
            return
        known = state.wild.get(pattern.label)
        if known is not None and (
            known.commutative != target.commutative if self.free else known.normalised != target.normalised
        ):
            return
        wild = state.wild if known is not None else {**state.wild, pattern.label: target}
        yield State(wild, state.forth, state.back, (state.trail, pattern, target))

    def exchange(self, pattern: HashedNode, target: HashedNode, state: State) -> Iterator[State]:
        """A variable for a variable, one for one."""
        if target.label[:2] != "V!" or target.operands:
            return
        known = state.forth.get(pattern.label)
        if known == target.label:
            yield state.add(pattern, target)
        elif known is None and target.label not in state.back:
            forth = {**state.forth, pattern.label: target.label}
            back = {**state.back, target.label: pattern.label}
            yield State(state.wild, forth, back, (state.trail, pattern, target))

    def row(self, patterns: Sequence[HashedNode], targets: Sequence[HashedNode], state: State) -> Iterator[State]:
        """Operands in order."""
        if not patterns:
            yield state
            return
        for made in self.term(patterns[0], targets[0], state):
            yield from self.row(patterns[1:], targets[1:], made)

    def some(
        self, patterns: list[HashedNode], targets: list[HashedNode], state: State, label: str, partly: bool
    ) -> Iterator[State]:
        """Operands in any order; the hardest first, wildcards last. `partly` lets operands of the target be left over."""
        self.step()
        if len(patterns) > len(targets) or (len(patterns) < len(targets) and not partly and not self.wild(patterns)):
            return
        fixed = [term for term in patterns if not is_wildcard(term.label)]
        if not fixed:
            yield from self.rest(patterns, targets, state, label, partly)
            return
        first = max(fixed, key=lambda term: (len(term.operands), len(term.variables)))
        others = [term for term in patterns if term is not first]
        tried: set[int] = set()
        for at, target in enumerate(targets):
            # Two equal operands lead to the same search.
            if target.normalised in tried:
                continue
            tried.add(target.normalised)
            for made in self.term(first, target, state):
                yield from self.some(others, targets[:at] + targets[at + 1 :], made, label, partly)

    def wild(self, patterns: list[HashedNode]) -> bool:
        """Whether one of the operands may take several."""
        return any(is_wildcard(term.label) for term in patterns)

    def rest(
        self, wildcards: list[HashedNode], targets: list[HashedNode], state: State, label: str, partly: bool
    ) -> Iterator[State]:
        """What is left when only wildcards are: one operand each, the last takes all that remain."""
        self.step()
        if not wildcards:
            if partly or not targets:
                yield state
            return
        if len(wildcards) == 1 and len(targets) > 1 and not partly:
            yield from self.bind(wildcards[0], hashed_node(label, targets), state)
            return
        for at, target in enumerate(targets):
            for made in self.bind(wildcards[0], target, state):
                yield from self.rest(wildcards[1:], targets[:at] + targets[at + 1 :], made, label, partly)

    def part(self, pattern: HashedNode, target: HashedNode) -> Iterator[State]:
        """A pattern that is some of the operands of a longer run of the same operator."""
        size, length = len(pattern.operands), len(target.operands)
        if size < 2:
            return
        if target.label == "O!chain":
            yield from self.link(pattern, target)
        if pattern.label != target.label or size >= length or pattern.label not in RUNS:
            return
        state = _START.add(pattern, target)
        if self.free and label_of(pattern.label).commutative:
            yield from self.some(list(pattern.operands), list(target.operands), state, pattern.label, partly=True)
        else:
            for at in range(length - size + 1):
                yield from self.row(pattern.operands, target.operands[at : at + size], state)

    def link(self, pattern: HashedNode, target: HashedNode) -> Iterator[State]:
        """A relation, or a shorter chain, among the links of a chain."""
        wanted: list[HashedNode] = list(pattern.operands)
        if pattern.label != "O!chain":
            relation = hashed_leaf(pattern.label, pattern.places)
            wanted = [part for kid in pattern.operands for part in (relation, kid)][1:]
        turned = [wanted]
        if self.free and pattern.label[:2] == "U!":
            turned.append(wanted[::-1])
        for order in turned:
            for at in range(0, len(target.operands) - len(wanted) + 1, 2):
                yield from self.row(order, target.operands[at : at + len(wanted)], _START)


def _places(term: HashedNode) -> tuple[int, ...]:
    """All places of what a wildcard stands for."""
    order = [term]
    for one in order:
        order.extend(one.operands)
    return tuple(sorted({place for one in order for place in one.places}))


def _with_wildcards(pattern: HashedNode) -> set[int]:
    """The parts of a pattern that contain a wildcard."""
    order = [pattern]
    for term in order:
        order.extend(term.operands)
    found: set[int] = set()
    for term in reversed(order):
        if is_wildcard(term.label) or any(id(kid) in found for kid in term.operands):
            found.add(id(term))
    return found


# Operators of which a run inside a longer run is a part, in order.
RUNS = frozenset(
    (
        "U!plus",
        "U!times",
        "U!eq",
        "U!dot",
        "U!cross",
        "U!union",
        "U!intersect",
        "U!and",
        "U!or",
        "U!equivalent",
        "U!approx",
        "U!iff",
        "O!lt",
        "O!leq",
        "O!gt",
        "O!geq",
        "O!subset",
        "O!subseteq",
        "O!implies",
        "O!to",
        "O!compose",
        "O!tensor-product",
    )
)
