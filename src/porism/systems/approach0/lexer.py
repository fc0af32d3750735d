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


class LatexToken(NamedTuple):
    """One token: its role in the grammar, and the class and symbol of the node that it makes."""

    role: str
    node_class: str = ""
    symbol: str = ""


class UnreadableFormula(PorismError):
    """A formula that the grammar of Approach Zero does not accept. The original leaves such a formula out."""


# Words that are functions without a backslash, as in `sin x`; longest first.
BARE_WORDS = sorted((
    "arccos", "arcsin", "arctan", "arg", "colon", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp",
    "gcd", "hom", "inf", "ker", "lcm", "lg", "ln", "log", "max", "min", "mod", "sec", "sgn", "sign", "sin", "sinh",
    "sup", "tan", "tanh",
), key=lambda word: (-len(word), word))  # fmt: skip
MATRICES = ("array", "matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "cases")
DISPLAYS = (
    "align", "alignat", "aligned", "alignedat", "equation", "eqnarray", "gather", "gathered", "multline", "split",
    "subequations",
)  # fmt: skip
FONTS = {
    "mathbb": "blackboard-bold", "mathds": "blackboard-bold", "mathcal": "calligraphy", "mathscr": "calligraphy",
    "mathfrak": "fraktur",
}  # fmt: skip
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
    "(": "open", "[": "open", "\\{": "open", "|": "open vert", ".": "open array", "<": "open angle", "/": "open slash",
    "\\langle": "open angle", "\\lfloor": "open floor", "\\lceil": "open ceil", "\\": "open slash",
}  # fmt: skip
RIGHT_FENCES = {
    ")": "close", "]": "close", "\\}": "close", "|": "close vert", ".": "close array", ">": "close angle",
    "/": "close slash", "\\rangle": "close angle", "\\rfloor": "close floor", "\\rceil": "close ceil",
    "\\": "close slash",
}  # fmt: skip


def _tokens(*rows: tuple[str, str, str]) -> dict[str, LatexToken]:
    """Return tokens by their text from rows of role, class, and pairs of text and symbol."""
    return {
        text: LatexToken(role, node_class, symbol)
        for role, node_class, pairs in rows
        for text, symbol in zip(pairs.split()[::2], pairs.split()[1::2], strict=True)
    }


CHARACTERS = {
    **_tokens(
        ("plus", "ADD", "+ plus ± pm"), ("minus", "NEG", "- minus"), ("slash", "FRAC", "/ frac"),
        ("relation", "GTLS", "= equal < lt > gt"), ("separator", "SEP", ", comma ; semicolon : colon"),
        ("atom", "STAR", "* ast"), ("atom", "VERT", "| vert"), ("prime", "PRIME", "' prime"),
        ("factorial", "FACT", "! fact"), ("script", "SUPSCRIPT", "^ supscript"), ("script", "SUBSCRIPT", "_ subscript"),
        ("atom", "INFTY", "∞ infty"),
        ("separator", "ARROW", "→ to"), ("atom", "PI", "π pi"), ("big", "SUM", "∑ sum"), ("big", "INT", "∫ int"),
        ("atom", "PARTIAL", "∂ nabla"), ("separator", "FORALL", "∀ forall"), ("separator", "EXISTS", "∃ exists"),
        ("atom", "VAR", "λ lambda α alpha φ phi ε epsilon β beta η eta κ kappa ξ xi τ tau χ chi ħ hbar"),
    ),
    "{": LatexToken("open brace"), "}": LatexToken("close brace"), "[": LatexToken("open square"),
    "]": LatexToken("close square"), "(": LatexToken("open"), ")": LatexToken("close"),
}  # fmt: skip
ESCAPED = {
    **_tokens(
        ("separator", "SEP", "\\\\ newline \\& And"), ("atom", "VERT", "\\| Vert"), ("atom", "PERCENT", "\\% percent"),
    ),
    "\\{": LatexToken("open"), "\\}": LatexToken("close"),
}  # fmt: skip
FIXED = {
    "notequal": LatexToken("relation", "GTLS", "neq"),
    "define": LatexToken("relation", "GTLS", "equal"),
    "dots": LatexToken("atom", "DOTS", "dots"),
}
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
def command_tokens() -> dict[str, LatexToken]:
    """Return the token of every command that the table names."""
    table: dict[str, LatexToken] = {name: LatexToken(role) for name, role in COMMAND_ROLES.items()}
    for line in files(__package__).joinpath("symbols.tsv").read_text("utf-8").splitlines():
        if line.startswith(("#", "role\t")):
            continue
        role, node_class, groups = line.split("\t")
        for group in groups.split(" "):
            names = group.split("=")
            table |= {name: LatexToken(role, node_class, SYMBOL_OF.get(names[0], names[0])) for name in names}
    return table


