"""Characters of typed and copied mathematics as plain ones: superscripts, fractions, styled letters, ligatures, Word's marks."""

from __future__ import annotations

import re
import unicodedata

# Superscripts and subscripts as the plain characters that they raise or lower.
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ", "0123456789+-=()niabcdefghjklmoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ", strict=True))  # fmt: skip
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
# Invisible characters; among them Word's mark between an operator and its operand, and the invisible operators of MathML.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]")
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000▒]")


def plain_characters(text: str) -> str:
    """Return a text in which mathematics uses few characters: `x²` becomes `x^(2)`, `½` `〖1/2〗`, a styled letter a plain one.

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


SCRIPTS = "".join((*_RAISED, *_LOWERED, *_FRACTIONS)).translate(
    str.maketrans("", "", "()")
)  # characters that only mathematics uses
