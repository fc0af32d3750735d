"""The search of `match`: backtracking over operands, pruned by the hashes of sub-expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.deadline import passed
from porism.formula.canonical.forms import Level
from porism.formula.canonical.hashed import HashedNode, hashed_leaf, hashed_node, label_of
from porism.formula.tree import Node


class Pair(NamedTuple):
    """A node of the pattern and the node of the formula that it matches: labels and places of both."""

    pattern: str
    target: str
    pattern_places: tuple[int, ...]
    target_places: tuple[int, ...]


class VariableBinding(NamedTuple):
    """A wildcard, or at level `renamed` a variable, and the sub-expression that it is bound to."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Match:
    """An occurrence of a pattern: the level, whether it is the whole formula, the matched nodes, and the bindings."""

    level: Level
    whole: bool
    pairs: tuple[Pair, ...]
    bindings: tuple[VariableBinding, ...]


HASHING = 8  # steps that an operand costs when a new node is hashed
CHECKED_STEPS = 4_096  # after this many steps the search looks at the clock


class Exhausted(Exception):
    """The search ran out of steps, or of time."""


# Pairs found so far as a linked list, the last first; the branches of the search share it.
Trail = tuple["Trail", HashedNode, HashedNode] | None


class MatchState(NamedTuple):
    """What is bound so far: wildcards, variables in both directions, and pairs."""

    wildcards: dict[str, HashedNode]
    renaming: dict[str, str]
    inverse: dict[str, str]
    trail: Trail

    def add(self, pattern: HashedNode, target: HashedNode) -> MatchState:
        """Return the state with one more pair."""
        return MatchState(self.wildcards, self.renaming, self.inverse, (self.trail, pattern, target))


_START = MatchState({}, {}, {}, None)


def is_wildcard(label: str) -> bool:
    """Check whether a label is that of a wildcard."""
    return label[:1] == "?" and len(label) > 1


