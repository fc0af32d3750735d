"""Tokens of a LaTeX formula as Approach Zero reads them: each command has a role in the grammar, a class and a symbol
(`symbols.tsv`).

Commands that the table does not name and characters without a rule are skipped, as the original does.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from porism.errors import PorismError

BIGGEST_NUMBER = 64877  # larger integers are one symbol, `bignum`
LONGEST_FLOAT = 32  # characters; the original reads a longer decimal as 0


class Token(NamedTuple):
    """One token: its role in the grammar, and the class and symbol of the node that it makes."""

    role: str
    node_class: str = ""
    symbol: str = ""


class UnreadableFormula(PorismError):
    """A formula that the grammar of Approach Zero does not accept. The original leaves such a formula out."""


# Words that are functions without a backslash, as in `sin x`; longest first.
BARE_WORDS = sorted(
    [
        "arccos",
        "arcsin",
        "arctan",
        "arg",
        "colon",
        "cos",
        "cosh",
        "cot",
        "coth",
        "csc",
        "deg",
        "det",
        "dim",
        "exp",
        "gcd",
        "hom",
        "inf",
        "ker",
        "lcm",
        "lg",
        "ln",
        "log",
        "max",
        "min",
        "mod",
        "sec",
        "sgn",
        "sign",
        "sin",
        "sinh",
        "sup",
        "tan",
        "tanh",
    ],
    key=lambda word: (-len(word), word),
)
MATRICES = ("array", "matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "cases")
DISPLAYS = (
    "align", "alignat", "aligned", "alignedat", "equation", "eqnarray", "gather", "gathered", "multline", "split",
    "subequations",
)  # fmt: skip
FONTS = {
    "mathbb": "blackboard-bold",
    "mathds": "blackboard-bold",
    "mathcal": "calligraphy",
    "mathscr": "calligraphy",
    "mathfrak": "fraktur",
}
DROPPED_WITH_ARGUMENT = ("color", "hbox", "label", "leftroot", "mbox", "tag", "uproot")
SPACES = ("hskip", "hspace", "kern", "mkern", "mskip", "mspace")
COMMAND_ROLES = {
    "lbrace": "open", "rbrace": "close", "lbrack": "open", "rbrack": "close",
    "lfloor": "open floor", "rfloor": "close floor", "lceil": "open ceil", "rceil": "close ceil",
    "over": "over", "overset": "over script", "underset": "over script", "stackrel": "over script",
    "underbrace": "brace", "overbrace": "brace", "of": "of",
}  # fmt: skip
# What follows \left and \right. A backslash before another name is the delimiter "\", and the name is read as letters.
LEFT_FENCES = {
    "(": "open", "[": "open", "\\{": "open", "|": "open vert", ".": "open array", "<": "open angle", "\\langle": "open angle",
    "/": "open slash", "\\lfloor": "open floor", "\\lceil": "open ceil", "\\": "open slash",
}  # fmt: skip
RIGHT_FENCES = {
    ")": "close", "]": "close", "\\}": "close", "|": "close vert", ".": "close array", ">": "close angle", "\\rangle": "close angle",
    "/": "close slash", "\\rfloor": "close floor", "\\rceil": "close ceil", "\\": "close slash",
}  # fmt: skip
CHARACTERS = {
    "+": Token("plus", "ADD", "plus"), "-": Token("minus", "NEG", "minus"), "/": Token("slash", "FRAC", "frac"),
    "=": Token("relation", "GTLS", "equal"), "<": Token("relation", "GTLS", "lt"), ">": Token("relation", "GTLS", "gt"),
    ",": Token("separator", "SEP", "comma"), ";": Token("separator", "SEP", "semicolon"), ":": Token("separator", "SEP", "colon"),
    "*": Token("atom", "STAR", "ast"), "|": Token("atom", "VERT", "vert"), "'": Token("prime", "PRIME", "prime"),
    "!": Token("factorial", "FACT", "fact"), "^": Token("script", "SUPSCRIPT", "supscript"),
    "_": Token("script", "SUBSCRIPT", "subscript"), "{": Token("open brace"), "}": Token("close brace"),
    "∞": Token("atom", "INFTY", "infty"), "→": Token("separator", "ARROW", "to"), "π": Token("atom", "PI", "pi"),
    "∑": Token("big", "SUM", "sum"), "∫": Token("big", "INT", "int"), "∂": Token("atom", "PARTIAL", "nabla"),
    "∀": Token("separator", "FORALL", "forall"), "∃": Token("separator", "EXISTS", "exists"), "±": Token("plus", "ADD", "pm"),
    "λ": Token("atom", "VAR", "lambda"), "α": Token("atom", "VAR", "alpha"), "φ": Token("atom", "VAR", "phi"),
    "ε": Token("atom", "VAR", "epsilon"), "β": Token("atom", "VAR", "beta"), "η": Token("atom", "VAR", "eta"),
    "κ": Token("atom", "VAR", "kappa"), "ξ": Token("atom", "VAR", "xi"), "τ": Token("atom", "VAR", "tau"),
    "χ": Token("atom", "VAR", "chi"), "ħ": Token("atom", "VAR", "hbar"), "[": Token("open square"), "]": Token("close square"),
    "(": Token("open"), ")": Token("close"),
}  # fmt: skip
ESCAPED = {
    "\\\\": Token("separator", "SEP", "newline"), "\\|": Token("atom", "VERT", "Vert"), "\\%": Token("atom", "PERCENT", "percent"),
    "\\&": Token("separator", "SEP", "And"), "\\{": Token("open"), "\\}": Token("close"),
}  # fmt: skip
SYMBOL_OF = {"Doteq": "equal", "overrightarrow": "rvect", "overleftarrow": "lvect"}
SKIPPED_ESCAPES = ("\\,", "\\;", "\\:", "\\!", "\\ ")

PATTERN = re.compile(
    r"(?P<comment>%[^\n]*)"
    r"|\\begin\{(?P<begin>\w+)\*?\}|\\end\{(?P<end>\w+)\*?\}"
    r"|\\left\s*(?P<left>" + "|".join(map(re.escape, LEFT_FENCES)) + ")"
    r"|\\right\s*(?P<right>" + "|".join(map(re.escape, RIGHT_FENCES)) + ")"
    r"|\\(?:" + "|".join(DROPPED_WITH_ARGUMENT) + r")(?=\{)(?P<dropped>)"
    r"|\\text(?=\{)(?P<text>)"
    r"|\\(?:" + "|".join(SPACES) + r")(?P<space>[^A-Za-z].*?(?:[a-z]{2}\}?|$)|$| .*$)"
    r"|\\(?P<font>" + "|".join(FONTS) + r")(?![A-Za-z])\s*"
    r"|\\[cdt]?frac\s*(?P<halves>[0-9][0-9])|\\[dt]?binom\s*(?P<choices>[0-9][0-9])"
    r"|(?P<notequal>\\not=)|(?P<define>:=)"
    r"|\\(?P<command>[A-Za-z]+)"
    r"|(?P<escaped>\\[^A-Za-z])"
    r"|\*(?P<starred>[0-9]+)\*"
    r"|(?P<float>[0-9]+\.[0-9]+)|(?P<number>[0-9]+)"
    r"|(?P<dots>\.\.\.)"
    r"|(?P<empty>[_^]?\{\s*\}|\[\s*\])"
    r"|(?P<word>" + "|".join(BARE_WORDS) + ")"
    r"|(?P<letter>[A-Za-z])"
    r"|(?P<character>.)",
    re.DOTALL,
)


@cache
def command_tokens() -> dict[str, Token]:
    """Return the token of every command that the table names."""
    table: dict[str, Token] = {name: Token(role) for name, role in COMMAND_ROLES.items()}
    for line in files(__package__).joinpath("symbols.tsv").read_text("utf-8").splitlines():
        if line.startswith("#") or line.startswith("role\t"):
            continue
        role, node_class, groups = line.split("\t")
        for group in groups.split(" "):
            names = group.split("=")
            table |= {name: Token(role, node_class, SYMBOL_OF.get(names[0], names[0])) for name in names}
    return table


def number(digits: str) -> Token:
    """Return the token of an integer: zero and one have classes of their own."""
    value = int(digits)
    node_class = {0: "ZERO", 1: "ONE"}.get(value, "NUM")
    return Token("number", node_class, str(value) if value <= BIGGEST_NUMBER else "bignum")


def argument_end(latex: str, start: int) -> int:
    """Return the position after the brace group that begins at `start`. Escaped braces count as braces, as in the
    original."""
    depth = 0
    for position in range(start, len(latex)):
        depth += (latex[position] == "{") - (latex[position] == "}")
        if depth == 0:
            return position + 1
    raise UnreadableFormula("the argument of a command is not closed", where=latex[start : start + 40])


class Lexer:
    """Splits one formula into tokens."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.position = 0
        self.font = ""  # of the letters up to `font_depth`
        self.font_depth: int | None = None  # braces that are open inside the argument of a font command
        self.matrices = 0
        self.tokens: list[Token] = []

    def run(self) -> list[Token]:
        """Return the tokens of the whole formula."""
        while self.position < len(self.latex):
            match = PATTERN.match(self.latex, self.position)
            assert match is not None  # the last alternative matches any character
            self.position = match.end()
            kind = match.lastgroup
            assert kind is not None
            getattr(self, f"_{kind}")(match[kind])
        return self.tokens

    def _comment(self, text: str) -> None:
        """Skip the rest of the line."""

    _space = _empty = _comment

    def _begin(self, name: str) -> None:
        self._environment(name, 1)

    def _end(self, name: str) -> None:
        self._environment(name, -1)

    def _environment(self, name: str, step: int) -> None:
        if name in MATRICES:
            self.matrices += step
            self.tokens.append(Token("open matrix" if step > 0 else "close matrix"))
        elif name not in DISPLAYS:
            self.tokens += [Token("open brace"), *Lexer(name).run(), Token("close brace")]

    def _left(self, fence: str) -> None:
        self.tokens.append(Token(LEFT_FENCES[fence]))

    def _right(self, fence: str) -> None:
        self.tokens.append(Token(RIGHT_FENCES[fence]))

    def _dropped(self, _: str) -> None:
        self.position = argument_end(self.latex, self.position)

    def _text(self, _: str) -> None:
        self.position = argument_end(self.latex, self.position)
        self.tokens.append(Token("function", "NAME_FUN", "ast"))

    def _font(self, name: str) -> None:
        self.font = FONTS[name]
        self.font_depth = None
        if self.latex[self.position : self.position + 1] == "{":
            self.position += 1
            self.font_depth = 1

    def _pair_of_digits(self, node_class: str, digits: str) -> None:
        self.tokens += [Token("two digits", node_class, node_class.lower()), number(digits[0]), number(digits[1])]

    def _halves(self, digits: str) -> None:
        self._pair_of_digits("FRAC", digits)

    def _choices(self, digits: str) -> None:
        self._pair_of_digits("BINOM", digits)

    def _notequal(self, _: str) -> None:
        self.tokens.append(Token("relation", "GTLS", "neq"))

    def _define(self, _: str) -> None:
        self.tokens.append(Token("relation", "GTLS", "equal"))

    def _command(self, name: str) -> None:
        token = command_tokens().get(name)
        if token is not None:
            self.tokens.append(token)

    def _escaped(self, text: str) -> None:
        if text in SKIPPED_ESCAPES:
            return
        if text == "\\\\" and self.matrices:
            self.tokens.append(Token("row", "TAB_ROW", "row"))
        elif text in ESCAPED:
            self.tokens.append(ESCAPED[text])
        else:
            self.position -= 1  # the backslash has no meaning here

    def _float(self, text: str) -> None:
        if len(text) > LONGEST_FLOAT:
            self.tokens.append(number("0"))
            return
        whole, _, part = text.partition(".")
        self.tokens += [Token("two digits", "FLOAT", "float"), number(whole), number(part)]

    def _number(self, digits: str) -> None:
        self.tokens.append(number(digits))

    _starred = _number

    def _dots(self, _: str) -> None:
        self.tokens.append(Token("atom", "DOTS", "dots"))

    def _word(self, word: str) -> None:
        self.tokens.append(Token("separator", "SEP", "colon") if word == "colon" else command_tokens()[word])

    def _letter(self, letter: str) -> None:
        self.tokens.append(Token("atom", "VAR", f"{self.font}:{letter}" if self.font else letter))
        if self.font_depth is None:
            self.font = ""

    def _character(self, character: str) -> None:
        if character == "&":
            if self.matrices:
                self.tokens.append(Token("column", "TAB_COL", "column"))
            return
        if self.font_depth is not None and character in "{}":
            self.font_depth += 1 if character == "{" else -1
            if self.font_depth == 0:
                self.font, self.font_depth = "", None
            return  # braces inside the argument of a font command have no meaning, as in the original
        token = CHARACTERS.get(character)
        if token is not None:
            self.tokens.append(token)


def tokenize(latex: str) -> list[Token]:
    """Return the tokens of a formula."""
    return Lexer(latex).run()
