"""Tokens of typed mathematics: numbers, letters, names of functions and Greek letters, symbols. `names.tsv` lists the
names and symbols."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

Kind = Literal[
    "number", "letter", "differential", "wildcard", "function", "named", "operator", "big", "root", "fence", "accent",
    "binomial", "relation", "sum", "product", "slash", "script", "postfix", "dots", "open", "close", "bar", "comma",
    "percent", "word", "latex",
]  # fmt: skip
OPERANDS: frozenset[Kind] = frozenset(("number", "letter", "differential", "wildcard"))
MAX_TAIL = 2  # letters that may follow the name of a function without a blank: sinx, cosnx

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:[.,]\d+)*)|(?P<wildcard>\?[A-Za-z]\w*)|(?P<latex>\\[A-Za-z]+|\\.)"
    r"|(?P<run>[A-Za-z]+)|(?P<symbol>.)",
    re.DOTALL,
)
_DIFFERENTIAL = re.compile(r"[A-Za-z]??d[xyztursvwpASV]")
_INNER_FUNCTION = re.compile(r"([a-z])(sin|cos|tan|ln|log|exp)([a-z]{1,2})")
_CHOOSE = re.compile(r"([a-zN])C([a-zR])")
# English words that look like a function with letters beside it: `cost` is not cos t, `using` is not u sin g.
_ENGLISH = frozenset((
    "since", "sing", "sings", "sink", "sins", "using", "cost", "costs", "cosy", "tank", "tang", "stand", "stands",
    "logic", "login", "logs", "logo", "blog", "blogs", "expel", "expo", "mind", "minds", "mine", "mini", "mint",
    "minor", "minus", "maxi", "maxim", "limb", "lime", "limit", "limp", "deter", "dime", "argue", "super", "infer",
    "info", "mode", "model", "modes", "modal", "sect", "cots", "kern", "signs", "signed",
))  # fmt: skip
_COMPOSED = frozenset(("letter", "number", "close", "postfix"))
_PRODUCT_OF_GREEK = ("pi", "theta", "alpha", "beta", "lambda", "omega", "phi")


class Token(NamedTuple):
    """A token: its kind, its LaTeX, what was typed, and whether a blank precedes it."""

    kind: Kind
    latex: str
    text: str
    space: bool = False


class Name(NamedTuple):
    """A row of `names.tsv` for one typed form."""

    kind: Kind
    latex: str


@cache
def names() -> dict[str, Name]:
    """Return the table by typed form."""
    rows = files(__package__).joinpath("names.tsv").read_text("utf-8").splitlines()
    found: dict[str, Name] = {}
    for row in rows:
        if not row.startswith("#"):
            kind, latex, typed = row.split("\t")
            own = Name(next(one for one in get_args(Kind) if one == kind), latex)
            found.update(dict.fromkeys(typed.split(" "), own))
    return found


@cache
def _symbols() -> re.Pattern[str]:
    forms = (form for form in names() if not form.isalpha() or not form.isascii())
    return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a typed formula. Characters without meaning are left out."""
    found: list[Token] = []
    at, space = 0, False
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # the last alternative matches every character
        at = match.end()
        if match["space"]:
            space = True
            continue
        if match["number"]:
            made = [Token("number", match[0], match[0])]
        elif match["wildcard"]:
            made = [Token("wildcard", match[0] + " ", match[0])]
        elif match["latex"]:
            made = [Token("latex", match[0] + " ", match[0])]
        elif match["run"]:
            made = letters(match[0])
        else:
            symbol = _symbols().match(text, match.start())
            at = symbol.end() if symbol else at
            made = [_named(symbol[0])] if symbol else []
        found += [one._replace(space=space) if not number else one for number, one in enumerate(made)]
        space = space and not made
    return [_in_context(found, at) for at in range(len(found))]


def _in_context(tokens: list[Token], at: int) -> Token:
    """Return a token as its neighbours make it: `f o g` composes, `5C2` chooses, some dots are low."""
    token = tokens[at]
    before = tokens[at - 1] if at else token
    after = tokens[at + 1] if at + 1 < len(tokens) else token
    if token.text == "o" and token.space and after.space and after.kind == "letter" and before.kind in _COMPOSED:
        return Token("product", "\\circ ", "o", True)
    if token.text == "C" and not token.space and before.kind == after.kind == "number" and not after.space:
        return _named("choose")
    if token.kind == "dots" and before is not token and before.kind in ("number", "comma"):
        return token._replace(latex="\\ldots ")
    return token