class Backtracking:
    """A search for a pattern in a formula at one level. `steps` counts down."""

    def __init__(self, level: Level, pattern: HashedNode, target: HashedNode, steps: int) -> None:
        self.level = level
        self.pattern = pattern
        self.target = target
        self.steps = steps
        self.next_check = steps - CHECKED_STEPS
        self.commutative = level in ("commutative", "renamed")
        self.rename = level == "renamed"
        self.with_wildcards = _with_wildcards(pattern)

    def run(self, whole: bool) -> Match | None:
        """Try the whole formula, then every sub-expression from the root down."""
        pattern, target = self.pattern, self.target
        for state in self.node(pattern, target, _START):
            return self.result(state, True)
        if whole:
            return None
        anything = is_wildcard(pattern.label) or (self.rename and pattern.label[:2] == "V!")
        for node in target.breadth_first():
            same = node.label == pattern.label
            if (same or anything) and node is not target:
                for state in self.node(pattern, node, _START):
                    return self.result(state, False)
            if same or node.label == "O!chain":
                for state in self.partial(pattern, node):
                    return self.result(state, False)
        return None

    def result(self, state: MatchState, whole: bool) -> Match:
        """Return the match of a finished search."""
        pairs = []
        trail = state.trail
        while trail is not None:
            trail, p, t = trail
            pairs.append(Pair(p.label, t.label, p.places, _places(t) if is_wildcard(p.label) else t.places))
        bindings = [VariableBinding(name, node.tree()) for name, node in state.wildcards.items()]
        bindings += [VariableBinding(name, Node(variable)) for name, variable in state.renaming.items()]
        return Match(self.level, whole, tuple(reversed(pairs)), tuple(bindings))

    def hash_of(self, node: HashedNode) -> bytes:
        """Return the hash that two equal sub-expressions without wildcards share at this level."""
        if not self.commutative:
            return node.normalised
        return node.renamed() if self.rename else node.commutative

    def step(self, cost: int = 1) -> None:
        """Count a step of the search; one that copies or hashes operands costs as many steps as there are."""
        self.steps -= cost
        if self.steps < self.next_check:
            self.next_check = self.steps - CHECKED_STEPS
            if passed():
                raise Exhausted
        if self.steps < 0:
            raise Exhausted

    def node(self, pattern: HashedNode, target: HashedNode, state: MatchState) -> Iterator[MatchState]:
        """Yield all ways in which a pattern matches a node."""
        self.step()
        if is_wildcard(pattern.label):
            yield from self.bind(pattern, target, state)
        elif self.rename and pattern.label[:2] == "V!" and not pattern.operands:
            yield from self.exchange(pattern, target, state)
        elif pattern.label == target.label and bool(pattern.operands) == bool(target.operands):
            closed = id(pattern) not in self.with_wildcards
            if closed and self.hash_of(pattern) != self.hash_of(target):
                return
            if closed and not self.rename:
                yield self.equal(pattern, target, state)
                return
            state = state.add(pattern, target)
            if not pattern.operands:
                yield state
            elif self.commutative and label_of(pattern.label).commutative:
                yield from self.unordered(
                    list(pattern.operands), list(target.operands), state, pattern.label, partly=False
                )
            elif len(pattern.operands) == len(target.operands):
                yield from self.in_order(pattern.operands, target.operands, state)

    def equal(self, pattern: HashedNode, target: HashedNode, state: MatchState) -> MatchState:
        """Pair the nodes of two sub-expressions that are known to be equal."""
        stack = [(pattern, target)]
        while stack:
            p, t = stack.pop()
            state = state.add(p, t)
            left, right = p.operands, t.operands
            if self.commutative and label_of(p.label).commutative:
                left = sorted(left, key=lambda node: node.commutative)
                right = sorted(right, key=lambda node: node.commutative)
            stack.extend(reversed(list(zip(left, right, strict=True))))
        return state

    def bind(self, pattern: HashedNode, target: HashedNode, state: MatchState) -> Iterator[MatchState]:
        """Bind a wildcard: to the same sub-expression everywhere, never to a missing operand."""
        if target.label == "W!":
            return
        known = state.wildcards.get(pattern.label)
        if known is not None:
            same = (
                known.commutative == target.commutative if self.commutative else known.normalised == target.normalised
            )
            if not same:
                return
        wildcards = state.wildcards if known is not None else {**state.wildcards, pattern.label: target}
        yield MatchState(wildcards, state.renaming, state.inverse, (state.trail, pattern, target))

    def exchange(self, pattern: HashedNode, target: HashedNode, state: MatchState) -> Iterator[MatchState]:
        """Exchange a variable for a variable, one for one."""
        if target.label[:2] != "V!" or target.operands:
            return
        known = state.renaming.get(pattern.label)
        if known == target.label:
            yield state.add(pattern, target)
        elif known is None and target.label not in state.inverse:
            renaming = {**state.renaming, pattern.label: target.label}
            inverse = {**state.inverse, target.label: pattern.label}
            yield MatchState(state.wildcards, renaming, inverse, (state.trail, pattern, target))

    def in_order(
        self, patterns: Sequence[HashedNode], targets: Sequence[HashedNode], state: MatchState
    ) -> Iterator[MatchState]:
        """Match operands in order."""
        if not patterns:
            yield state
            return
        for following in self.node(patterns[0], targets[0], state):
            yield from self.in_order(patterns[1:], targets[1:], following)

    def unordered(
        self, patterns: list[HashedNode], targets: list[HashedNode], state: MatchState, label: str, partly: bool
    ) -> Iterator[MatchState]:
        """Match operands in any order: the largest first, wildcards last; `partly`: some may be left over."""
        self.step(len(patterns) + len(targets))
        fixed = [node for node in patterns if not is_wildcard(node.label)]
        # A wildcard may take several operands.
        may_leave = partly or len(fixed) < len(patterns)
        if len(patterns) > len(targets) or (len(patterns) < len(targets) and not may_leave):
            return
        if not fixed:
            yield from self.remaining(patterns, targets, state, label, partly)
            return
        first = max(fixed, key=lambda node: (len(node.operands), len(node.variables)))
        others = [node for node in patterns if node is not first]
        for at, target in _distinct(targets):
            for following in self.node(first, target, state):
                yield from self.unordered(others, targets[:at] + targets[at + 1 :], following, label, partly)

    def remaining(
        self, wildcards: list[HashedNode], targets: list[HashedNode], state: MatchState, label: str, partly: bool
    ) -> Iterator[MatchState]:
        """Match when only wildcards are left: each takes one operand, the last takes all that remain."""
        self.step(1 + len(targets))
        if not wildcards:
            if partly or not targets:
                yield state
            return
        if len(wildcards) == 1 and len(targets) > 1 and not partly:
            self.step(HASHING * len(targets))
            yield from self.bind(wildcards[0], hashed_node(label, targets), state)
            return
        for at, target in _distinct(targets):
            for following in self.bind(wildcards[0], target, state):
                yield from self.remaining(wildcards[1:], targets[:at] + targets[at + 1 :], following, label, partly)

    def partial(self, pattern: HashedNode, target: HashedNode) -> Iterator[MatchState]:
        """Match a pattern with some of the operands of the same operator: `a+b` in `x+y+z`."""
        size, length = len(pattern.operands), len(target.operands)
        if size < 2:
            return
        if target.label == "O!chain":
            yield from self.in_chain(pattern, target)
        if pattern.label != target.label or size >= length or pattern.label not in _PARTIAL:
            return
        state = _START.add(pattern, target)
        if self.commutative and label_of(pattern.label).commutative:
            yield from self.unordered(list(pattern.operands), list(target.operands), state, pattern.label, partly=True)
        else:
            for at in range(length - size + 1):
                yield from self.in_order(pattern.operands, target.operands[at : at + size], state)

    def in_chain(self, pattern: HashedNode, target: HashedNode) -> Iterator[MatchState]:
        """Match a relation, or a shorter chain, with a part of a chain of relations."""
        wanted: list[HashedNode] = list(pattern.operands)
        if pattern.label != "O!chain":
            relation = hashed_leaf(pattern.label, pattern.places)
            wanted = [part for operand in pattern.operands for part in (relation, operand)][1:]
        turned = [wanted]
        if self.commutative and pattern.label[:2] == "U!":
            turned.append(wanted[::-1])
        for order in turned:
            for at in range(0, len(target.operands) - len(wanted) + 1, 2):
                yield from self.in_order(order, target.operands[at : at + len(wanted)], _START)