def number(digits: str) -> LatexToken:
    """Return the token of an integer: zero and one have classes of their own."""
    value = int(digits)
    node_class = {0: "ZERO", 1: "ONE"}.get(value, "NUM")
    return LatexToken("number", node_class, str(value) if value <= BIGGEST_NUMBER else "bignum")


def argument_end(latex: str, start: int) -> int:
    """Return the position after the brace group at `start`. Escaped braces count as braces, as in the original."""
    depth = 0
    for position in range(start, len(latex)):
        depth += (latex[position] == "{") - (latex[position] == "}")
        if depth == 0:
            return position + 1
    raise UnreadableFormula("the argument of a command is not closed", where=latex[start : start + 40])


class Lexer:
    """Splits one formula into tokens."""

    def __init__(self, latex: str) -> None:
        self.latex, self.position = latex, 0
        self.font = ""  # of the letters up to `font_depth`
        self.font_depth: int | None = None  # braces that are open inside the argument of a font command
        self.matrices = 0
        self.tokens: list[LatexToken] = []

    def run(self) -> list[LatexToken]:
        """Return the tokens of the whole formula."""
        while self.position < len(self.latex):
            match = PATTERN.match(self.latex, self.position)
            assert match is not None  # the last alternative matches any character
            self.position, kind = match.end(), match.lastgroup or ""
            if kind in FIXED:
                self.tokens.append(FIXED[kind])
            else:
                getattr(self, f"_{kind}")(match[kind])
        return self.tokens

    def _comment(self, text: str) -> None:
        """Skip the rest of the line."""

    _space = _empty = _comment

    def _begin(self, name: str, step: int = 1) -> None:
        if name in MATRICES:
            self.matrices += step
            self.tokens.append(LatexToken("open matrix" if step > 0 else "close matrix"))
        elif name not in DISPLAYS:
            self.tokens += [LatexToken("open brace"), *Lexer(name).run(), LatexToken("close brace")]

    def _end(self, name: str) -> None:
        self._begin(name, -1)

    def _left(self, fence: str) -> None:
        self.tokens.append(LatexToken(LEFT_FENCES[fence]))

    def _right(self, fence: str) -> None:
        self.tokens.append(LatexToken(RIGHT_FENCES[fence]))

    def _dropped(self, _: str) -> None:
        self.position = argument_end(self.latex, self.position)

    def _text(self, _: str) -> None:
        self.position = argument_end(self.latex, self.position)
        self.tokens.append(LatexToken("function", "NAME_FUN", "ast"))

    def _font(self, name: str) -> None:
        self.font = FONTS[name]
        self.font_depth = None
        if self.latex[self.position : self.position + 1] == "{":
            self.position += 1
            self.font_depth = 1

    def _halves(self, digits: str, node_class: str = "FRAC") -> None:
        self.tokens += [LatexToken("two digits", node_class, node_class.lower()), *map(number, digits)]

    def _choices(self, digits: str) -> None:
        self._halves(digits, "BINOM")

    def _command(self, name: str) -> None:
        if name in command_tokens():
            self.tokens.append(command_tokens()[name])

    def _escaped(self, text: str) -> None:
        if text in SKIPPED_ESCAPES:
            return
        if text == "\\\\" and self.matrices:
            self.tokens.append(LatexToken("row", "TAB_ROW", "row"))
        elif text in ESCAPED:
            self.tokens.append(ESCAPED[text])
        else:
            self.position -= 1  # the backslash has no meaning here

    def _float(self, text: str) -> None:
        if len(text) > LONGEST_FLOAT:
            self.tokens.append(number("0"))
            return
        whole, _, part = text.partition(".")
        self.tokens += [LatexToken("two digits", "FLOAT", "float"), number(whole), number(part)]

    def _number(self, digits: str) -> None:
        self.tokens.append(number(digits))

    _starred = _number

    def _word(self, word: str) -> None:
        self.tokens.append(LatexToken("separator", "SEP", "colon") if word == "colon" else command_tokens()[word])

    def _letter(self, letter: str) -> None:
        self.tokens.append(LatexToken("atom", "VAR", f"{self.font}:{letter}" if self.font else letter))
        if self.font_depth is None:
            self.font = ""

    def _character(self, character: str) -> None:
        if character == "&":
            if self.matrices:
                self.tokens.append(LatexToken("column", "TAB_COL", "column"))
            return
        if self.font_depth is not None and character in "{}":
            self.font_depth += 1 if character == "{" else -1
            if self.font_depth == 0:
                self.font, self.font_depth = "", None
            return  # braces inside the argument of a font command have no meaning, as in the original
        if character in CHARACTERS:
            self.tokens.append(CHARACTERS[character])


def tokenize(latex: str) -> list[LatexToken]:
    """Return the tokens of a formula."""
    return Lexer(latex).run()