def letters(run: str) -> list[Token]:
    """Return the tokens of a run of letters: a name, a differential, `sinx`, or single letters."""
    if run in names():
        return [_named(run)]
    if run.lower() in _ENGLISH:
        return list(map(_letter, run))
    if _DIFFERENTIAL.fullmatch(run) and len(run) > 1:
        return [*map(_letter, run[:-2]), Token("differential", f"d{run[-1]}", run[-2:])]
    if chosen := _CHOOSE.fullmatch(run):
        return [_letter(chosen[1]), _named("choose"), _letter(chosen[2])]
    if inner := _INNER_FUNCTION.fullmatch(run):
        return [_letter(inner[1]), _named(inner[2]), *letters(inner[3])]
    for size in range(len(run) - 1, max(1, len(run) - MAX_TAIL - 1), -1):
        name = names().get(run[:size])
        if name is not None and name.kind in ("function", "root"):
            return [_named(run[:size]), *letters(run[size:])]
    if run[1:] in _PRODUCT_OF_GREEK:
        return [_letter(run[0]), _named(run[1:])]
    if run[:-1] in _PRODUCT_OF_GREEK:
        return [_named(run[:-1]), _letter(run[-1])]
    return list(map(_letter, run))


def is_name(run: str) -> bool:
    """Return whether a run of letters is more than a product: a name, a differential, or `sinx`."""
    found = letters(run)
    return len(run) > 1 and not all(token.kind == "letter" and len(token.text) == 1 for token in found)


def _letter(char: str) -> Token:
    return Token("letter", char, char)


def _named(form: str) -> Token:
    name = names()[form]
    blank = " " if name.latex[-1:].isalpha() and name.latex.startswith("\\") else ""
    return Token(name.kind, name.latex + blank, form)


# Superscripts and subscripts as the plain characters that they raise or lower.
_RAISED = dict(
    zip(
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ",
        "0123456789+-=()niabcdefghjklmoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
        strict=True,
    )
)
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", "0123456789+-=()aehijklmnoprstuvxβγρφχ", strict=True))
_RAISED_RUN = re.compile(f"[{''.join(_RAISED)}]+")
_INDEX = re.compile(f"(?<![{''.join(_RAISED)}])([{''.join(_RAISED)}]++)√")
_LOWERED_RUN = re.compile(f"[{''.join(_LOWERED)}]+")
_FRACTIONS = {char: unicodedata.normalize("NFKC", char).replace("⁄", "/") for char in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_FRACTION = re.compile(f"[{''.join(_FRACTIONS)}]")
# Marks above a letter, as the name of the accent.
_ACCENTS = {"\u0304": "overline", "\u0305": "overline", "\u0302": "hat", "\u20d7": "vec"}
_ACCENTED = re.compile(f"(\\w)([{''.join(_ACCENTS)}])")
_ANGLE = re.compile(r"<([^<>=\s]{1,20},[^<>=\s]{1,20})>")
_ROOT = re.compile(r"\b([sS]quare|[cC]ube) root of ")
_NESTED_BARS = re.compile(r"\|\|([^|]+)\|(\s*[-+−]\s*)\|([^|]+)\|\|")
_STYLED = re.compile("[\U0001d400-\U0001d7ff\ufb00-\ufb06\uff01-\uff5e]")
# Invisible characters; among them Word's mark between an operator and its operand, and the invisible operators of
# MathML.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]")
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000▒]")


def plain_characters(text: str) -> str:
    """Return a text in which mathematics uses few characters: `x²` becomes `x^(2)`, `½` `〖1/2〗`, a styled letter a
    plain one.

    >>> plain_characters("∫₀^∞ 𝑥² + ½")
    '∫_(0)^∞ x^(2) + 〖1/2〗'
    """
    text = _ROOT.sub(lambda found: "cbrt " if found[1][0] in "cC" else "sqrt ", text)
    text = _NESTED_BARS.sub(r"|〖|\1|\2|\3|〗|", text)
    text = _ANGLE.sub(r"⟨\1⟩", text)
    if text.isascii():
        return text
    text = _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found[0]), _INVISIBLE.sub("", text))
    text = _SPACES.sub(" ", text)
    text = _ACCENTED.sub(lambda found: f"{_ACCENTS[found[2]]}({found[1]})", text)
    text = _FRACTION.sub(lambda found: f"〖{_FRACTIONS[found[0]]}〗", text)
    text = _INDEX.sub(lambda found: f"root({_translated(found[1], _RAISED)})", text)
    text = _RAISED_RUN.sub(lambda found: f"^({_translated(found[0], _RAISED)})", text)
    return _LOWERED_RUN.sub(lambda found: f"_({_translated(found[0], _LOWERED)})", text)


def _translated(run: str, table: dict[str, str]) -> str:
    return "".join(table[char] for char in run)


SCRIPTS = "".join((*_RAISED, *_LOWERED, *_FRACTIONS)).translate(dict.fromkeys(b"()"))  # that only mathematics uses