def _distinct(operands: list[HashedNode]) -> list[tuple[int, HashedNode]]:
    """Return the operands with their positions; of equal ones, which lead to the same search, the first."""
    first: dict[bytes, tuple[int, HashedNode]] = {}
    for at, operand in enumerate(operands):
        first.setdefault(operand.normalised, (at, operand))
    return list(first.values())


def _places(root: HashedNode) -> tuple[int, ...]:
    """Return all places of a sub-expression."""
    return tuple(sorted({place for node in root.breadth_first() for place in node.places}))


def _with_wildcards(pattern: HashedNode) -> set[int]:
    """Return the ids of the nodes of a pattern that contain a wildcard."""
    found: set[int] = set()
    for node in reversed(pattern.breadth_first()):
        if is_wildcard(node.label) or any(id(operand) in found for operand in node.operands):
            found.add(id(node))
    return found


# Operators of which some operands are a pattern's match: `a+b` occurs in `a+b+c`.
_PARTIAL = frozenset(
    (
        "U!plus", "U!times", "U!eq", "U!dot", "U!cross", "U!union", "U!intersect", "U!and", "U!or", "U!equivalent",
        "U!approx", "U!iff", "O!lt", "O!leq", "O!gt", "O!geq", "O!subset", "O!subseteq", "O!implies", "O!to",
        "O!compose", "O!tensor-product",
    )
)  # fmt: skip
