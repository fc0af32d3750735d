"""A precedence parser from the tokens of typed mathematics to LaTeX. It takes time linear in the tokens and accepts
every sequence of them.

What people type is ambiguous in a few places: `1/2x`, `e^2x`, `C(n,k)`. A `Convention` decides them; `latex_readings`
returns the LaTeX of each convention that makes a difference, the most usual first."""

from __future__ import annotations

import re

from porism.text.typed.bounds import place_bounds
from porism.text.typed.factors import STARTS_FACTOR, Convention, FactorParser, LatexPart
from porism.text.typed.tokens import plain_characters, tokenise

MAX_TOKENS = 400  # of a typed formula; longer ones are no formulas that a person types
_BLANK_BEFORE_SCRIPT = re.compile(r"(?<=[A-Za-z0-9]) (?=[_^])")
CONVENTIONS = (
    Convention(),
    Convention(long_denominator=False),
    Convention(long_numerator=True),
    Convention(binomial_call=False),
    Convention(long_exponent=True),
)


def latex_readings(text: str) -> tuple[str, ...]:
    """Return the LaTeX of typed mathematics in each convention that makes a difference, the most usual first; empty if
    there is none.

    >>> latex_readings("sqrt(2)/x^12")
    ('\\\\frac{\\\\sqrt{2}}{x^{12}}',)
    >>> latex_readings("1/2x")
    ('\\\\frac{1}{2x}', '\\\\frac{1}{2}x')
    """
    tokens = tokenise(plain_characters(text))
    if not tokens or len(tokens) > MAX_TOKENS:
        return ()
    placed = place_bounds(tokens)
    return tuple(dict.fromkeys(TypedParser(placed, convention).parse() for convention in CONVENTIONS))


class TypedParser(FactorParser):
    """Parses one sequence of tokens, from the loosest connection to the tightest."""

    def parse(self) -> str:
        """Return the LaTeX of all tokens; a bracket that closes nothing is written as it is."""
        parts: list[str] = []
        while self._at < len(self._tokens):
            before = self._at
            parts.append(self._list())
            if self._at == before:
                parts.append(self._take().latex)
        return _BLANK_BEFORE_SCRIPT.sub("", "".join(parts)).strip()

    def _list(self) -> str:
        """Parse expressions between commas and relations, up to a closing bracket."""
        parts: list[str] = []
        relation = -1
        while self._at < len(self._tokens):
            token = self._peek()
            if token.kind == "close" or (token.kind == "bar" and self._bars and self._follows_operand()):
                break
            if token.kind in ("relation", "comma"):
                relation = len(parts) if token.latex == "=" else relation
                parts.append(self._take().latex)
            elif token.kind == "bar" and self._is_divides():
                self._at += 1
                parts.append("\\mid ")
            elif token.kind == "word" and token.latex in ("and", "or"):
                parts.append(f"\\text{{ {self._take().latex} }}")
            elif token.kind == "word" and token.latex in ("mod", "divides"):
                self._at += 1
                if token.latex == "divides":
                    parts.append("\\mid ")
                    continue
                operand = self._product().strip()
                if relation >= 0:
                    parts[relation] = "\\equiv "  # `mod` makes an equation before it a congruence
                parts.append(f"\\pmod{{{operand}}}" if relation >= 0 else f"\\bmod {operand}")
            else:
                before = self._at
                parts.append(self._sum())
                if self._at == before:
                    self._at += 1
        return "".join(parts)

    def _is_divides(self) -> bool:
        """Return whether a bar between two operands divides: no bar is open, and something precedes and follows it."""
        bar, after = self._peek(), self._peek(1)
        if self._bars or not self._follows_operand() or not (after.kind in STARTS_FACTOR or after.kind == "sum"):
            return False
        return after.space or not any(
            one.kind == "bar" and one.latex == bar.latex for one in self._tokens[self._at + 1 :]
        )

    def _sum(self) -> str:
        parts: list[str] = []
        while not parts or self._peek().kind == "sum":
            while self._peek().kind == "sum":
                parts.append(self._take().latex)
            parts.append(self._product())
        return "".join(parts)

    def _product(self) -> str:
        """Parse factors, products and fractions. A slash between blanks divides all before it by all after it."""
        factors: list[LatexPart] = []
        while True:
            token = self._peek()
            if token.kind == "product":
                sign = self._take().latex
                if sign != "*" or self._peek().kind in ("number", "sum"):
                    factors.append(LatexPart("\\cdot " if sign == "*" else sign))
                factors += [LatexPart(self._take().latex)] if self._peek().kind == "sum" else []
            elif token.kind == "slash" and factors:
                self._fraction(factors)
            elif token.kind in STARTS_FACTOR or (token.kind == "bar" and self._opens_bar(factors)):
                big = token.kind == "big"
                factors.append(self._factor())
                if big:
                    # An operator applies to what follows: no fraction reaches over it.
                    sign = self._take().latex if self._peek().kind == "sum" else ""
                    return "".join(one.latex for one in factors) + sign + self._product()
            elif token.kind in ("slash", "percent"):
                factors.append(LatexPart(self._take().latex))
            elif token.kind == "word" and token.latex in ("squared", "cubed", "over"):
                self._at += 1
                factors.append(LatexPart({"squared": "^{2}", "cubed": "^{3}", "over": ""}[token.latex], tight=True))
            elif token.kind == "postfix" or (token.kind == "script" and factors):
                factors.append(LatexPart(self._scripts(), tight=True))
            elif token.kind == "script":
                self._at += 1
            else:
                return "".join(one.latex for one in factors)

    def _fraction(self, factors: list[LatexPart]) -> None:
        """Parse a slash and its denominator; the last factors become the numerator."""
        loose = self._take().space and self._peek().space
        start = 0 if loose or self._convention.long_numerator else len(factors) - 1
        while start > 0 and factors[start].tight:
            start -= 1
        while start < len(factors) - 1 and factors[start].latex in ("\\cdot ", "\\circ ", "-", "+"):
            start += 1
        numerator = factors[start:]
        del factors[start:]
        below = self._denominator(loose)
        inner = numerator[0].inner if len(numerator) == 1 else ""
        above = inner or "".join(one.latex for one in numerator)
        tight = bool(numerator) and numerator[0].tight
        factors.append(LatexPart(f"\\frac{{{above.strip()}}}{{{below.strip()}}}", tight=tight))

    def _denominator(self, loose: bool) -> str:
        sign = self._take().latex if self._peek().kind == "sum" else ""
        if self._peek().kind not in STARTS_FACTOR and self._peek().kind != "bar":
            return sign
        first_kind = self._peek().kind
        first = self._factor()
        parts = [first]
        while self._peek().kind in STARTS_FACTOR and self._continues_denominator(loose, first_kind, len(parts)):
            parts.append(self._factor())
        return sign + (first.inner or first.latex if len(parts) == 1 else "".join(one.latex for one in parts))

    def _continues_denominator(self, loose: bool, first_kind: str, count: int) -> bool:
        """Return whether the next factor is in the denominator: any behind ` / `, else those without a blank."""
        token = self._peek()
        if token.kind in ("differential", "big"):
            return first_kind == "operator" and count == 1
        if first_kind == "operator" and count == 1:
            return token.kind == "letter"
        if loose:
            return True
        if token.space or not self._convention.long_denominator or first_kind in ("open", "differential"):
            return False
        return not (token.kind == "open" and first_kind == "number")
