"""Parse the layout tree into the operator tree, by precedence.

One pass over each row with a stack of open operators, driven by `operators_table.tsv`. Relations of one kind make one
node with all operands (`a<b<c` is `O!lt(a, b, c)`), different ones an `O!chain` with relation nodes between the
operands. Sums are flat, with `O!minus` around what is subtracted. An integral has body, variable, lower and upper
bound, any other big operator body, lower and upper bound. `x_1` is `O!SUB(x, 1)` here and one name in the canonical
form. Nothing raises: what cannot be parsed becomes an `E!` node with its symbols."""

from __future__ import annotations

from porism.formula.operators.calculus import DERIVATIVE_STARTS, slashed_derivative
from porism.formula.operators.operands import parse_operand
from porism.formula.operators.scripts import PLAIN, Guess, with_scripts
from porism.formula.operators.stack import Stack
from porism.formula.operators.symbols import HANDLERS
from porism.formula.operators.table import BETWEEN, CONST, POST, SEP, SPELLED, SYMBOLS
from porism.formula.tree import Node, row_of

# Rows nested deeper in brackets than this become their symbols.
MAX_DEPTH = 80
# Long rows of alternating operators nest deeply to the left; rows higher than this become their symbols.
MAX_HEIGHT = 400
_SIMPLE = frozenset(("V!", "N!"))
_FINAL = frozenset((".", ",", ";", "?"))


def operator_tree(layout: Node) -> Node:
    """Return the operator tree of a layout tree."""
    return RowParser().chain(layout)


def ambiguities(layout: Node) -> list[Guess]:
    """Return the ambiguous readings in the operator tree of a layout tree."""
    parser = RowParser()
    parser.chain(layout)
    return parser.guesses


class RowParser:
    """Parses rows into operator nodes. `guesses` lists the ambiguous readings as application or product."""

    __slots__ = ("depth", "guesses")

    def __init__(self) -> None:
        self.depth = 0
        self.guesses: list[Guess] = []

    def chain(self, head: Node) -> Node:
        """Return the operator tree of the row that begins with this node."""
        label = head.label
        if head.edges == "" and label[1:2] == "!" and label[0] in "NV" and label not in SYMBOLS:
            return Node(label, None, "", head.places)
        return self.row(row_of(head))

    def row(self, tokens: list[Node]) -> Node:
        """Return the operator tree of a row."""
        while len(tokens) > 1 and tokens[-1].label in _FINAL and tokens[-1].edges in PLAIN:
            tokens = tokens[:-1]
        size = len(tokens)
        if size == 1 and tokens[0].label == "." and "n" in tokens[0].edges:
            # Two dots and nothing else.
            return Node("C!…", None, "", tokens[0].places)
        if self.depth >= MAX_DEPTH:
            return fragments(tokens)
        self.depth += 1
        tree = self.single(tokens[0]) if size == 1 else None
        if tree is None:
            tree = self.many(tokens)
        self.depth -= 1
        return tree if size < MAX_HEIGHT // 2 or _height(tree) <= MAX_HEIGHT else fragments(tokens)

    def single(self, token: Node) -> Node | None:
        """Return the tree of a row of one token: a letter, a number or an operator by itself; None for any other."""
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
        return leaf if token.edges in PLAIN else with_scripts(self, leaf, token)

    def many(self, tokens: list[Node]) -> Node:
        """Parse a row with a stack of open operators."""
        size = len(tokens)
        stack = Stack()
        at = 0
        while at < size:
            label = tokens[at].label
            if label in DERIVATIVE_STARTS and (found := slashed_derivative(tokens, at)) is not None:
                tokens = [*tokens[:at], found.fraction, *tokens[found.end :]]
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
                is_letter = len(label) == 3 and (at + 1 >= size or tokens[at + 1].label[:2] != "M!")
                if label[:2] in _SIMPLE and token.edges in PLAIN and (label[0] == "N" or is_letter):
                    # The most frequent tokens need none of what follows: a letter with no bracket after it to which it
                    # might be applied, a number.
                    if stack.has_operand:
                        last = stack.operands[-1]
                        # Digits in groups of three, separated by blanks, are one number.
                        is_group = label[0] == "N" and len(label) == 5 and label[2:].isdigit() and not last.children
                        if is_group and last.label[:2] == "N!" == tokens[at - 1].label[:2]:
                            stack.operands[-1] = Node(last.label + label[2:], None, "", last.places + token.places)
                            at += 1
                            continue
                        stack.juxtapose(True)
                    stack.operands.append(Node(label, None, "", token.places))
                    stack.has_operand = True
                    at += 1
                    continue
                at = parse_operand(self, stack, tokens, at)
            else:
                at = HANDLERS[symbol.form](self, stack, tokens, at, symbol)
        return stack.finish()


def spelled(tokens: list[Node], at: int) -> Node | None:
    """Return a function's name typed letter by letter (`sin`) as one token; None without one."""
    for letters, name in SPELLED[tokens[at].label][tokens[at + 1].label]:
        end = at + 1 + len(letters)
        if end <= len(tokens) and [token.label for token in tokens[at + 1 : end]] == letters:
            if any(token.edges not in PLAIN for token in tokens[at : end - 1]):
                continue
            last = tokens[end - 1]
            return Node(name, last.children, last.edges, sum((token.places for token in tokens[at:end]), ()))
    return None


def fragments(tokens: list[Node]) -> Node:
    """Return the symbols of a row without structure."""
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
