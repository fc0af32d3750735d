"""Factors of typed mathematics: numbers, letters, functions with their arguments, roots, scripts, brackets and bars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from porism.text.typed.tokens import Token

MAX_DEPTH = 40
MAX_RETRIES = 3  # attempts at a binomial coefficient or an absolute value that turned out to be none
END = Token("close", "", "")
_MATCHING = {
    "(": ")", "[": "]", "\\{": "\\}", "\\langle ": "\\rangle ", "\\lfloor ": "\\rfloor ", "\\lceil ": "\\rceil ",
    "{": "}",
}  # fmt: skip
STARTS_FACTOR = frozenset((
    "number", "letter", "differential", "wildcard", "function", "named", "operator", "big", "root", "fence", "accent",
    "binomial", "open", "dots", "latex",
))  # fmt: skip
_BEFORE_OPERAND = frozenset(("relation", "sum", "product", "slash", "comma", "open", "script", "bar"))
_CONTINUES_ARGUMENT = frozenset(("number", "letter", "wildcard"))


class Convention(NamedTuple):
    """How ambiguous input is read."""

    long_denominator: bool = True  # 1/2x is 1/(2x)
    long_numerator: bool = False  # k pi/2 is (k pi)/2
    binomial_call: bool = True  # C(n,k) is a binomial coefficient
    long_exponent: bool = False  # e^2x is e^(2x)


class LatexPart(NamedTuple):
    """LaTeX of a part; `inner`: the content of its bracket if replaced; `tight`: no blank before it."""

    latex: str
    inner: str = ""
    tight: bool = False


class FactorParser(ABC):
    """Parses factors; `TypedParser` combines them."""

    def __init__(self, tokens: Sequence[Token], convention: Convention) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._bars = 0
        self._retries = 0
        self._convention = convention

    def _peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else END

    def _take(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _retry(self, at: int) -> None:
        """Go back to a position. The number of times is bounded, so that nested attempts do not multiply."""
        self._retries += 1
        self._at = at

    def _takes(self, kind: str, latex: str = "") -> bool:
        token = self._peek()
        if token.kind == kind and (not latex or token.latex == latex):
            self._at += 1
            return True
        return False

    def _follows_operand(self) -> bool:
        """Return whether the token before this one ends an operand."""
        return self._at > 0 and self._tokens[self._at - 1].kind not in _BEFORE_OPERAND

    def _factor(self) -> LatexPart:
        """Parse one factor with its scripts."""
        token = self._peek()
        tight = not token.space
        in_bracket = self._at > 0 and self._tokens[self._at - 1].latex == "("
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._at += 1
            made = LatexPart(token.latex)
        elif token.kind in ("function", "named"):
            made = self._function()
        elif token.kind == "big":
            made = LatexPart(self._take().latex + self._scripts())
        elif token.kind in ("root", "fence", "accent"):
            self._at += 1
            made = self._template(token)
        elif token.kind == "bar":
            made = self._bar_group()
        elif token.kind == "open":
            made = self._group()
        elif token.kind == "binomial":
            self._at += 1
            made = LatexPart(self._binomial_arguments())
        else:
            made = self._atom()
        self._depth -= 1
        if scripts := self._scripts():
            made = LatexPart((made.latex.rstrip() if made.latex.startswith("\\") else made.latex) + scripts)
        if self._peek().text == "choose":
            self._at += 1
            below = LatexPart(self._sum()) if in_bracket else self._factor()
            made = LatexPart(f"\\binom{{{made.inner or made.latex}}}{{{below.inner or below.latex}}}")
        return made._replace(tight=tight)

    def _atom(self) -> LatexPart:
        token = self._take()
        call = token.text in ("C", "c") and self._peek().latex == "(" and not self._peek().space
        if call and self._convention.binomial_call and self._retries < MAX_RETRIES:
            start = self._at
            made = self._binomial_arguments()
            if made:
                return LatexPart(made)
            self._retry(start)
        return LatexPart(token.latex)

    def _binomial_arguments(self) -> str:
        """Parse `(n,k)`; empty if that does not follow."""
        if self._peek().latex != "(":
            return "\\binom "
        self._at += 1
        above = self._sum()
        if not self._takes("comma"):
            return ""
        below = self._sum()
        return f"\\binom{{{above}}}{{{below}}}" if self._takes("close", ")") else ""

    def _function(self) -> LatexPart:
        """Parse a function with its scripts and its argument: a bracket, or factors without blanks between them."""
        token = self._take()
        following = self._peek()
        has_base = token.text == "log" and following.kind == "number" and not following.space
        has_base = has_base and self._peek(1).kind == "open"
        name = token.latex + (f"_{{{self._take().latex}}}" if has_base else self._scripts())
        following = self._peek()
        if following.kind == "open":
            return LatexPart(name.rstrip() + self._group().latex)
        if following.kind in ("function", "root", "fence", "bar", "operator"):
            return LatexPart(name + self._factor().latex)
        if following.kind not in _CONTINUES_ARGUMENT:
            return LatexPart(name)
        parts = [self._factor().latex]
        while self._peek().kind in _CONTINUES_ARGUMENT and not self._peek().space:
            parts.append(self._factor().latex)
        # sin pi/5 is the sine of a fifth of pi.
        if self._peek().kind == "slash" and parts[-1] == "\\pi " and self._peek(1).kind == "number":
            self._at += 1
            parts = [f"\\frac{{{''.join(parts).strip()}}}{{{self._take().latex}}}"]
        return LatexPart(name + "".join(parts))

    def _template(self, token: Token) -> LatexPart:
        """Parse a root, a fence or an accent. A root's index comes first, and before an & in Word's `√(3&x)`."""
        index = self._group().inner if "@" in token.latex and self._peek().kind == "open" else ""
        argument = self._argument(token.kind == "root")
        if token.kind == "root" and "&" in argument:
            first, _, second = argument.partition("&")
            return LatexPart(f"\\sqrt[{first}]{{{second}}}")
        return LatexPart(token.latex.rstrip().replace("@", index).replace("#", argument))

    def _argument(self, is_root: bool) -> str:
        """Parse the argument of a root, a fence or an accent: a bracket's content, or one factor."""
        if self._peek().kind == "open":
            return self._group().inner
        sign = self._take().latex if is_root and self._peek().kind == "sum" else ""
        if self._peek().kind not in STARTS_FACTOR:
            return sign
        first = self._peek()
        parts = [self._factor().latex]
        while first.kind == "letter" and self._peek().kind == "letter" and not self._peek().space:
            parts.append(self._factor().latex)
        return sign + "".join(parts).strip()

    def _scripts(self) -> str:
        """Parse scripts, primes and factorials."""
        parts: list[str] = []
        while self._peek().kind in ("script", "postfix"):
            token = self._take()
            if token.kind == "postfix":
                parts.append(token.latex)
            else:
                parts.append(f"{token.latex}{{{self._script(token.latex).strip()}}}")
        return "".join(parts)

    def _script(self, mark: str) -> str:
        """Parse the content of a script: a bracket, or a number, or letters without blanks, with a sign."""
        if self._peek().kind == "open":
            return self._group().inner
        parts = [self._take().latex] if self._peek().kind in ("sum", "product", "relation") else []
        if self._peek().kind not in STARTS_FACTOR:
            return "".join(parts)
        first = self._peek()
        nested = first.kind in ("root", "function", "named", "fence", "accent")
        parts.append(self._factor().latex if nested else self._take().latex)
        long = self._convention.long_exponent
        while not self._peek().space and (
            (self._peek().kind == "letter" and (first.kind == "letter" or long))
            or (self._peek().kind == "postfix" and self._peek().latex != "!")
        ):
            parts.append(self._take().latex)
        if mark == "^" and self._peek().kind == "script" and not self._peek().space:
            parts.append(self._scripts())
        return "".join(parts)

    def _group(self) -> LatexPart:
        """Parse a bracket. A script of a root's index, a matrix and a missing bracket are accepted."""
        opening = self._take()
        if opening.latex == "[" and self._peek().latex == "[":
            return self._matrix()
        if self._depth >= MAX_DEPTH:
            return LatexPart(opening.latex)
        bars, self._bars = self._bars, 0
        self._depth += 1
        inner = self._list()
        self._depth -= 1
        self._bars = bars
        is_closed = self._peek().kind == "close" and self._at < len(self._tokens)
        closing = self._take().latex if is_closed else _MATCHING[opening.latex]
        if opening.latex == "{" or closing == "}":
            return LatexPart(inner, inner or " ")
        if inner.startswith("\\bmod "):
            return LatexPart("\\pmod{" + inner.removeprefix("\\bmod ").strip() + "}")
        if "¦" in inner:
            above, _, below = inner.partition("¦")
            return LatexPart(f"\\binom{{{above}}}{{{below}}}")
        is_binomial = inner.startswith("\\binom") and inner.count("\\binom") == 1 and inner.endswith("}")
        if is_binomial and self._at > 1 and opening.latex == "(":
            return LatexPart(inner)
        plain = opening.latex in ("(", "\\{") and closing in (")", "\\}")
        return LatexPart(f"{opening.latex}{inner}{closing}", (inner or " ") if plain else "")

    def _matrix(self) -> LatexPart:
        """Parse `[[a,b],[c,d]]`."""
        rows: list[str] = []
        while self._takes("open", "["):
            rows.append(self._list().replace(",", "&"))
            self._takes("close")
            self._takes("comma")
        self._takes("close")
        return LatexPart("\\begin{pmatrix}" + "\\\\".join(rows) + "\\end{pmatrix}")

    def _opens_bar(self, factors: Sequence[LatexPart]) -> bool:
        """Return whether a bar opens: nothing precedes it, or no bar is open and another one follows."""
        if not factors or self._bars:
            return not factors
        bar = self._peek()
        closing = [token for token in self._tokens[self._at + 1 :] if token.kind == "bar" and token.latex == bar.latex]
        return len(closing) % 2 == 1 and not self._peek(1).space

    def _bar_group(self) -> LatexPart:
        """Parse an absolute value or a norm; a bar without a second one is written as it is."""
        start, bar = self._at, self._take()
        closes = any(token.kind == "bar" and token.latex == bar.latex for token in self._tokens[self._at :])
        if not closes or self._retries >= MAX_RETRIES:
            return LatexPart("\\mid ")
        self._bars += 1
        inner = self._list()
        self._bars -= 1
        if self._takes("bar", bar.latex):
            return LatexPart(f"{bar.latex}{inner}{bar.latex}" if bar.latex == "|" else f"\\|{inner}\\|")
        self._retry(start + 1)
        return LatexPart("\\mid ")

    @abstractmethod
    def _list(self) -> str:
        """Parse expressions between commas and relations, up to a closing bracket."""

    @abstractmethod
    def _sum(self) -> str:
        """Parse terms with signs between them."""
