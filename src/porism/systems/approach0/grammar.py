"""The operator tree of a formula as Approach Zero builds it: a precedence grammar over the tokens of `lexer`.

Operands may be missing everywhere (`a =`, `+ b`); operators of one commutative class are one node with all their
operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from porism.systems.approach0.lexer import LatexToken, UnreadableFormula, tokenize

FLATTENED = frozenset([
    "ADD", "TIMES", "GTLS", "CAPCUP", "SUBSET", "INNI", "PARALL", "PROPTO", "BOWTIE", "ARROW", "TAB_COL", "TAB_ROW",
    "SUBSUP",
])  # fmt: skip  # commutative classes
NOTHING = "NIL"  # class of an operand that holds nothing, as in `{-} b`
SIGNS = frozenset({"plus", "minus", "times", "relation", "separator", "modulo"})  # may be a script: `x^+`


@dataclass(slots=True)
class OperatorNode:
    """A node of the operator tree. `negative` marks an operand with a minus sign; `missing` counts missing operands."""

    node_class: str
    symbol: str
    children: list[OperatorNode] = field(default_factory=list)
    negative: bool = False
    missing: int = 0


# (opening, closing) -> class and symbol of the pair
PAIRS = {
    ("open", "close"): ("GROUP", "bracket"), ("open floor", "close floor"): ("FLOOR", "floor"),
    ("open ceil", "close ceil"): ("CEIL", "ceil"), ("open vert", "close vert"): ("VERTS", "verts"),
    ("open array", "close vert"): ("VERTS", "verts"), ("open vert", "close array"): ("VERTS", "verts"),
    ("open array", "close"): ("GROUP", "array"), ("open", "close array"): ("GROUP", "array"),
    ("open array", "close array"): ("GROUP", "array"), ("open angle", "close angle"): ("GROUP", "angle"),
    ("open angle", "close vert"): ("GROUP", "angle"), ("open vert", "close angle"): ("GROUP", "angle"),
    ("open slash", "close slash"): ("GROUP", "slash"),
}  # fmt: skip


def is_missing(node: OperatorNode | None) -> bool:
    """Return whether an operand holds nothing."""
    return node is None or node.node_class == NOTHING


def attach(node: OperatorNode, operand: OperatorNode | None, negative: bool = False) -> OperatorNode:
    """Add an operand; the operands of an operand of the same commutative class take its place."""
    if operand is None or is_missing(operand):
        return node
    if operand.node_class == node.node_class and node.node_class in FLATTENED:
        node.children += operand.children
        node.missing += operand.missing
        return node
    operand.negative = negative
    node.children.append(operand)
    return node


def infix(operator: OperatorNode, left: OperatorNode | None, right: OperatorNode | None) -> OperatorNode:
    """Attach both operands of an operator and count those that are missing."""
    operator.missing += (left is None) + (right is None)
    return attach(attach(operator, left), right)


def unwrapped(node: OperatorNode | None) -> OperatorNode | None:
    """Return the content of a pair of brackets: a fraction does not keep brackets around its operands."""
    return node.children[0] if node is not None and node.node_class == "GROUP" and len(node.children) == 1 else node


def fraction(above: OperatorNode | None, below: OperatorNode | None) -> OperatorNode:
    """Return a fraction."""
    return attach(attach(OperatorNode("FRAC", "frac"), unwrapped(above)), unwrapped(below))


def hang(base: OperatorNode, scripts: list[OperatorNode], role: str) -> OperatorNode:
    """Hang scripts on a base. A variable and a big operator have one hanger, whatever their scripts."""
    is_bare_big = len(base.children) == 1 and base.children[0].node_class == "BASE" and base.node_class != "SUBSUP"
    if role == "atom" or is_bare_big:
        base.children += scripts
        return base
    holder = OperatorNode("BASE", "base", [base])
    if role == "big":
        return OperatorNode(base.node_class, base.symbol, [*scripts, holder])
    return OperatorNode("SUBSUP", "subsup", [*scripts, holder])


class OperatorParser:
    """Recursive descent: each method parses one level of precedence, and returns None where nothing is."""

    def __init__(self, tokens: list[LatexToken], where: str = "") -> None:
        self.tokens, self.position, self.where = [*tokens, LatexToken("end")], 0, where
        self.in_cell = False  # directly in a cell of a matrix

    @property
    def role(self) -> str:
        """Role of the next token."""
        return self.tokens[self.position].role

    def take(self) -> LatexToken:
        """Return the next token and move on."""
        token = self.tokens[self.position]
        self.position += 1
        return token

    def expect(self, role: str) -> None:
        """Take a token with a role, or fail."""
        if self.role != role:
            raise self.failure()
        self.take()

    def failure(self) -> UnreadableFormula:
        """Return the error about the next token."""
        fact = f"the grammar of Approach Zero has no place for token {self.position + 1} ({self.role})"
        return UnreadableFormula(fact, where=self.where)

    def content(self, in_cell: bool = False) -> OperatorNode | None:
        """Parse what a pair of braces may hold: `a \\over b`, `n \\choose k`, or an expression."""
        outside, self.in_cell = self.in_cell, in_cell
        left = self.separated()
        while self.role in ("over", "choose"):
            role = self.take().role
            right = self.separated()
            left = (
                fraction(left, right) if role == "over" else attach(attach(OperatorNode("BINOM", "binom"), left), right)
            )
        self.in_cell = outside
        return left

    def columns(self) -> OperatorNode | None:
        """Parse the cells of a row of a matrix."""
        return self.cells("column", OperatorNode("TAB_COL", "column"), lambda: self.content(in_cell=True))

    def cells(
        self, separator: str, parent: OperatorNode, cell: Callable[[], OperatorNode | None]
    ) -> OperatorNode | None:
        """Parse cells between separators; a single cell has no parent."""
        left = cell()
        if self.role != separator:
            return left
        attach(parent, left)
        while self.role == separator:
            self.take()
            attach(parent, cell())
        return parent

    def separated(self) -> OperatorNode | None:
        """Parse commas, arrows and quantifiers, from the right."""
        left = self.related()
        if self.role not in ("separator", "labelled arrow"):
            return left
        token = self.operator()
        if token.role == "labelled arrow":
            self.optional_argument()
            self.argument()
        return infix(OperatorNode(token.node_class, token.symbol), left, self.separated())

    def related(self) -> OperatorNode | None:
        """Parse relations, from the right."""
        left = self.annotated()
        if self.role != "relation":
            return left
        token = self.operator()
        return infix(OperatorNode(token.node_class, token.symbol), left, self.related())

    def annotated(self) -> OperatorNode | None:
        """Parse `a \\overset{text}{=} b`, from the right: what carries the script becomes the operator."""
        left = self.sum()
        if self.role != "over script":
            return left
        self.take()
        self.argument(sign=True)
        relation = self.argument(sign=True) or OperatorNode(NOTHING, "")
        return infix(relation, left, self.annotated())

    def sum(self) -> OperatorNode | None:
        """Parse sums, differences and `mod`, from the left."""
        left = self.product()
        while self.role in ("plus", "minus", "modulo"):
            token = self.operator()
            right = self.product()
            if token.role == "minus":
                left = self.difference(left, right)
            elif token.role == "plus":
                left = attach(attach(OperatorNode("ADD", token.symbol, missing=is_missing(left)), left), right)
            elif left is not None and left.node_class == "MODULAR" and left.children:
                left.children[-1] = infix(OperatorNode("MODULAR", "mod"), left.children[-1], right)
            else:
                left = infix(OperatorNode("MODULAR", "mod"), left, right)
        return left

    def difference(self, left: OperatorNode | None, right: OperatorNode | None) -> OperatorNode | None:
        """Return a sum whose last operand is negative."""
        if right is None:
            return left or OperatorNode(NOTHING, "")
        node = attach(OperatorNode("ADD", "plus", missing=is_missing(left)), left)
        if not self.in_cell:
            return attach(node, right, negative=True)
        right.negative = True
        return attach(node, OperatorNode("NEG", "minus", [right]))  # as in the original, inside matrices only

    def operator(self) -> LatexToken:
        """Take an operator; scripts on it, as in `=^*`, are dropped."""
        token = self.take()
        if token.role != "minus":
            self.scripts()
        return token

    def product(self) -> OperatorNode | None:
        """Parse products and quotients, from the left."""
        left = self.factor()
        while True:
            if self.role == "times":
                self.operator()
                left = attach(attach(OperatorNode("TIMES", "times"), left), self.factor())
                continue
            if self.role == "slash" and left is not None:
                self.take()
                if (right := self.factor()) is None:
                    raise self.failure()
                left = fraction(left, right)
                continue
            if (right := self.factor()) is None:
                return left
            if left is not None:
                missing = (left.node_class == NOTHING) + (right.node_class == NOTHING)
                right = attach(attach(OperatorNode("TIMES", "times", missing=missing), left), right)
            left = right

    def factor(self) -> OperatorNode | None:
        """Parse an operand with its scripts, primes and factorials."""
        role = self.role
        if (base := self.primary()) is None:
            return None
        while self.role in ("script", "prime", "factorial"):
            if scripts := self.scripts():
                base = hang(base, scripts, role)
                role = ""
            if self.role == "factorial":
                self.take()
                base = OperatorNode("FACT", "fact", [hang(base, [], role) if role == "big" else base])
                role = ""
        return hang(base, [], role) if role == "big" else base

    def scripts(self) -> list[OperatorNode]:
        """Parse scripts and primes."""
        found: list[OperatorNode] = []
        while self.role in ("script", "prime"):
            token = self.take()
            if token.role == "prime":
                found.append(OperatorNode("SUPSCRIPT", "supscript", [OperatorNode("PRIME", "prime")]))
            else:
                found.append(attach(OperatorNode(token.node_class, token.symbol), self.argument(sign=True)))
        return found

    def argument(self, sign: bool = False) -> OperatorNode | None:
        """Parse an argument: braces or one operand without scripts; where `sign` allows it, an operator."""
        if sign and self.role in SIGNS:
            token = self.take()
            return OperatorNode(token.node_class, token.symbol)
        if self.role == "open brace":
            return self.enclosed("close brace")
        if (node := self.atom()) is None:
            raise self.failure()
        return node

    def optional_argument(self) -> OperatorNode | None:
        """Parse an argument in square brackets, if one follows."""
        return self.enclosed("close square") if self.role == "open square" else None

    def enclosed(self, closing: str) -> OperatorNode | None:
        """Parse what is between an opening token and its closing one."""
        self.take()
        node = self.content()
        self.expect(closing)
        return node

    def primary(self) -> OperatorNode | None:
        """Parse one operand without its scripts."""
        if self.role == "open brace":
            return self.enclosed("close brace") or OperatorNode(NOTHING, "")
        if self.role == "open matrix":
            self.take()
            node = self.cells("row", OperatorNode("TAB_ROW", "row"), self.columns)
            self.expect("close matrix")
            return node
        return self.fenced() if self.role.startswith("open") else self.atom()

    def fenced(self) -> OperatorNode:
        """Parse brackets with their content. Brackets directly in brackets count once."""
        opening = self.take().role.replace("open square", "open")
        content = self.content()
        pair = PAIRS.get((opening, self.role.replace("close square", "close")))
        if pair is None:
            raise self.failure()
        self.take()
        return attach(OperatorNode(*pair), unwrapped(content) if pair[0] == "GROUP" else content)

    def atom(self) -> OperatorNode | None:
        """Parse an operand that is no pair of brackets: a symbol, or a command with its arguments."""
        parse_command = COMMANDS.get(self.role)
        return None if parse_command is None else parse_command(self, self.take())


def _leaf(_: OperatorParser, token: LatexToken) -> OperatorNode:
    return OperatorNode(token.node_class, token.symbol)


def _variable(parser: OperatorParser, token: LatexToken) -> OperatorNode:
    return OperatorNode("SUBSUP", "subsup", [OperatorNode("BASE", "base", [_leaf(parser, token)])])


def _digits(parser: OperatorParser, token: LatexToken) -> OperatorNode:
    return OperatorNode(token.node_class, token.symbol, [_leaf(parser, parser.take()), _leaf(parser, parser.take())])


def _arguments(number: int) -> Callable[[OperatorParser, LatexToken], OperatorNode]:
    def parse_arguments(parser: OperatorParser, token: LatexToken) -> OperatorNode:
        node = OperatorNode(token.node_class, token.symbol)
        for _ in range(number):
            attach(node, parser.argument())
        return node

    return parse_arguments


def _root(parser: OperatorParser, token: LatexToken) -> OperatorNode:
    """Parse `\\sqrt[3]{a}` or `\\root 3 \\of a`."""
    if token.role == "square root":
        degree = parser.optional_argument()
    else:
        degree = parser.argument()
        parser.expect("of")
    return attach(attach(OperatorNode("ROOT", "root"), parser.argument()), degree)


def _brace(parser: OperatorParser, _: LatexToken) -> OperatorNode:
    """Parse `\\underbrace{a}_{b}`: the label is dropped."""
    content = parser.argument()
    if parser.role == "script":
        parser.take()
        parser.argument(sign=True)
    return content or OperatorNode(NOTHING, "")


COMMANDS: dict[str, Callable[[OperatorParser, LatexToken], OperatorNode]] = {
    "atom": _variable, "number": _leaf, "function": _leaf, "big": _leaf, "two digits": _digits,
    "fraction": lambda parser, _: fraction(parser.argument(), parser.argument()),
    "binomial": _arguments(2), "accent": _arguments(1), "square root": _root, "root": _root, "brace": _brace,
}  # fmt: skip


def parse(latex: str) -> OperatorNode | None:
    """Return the operator tree of a formula, None if it is empty. Raise UnreadableFormula where the grammar fails."""
    parser = OperatorParser(tokenize(latex), latex)
    node = parser.content()
    parser.expect("end")
    return None if is_missing(node) else node
