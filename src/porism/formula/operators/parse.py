"""From the layout tree to the operator tree: what a formula does, by precedence.

One pass over each row with a stack of open operators, driven by `operators_table.tsv`. Chosen forms: relations of one kind make one node
with all operands (`a<b<c` is `O!lt(a, b, c)`), mixed ones an `O!chain` in which relation nodes stand between operands; sums are flat with
`O!minus` around what is subtracted; an integral is (body, variable, lower, upper), any other big operator (body, lower, upper);
`x_1` stays `O!SUB(x, 1)` here and becomes one name in the canonical form. Never raises; what is not understood becomes an `E!` node that
keeps its symbols.
"""

from __future__ import annotations

from porism.formula.operators.calculus import SLASHED, slashed
from porism.formula.operators.operands import plain
from porism.formula.operators.scripts import PLAIN, scripted
from porism.formula.operators.stack import Stack
from porism.formula.operators.symbols import HANDLERS
from porism.formula.operators.table import BETWEEN, CONST, POST, SEP, SPELLED, SYMBOLS
from porism.formula.tree import Node, row_of

# Brackets within brackets: beyond this a row is kept as its symbols.
MAX_DEPTH = 80
# Long rows of alternating operators can nest deep to the left; beyond this they are kept as their symbols.
MAX_HEIGHT = 400
_SIMPLE = frozenset(("V!", "N!"))
_FINAL = frozenset((".", ",", ";", "?"))


def operator_tree(layout: Node) -> Node:
    """The operator tree of a layout tree; ordered operands, no edges."""
    return Reader().chain(layout)


def ambiguities(layout: Node) -> list[tuple[str, Node]]:
    """Where the operator tree had to guess: what was guessed (`application` or `product`) and the node it concerns."""
    reader = Reader()
    reader.chain(layout)
    return reader.unsure


def is_opaque(tree: Node) -> bool:
    """Whether some part of an operator tree was not understood."""
    return any(node.label[:2] == "E!" for node in tree.walk())


class Reader:
    """Reads rows into operator nodes. `unsure` lists the guesses between application and product."""

    __slots__ = ("depth", "unsure")

    def __init__(self) -> None:
        self.depth = 0
        self.unsure: list[tuple[str, Node]] = []

    def chain(self, head: Node) -> Node:
        """The operator tree of the row that begins with this node."""
        label = head.label
        if head.edges == "" and label[1:2] == "!" and label[0] in "NV" and label not in SYMBOLS:
            return Node(label, None, "", head.places)
        return self.row(row_of(head))

    def row(self, tokens: list[Node]) -> Node:
        """The operator tree of a row."""
        while len(tokens) > 1 and tokens[-1].label in _FINAL and tokens[-1].edges in PLAIN:
            tokens = tokens[:-1]
        size = len(tokens)
        if size == 1 and tokens[0].label == "." and "n" in tokens[0].edges:
            # Two dots and nothing else.
            return Node("C!…", None, "", tokens[0].places)
        if self.depth >= MAX_DEPTH:
            return fragments(tokens)
        self.depth += 1
        tree = self.one(tokens[0]) if size == 1 else None
        if tree is None:
            tree = self.several(tokens)
        self.depth -= 1
        return tree if size < MAX_HEIGHT // 2 or _height(tree) <= MAX_HEIGHT else fragments(tokens)

    def one(self, token: Node) -> Node | None:
        """A row of one token, when that is a letter, a number or an operator by itself."""
        label = token.label
        symbol = SYMBOLS.get(label)
        if symbol is None:
            if label[:2] not in _SIMPLE:
                return None
        elif symbol.form in BETWEEN or symbol.form == POST or symbol.form == CONST:
            label = symbol.label if symbol.form != SEP else "V!" + label
        else:
            return None
        leaf = Node(label, None, "", token.places)
        return leaf if token.edges in PLAIN else scripted(self, leaf, token)

    def several(self, tokens: list[Node]) -> Node:
        """A row read with a stack of open operators."""
        size = len(tokens)
        stack = Stack()
        at = 0
        while at < size:
            label = tokens[at].label
            if label in SLASHED and (found := slashed(tokens, at)) is not None:
                tokens = [*tokens[:at], found[0], *tokens[found[1] :]]
                size = len(tokens)
                label = "O!divide"
            symbol = SYMBOLS.get(label)
            if symbol is None:
                starts = SPELLED.get(label)
                if (
                    starts is not None
                    and at + 2 < size
                    and tokens[at + 1].label in starts
                    and (name := spelled(tokens, at)) is not None
                ):
                    tokens = [*tokens[:at], name, *tokens[at + len(name.label) - 2 :]]
                    size = len(tokens)
                    continue
                token = tokens[at]
                if (
                    label[:2] in _SIMPLE
                    and token.edges in PLAIN
                    and (label[0] == "N" or _alone(label, tokens, at, size))
                ):
                    # The commonest tokens need nothing of what follows.
                    if stack.have:
                        if label[0] == "N" and _continues(stack.values[-1], label, tokens[at - 1]):
                            last = stack.values[-1]
                            stack.values[-1] = Node(last.label + label[2:], None, "", last.places + token.places)
                            at += 1
                            continue
                        stack.juxtapose(True)
                    stack.values.append(Node(label, None, "", token.places))
                    stack.have = True
                    at += 1
                    continue
                at = plain(self, stack, tokens, at)
            else:
                at = HANDLERS[symbol.form](self, stack, tokens, at, symbol)
        return stack.finish()


def _alone(label: str, tokens: list[Node], at: int, size: int) -> bool:
    """Whether a letter is just a letter: no bracket follows that it might be applied to."""
    return len(label) == 3 and (at + 1 >= size or tokens[at + 1].label[:2] != "M!")


def _continues(last: Node, label: str, before: Node) -> bool:
    """Digits in groups of three, parted by blanks, are one number."""
    return last.label[:2] == "N!" == before.label[:2] and len(label) == 5 and label[2:].isdigit() and not last.children


def spelled(tokens: list[Node], at: int) -> Node | None:
    """A function's name typed letter by letter (`sin` without a backslash) as one token; None when there is none here."""
    for letters, name in SPELLED[tokens[at].label][tokens[at + 1].label]:
        end = at + 1 + len(letters)
        if end <= len(tokens) and [token.label for token in tokens[at + 1 : end]] == letters:
            if any(token.edges not in PLAIN for token in tokens[at : end - 1]):
                continue
            last = tokens[end - 1]
            return Node(name, last.children, last.edges, sum((token.places for token in tokens[at:end]), ()))
    return None


def fragments(tokens: list[Node]) -> Node:
    """Symbols without structure."""
    leaves = [
        Node(node.label if node.label[1:2] == "!" else "V!" + node.label, None, "", node.places)
        for token in tokens[:1]
        for node in token.walk()
    ]
    return Node("E!fragments", leaves)


def _height(tree: Node) -> int:
    height = 0
    level = [tree]
    while level:
        height += 1
        level = [child for node in level for child in node.children]
    return height
