"""The operator tree of a formula as Approach Zero builds it: a precedence grammar over the tokens of `lexer`.

Operands may be missing everywhere (`a =`, `+ b`); operators of one commutative class are one node with all their operands.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from porism.systems.approach0.lexer import Token, UnreadableFormula, tokenize

FLATTENED = frozenset({"ADD", "TIMES", "GTLS", "CAPCUP", "SUBSET", "INNI", "PARALL", "PROPTO", "BOWTIE", "ARROW", "TAB_COL", "TAB_ROW", "SUBSUP"})


@dataclass(slots=True)
class Node:
    """A node of the operator tree. `negative` marks an operand of a sum with a minus sign; `missing` counts its missing operands."""

    node_class: str
    symbol: str
    children: list[Node] = field(default_factory=list)
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
CLOSING = frozenset(close for _, close in PAIRS) | {"close brace", "close square", "close matrix"}


def attach(node: Node, operand: Node | None, negative: bool = False) -> Node:
    """Add an operand; the operands of an operand of the same commutative class take its place."""
    if operand is None or operand.node_class == "NIL":
        return node
    if operand.node_class == node.node_class and node.node_class in FLATTENED:
        node.children += operand.children
        node.missing += operand.missing
        return node
    operand.negative = negative
    node.children.append(operand)
    return node


def infix(operator: Node, left: Node | None, right: Node | None) -> Node:
    """Attach both operands of an operator and count those that are missing."""
    operator.missing += (left is None) + (right is None)
    return attach(attach(operator, left), right)


def is_missing(node: Node | None) -> bool:
    """Say whether an operand holds nothing."""
    return node is None or node.node_class == "NIL"


def unwrapped(node: Node) -> Node:
    """Return the content of a pair of brackets: a fraction does not keep brackets around its operands."""
    return node.children[0] if node.node_class == "GROUP" and len(node.children) == 1 else node


class Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, tokens: list[Token], where: str = "") -> None:
        self.tokens = [*tokens, Token("end")]
        self.position = 0
        self.where = where
        self.in_cell = False  # directly in a cell of a matrix

    @property
    def role(self) -> str:
        """Role of the next token."""
        return self.tokens[self.position].role

    def take(self) -> Token:
        """Return the next token and move on."""
        token = self.tokens[self.position]
        self.position += 1
        return token

    def fail(self) -> UnreadableFormula:
        """Return the error about the next token."""
        return UnreadableFormula(f"the grammar of Approach Zero has no place for token {self.position + 1} ({self.role})", where=self.where)

    def formula(self) -> Node | None:
        """Parse all tokens."""
        node = self.over()
        if self.role != "end":
            raise self.fail()
        return None if node is None or node.node_class == "NIL" else node

    def over(self, in_cell: bool = False) -> Node | None:
        """Parse what a pair of braces may hold: `a \\over b`, `n \\choose k`, or an expression."""
        outside, self.in_cell = self.in_cell, in_cell
        node = self.stacked()
        self.in_cell = outside
        return node

    def stacked(self) -> Node | None:
        left = self.separated()
        while self.role in ("over", "choose"):
            token = self.take()
            right = self.separated()
            if token.role == "over":
                left = self.fraction(left, right)
            else:
                left = Node("BINOM", "binom", [child for child in (left, right) if child is not None and child.node_class != "NIL"])
        return left

    def rows(self) -> Node | None:
        """Parse rows of a matrix."""
        return self.table("row", "TAB_ROW", "row", self.columns)

    def columns(self) -> Node | None:
        """Parse columns of a row of a matrix."""
        return self.table("column", "TAB_COL", "column", lambda: self.over(in_cell=True))

    def table(self, role: str, node_class: str, symbol: str, cell) -> Node | None:
        left = cell()
        while self.role == role:
            self.take()
            node = attach(Node(node_class, symbol), left)
            left = attach(node, cell())
        return left

    def separated(self) -> Node | None:
        """Parse commas, arrows and quantifiers, from the right."""
        left = self.related()
        if self.role not in ("separator", "labelled arrow"):
            return left
        token = self.operator()
        if token.role == "labelled arrow":
            if self.role == "open square":
                self.optional_argument()
            self.argument()
        return infix(Node(token.node_class, token.symbol), left, self.separated())

    def related(self) -> Node | None:
        """Parse relations, from the right."""
        left = self.annotated()
        if self.role != "relation":
            return left
        token = self.operator()
        return infix(Node(token.node_class, token.symbol), left, self.related())

    def annotated(self) -> Node | None:
        """Parse `a \\overset{text}{=} b`, from the right: what carries the script becomes the operator, whatever it is."""
        left = self.sum()
        if self.role != "over script":
            return left
        self.take()
        self.argument(sign=True)
        relation = self.argument(sign=True) or Node("NIL", "")
        return infix(relation, left, self.annotated())

    def sum(self) -> Node | None:
        """Parse sums, differences and `mod`, from the left."""
        left = self.product()
        while self.role in ("plus", "minus", "modulo"):
            token = self.operator()
            right = self.product()
            if token.role == "minus":
                left = self.difference(left, right)
            elif token.role == "plus":
                left = attach(attach(Node("ADD", token.symbol, missing=is_missing(left)), left), right)
            elif left is not None and left.node_class == "MODULAR":
                left.children[-1:] = [infix(Node("MODULAR", "mod"), left.children[-1] if left.children else None, right)]
            else:
                left = infix(Node("MODULAR", "mod"), left, right)
        return left

    def difference(self, left: Node | None, right: Node | None) -> Node | None:
        """Return a sum whose last operand is negative."""
        if right is None:
            return left or Node("NIL", "")
        node = attach(Node("ADD", "plus", missing=is_missing(left)), left)
        if not self.in_cell:
            return attach(node, right, negative=True)
        right.negative = True
        return attach(node, Node("NEG", "minus", [right]))  # a quirk of the original, inside matrices only

    def operator(self) -> Token:
        """Take an operator; scripts on it, as in `=^*`, are dropped."""
        token = self.take()
        if token.role != "minus":
            self.scripts()
        return token

    def product(self) -> Node | None:
        """Parse products and quotients, from the left."""
        left = self.factor()
        while True:
            if self.role == "times":
                self.operator()
                left = attach(attach(Node("TIMES", "times"), left), self.factor())
            elif self.role == "slash":
                if left is None:
                    raise self.fail()
                self.take()
                right = self.factor()
                if right is None:
                    raise self.fail()
                left = self.fraction(left, right)
            else:
                right = self.factor()
                if right is None:
                    return left
                nothing = left is not None and (left.node_class == "NIL") + (right.node_class == "NIL")
                left = attach(attach(Node("TIMES", "times", missing=int(nothing)), left), right) if left is not None else right

    def fraction(self, above: Node | None, below: Node | None) -> Node:
        return Node("FRAC", "frac", [unwrapped(child) for child in (above, below) if child is not None and child.node_class != "NIL"])

    def factor(self) -> Node | None:
        """Parse an operand with its scripts, primes and factorials."""
        kind = self.role
        base = self.primary()
        if base is None:
            return None
        while self.role in ("script", "prime", "factorial"):
            scripts = self.scripts()
            if scripts:
                base = hang(base, scripts, kind)
                kind = ""
            if self.role == "factorial":
                self.take()
                base = Node("FACT", "fact", [base])
                kind = ""
        if kind == "big" and base.node_class not in ("FACT",) and not base.children:
            base = hang(base, [], kind)
        return base

    def scripts(self) -> list[Node]:
        found: list[Node] = []
        while self.role in ("script", "prime"):
            token = self.take()
            if token.role == "prime":
                found.append(Node("SUPSCRIPT", "supscript", [Node("PRIME", "prime")]))
                continue
            content = self.script()
            found.append(attach(Node(token.node_class, token.symbol), content))
        return found

    def script(self) -> Node | None:
        """Parse the argument of `^` or `_`: an operand without scripts, or one operator sign."""
        return self.argument(sign=True)

    def argument(self, sign: bool = False) -> Node | None:
        """Parse the argument of a command: braces or one operand without scripts; where `sign` allows it, an operator."""
        if sign and self.role in ("plus", "minus", "times", "relation", "separator", "modulo"):
            token = self.take()
            return Node(token.node_class, token.symbol)
        if self.role == "open brace":
            return self.braces()
        node = self.atom()
        if node is None:
            raise self.fail()
        return node

    def braces(self) -> Node | None:
        self.take()
        node = self.over()
        if self.role != "close brace":
            raise self.fail()
        self.take()
        return node

    def optional_argument(self) -> Node | None:
        self.take()
        node = self.over()
        if self.role != "close square":
            raise self.fail()
        self.take()
        return node

    def primary(self) -> Node | None:
        """Parse one operand, or return None where none begins."""
        if self.role == "open brace":
            return self.braces() or Node("NIL", "")
        if self.role.startswith("open"):
            return self.fenced()
        return self.atom()

    def fenced(self) -> Node | None:
        if self.role == "open matrix":
            self.take()
            node = self.rows()
            if self.role != "close matrix":
                raise self.fail()
            self.take()
            return node
        opening = self.take().role
        opening = "open" if opening == "open square" else opening
        content = self.over()
        closing = "close" if self.role == "close square" else self.role
        pair = PAIRS.get((opening, closing))
        if pair is None:
            raise self.fail()
        self.take()
        if content is not None and pair[0] == "GROUP" and content.node_class == "GROUP":
            content = unwrapped(content)
        return attach(Node(*pair), content)

    def atom(self) -> Node | None:
        """Parse an operand that is no pair of brackets."""
        role = self.role
        if role in ("atom", "number", "function", "big"):
            token = self.take()
            leaf = Node(token.node_class, token.symbol)
            return Node("SUBSUP", "subsup", [Node("BASE", "base", [leaf])]) if role == "atom" else leaf
        if role == "float":
            token = self.take()
            parts = [self.take(), self.take()]
            return Node(token.node_class, token.symbol, [Node(part.node_class, part.symbol) for part in parts])
        if role in ("fraction of digits", "binomial of digits"):
            self.take()
            digits = [Node(token.node_class, token.symbol) for token in (self.take(), self.take())]
            return Node("FRAC", "frac", digits) if role.startswith("frac") else Node("BINOM", "binom", digits)
        if role == "fraction":
            self.take()
            return self.fraction(self.argument(), self.argument())
        if role == "binomial":
            self.take()
            return attach(attach(Node("BINOM", "binom"), self.argument()), self.argument())
        if role == "square root":
            self.take()
            degree = self.optional_argument() if self.role == "open square" else None
            return attach(attach(Node("ROOT", "root"), self.argument()), degree)
        if role == "root":
            self.take()
            degree = self.argument()
            if self.role != "of":
                raise self.fail()
            self.take()
            return attach(attach(Node("ROOT", "root"), self.argument()), degree)
        if role == "accent":
            token = self.take()
            return attach(Node(token.node_class, token.symbol), self.argument())
        if role == "brace":
            self.take()
            content = self.argument()
            if self.role == "script":
                self.take()
                self.script()
            return content
        return None


def hang(base: Node, scripts: list[Node], kind: str) -> Node:
    """Hang scripts on a base. A variable and a big operator have one hanger, whatever their scripts."""
    bare_big = len(base.children) == 1 and base.children[0].node_class == "BASE" and base.node_class != "SUBSUP"
    if kind == "atom" or bare_big:
        base.children += scripts
        return base
    holder = Node("BASE", "base", [base])
    if kind == "big":
        return Node(base.node_class, base.symbol, [*scripts, holder])
    return Node("SUBSUP", "subsup", [*scripts, holder])


def parse(latex: str) -> Node | None:
    """Return the operator tree of a formula, or None if it holds nothing. Raise UnreadableFormula where the grammar fails."""
    return Parser(tokenize(latex), latex).formula()
