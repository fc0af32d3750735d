"""LaTeX outside of formulas: definitions of macros, expanded in the formulas, and accented letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize

from porism.formula.latex.editable import EditableLatex
from porism.formula.latex.macros import DEFINES, Budget, Macros, definitions, expand_macros
from porism.text.segment import Text

HINTS = ("\\newcommand", "\\renewcommand", "\\providecommand", "\\def", "\\DeclareMathOperator", "\\let")


def expand(latex: str, macros: Macros, budget: Budget) -> str:
    """Expand these macros in a formula; one beyond the budget of its text stays as typed, and is counted."""
    if not macros or "\\" not in latex:
        return latex
    source = EditableLatex(latex)
    if budget.left > 0 and expand_macros(source, macros, budget):
        return source.text
    budget.refused += 1
    return latex


def defined_macros(texts: Iterable[Text]) -> Macros:
    """Return the macros that formulas of some texts define; on the site they hold for the whole page."""
    marked = [text for text in texts if any(hint in text.stored for hint in HINTS)]
    return definitions("\n".join(formula.text for text in marked for formula in text.formulas))


def self_contained(latex: Sequence[str], budget: Budget) -> tuple[str, ...]:
    """Expand in each formula the macros that others define; a formula that defines macros stays."""
    defining = [formula for formula in latex if any(hint in formula for hint in HINTS) and DEFINES.search(formula)]
    if not defining:
        return tuple(latex)
    macros = definitions("\n".join(defining))
    kept = set(defining)
    return tuple(formula if formula in kept else expand(formula, macros, budget) for formula in latex)


ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307"}
LETTER_ACCENTS = {"c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a"}
LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "aa": "å", "AA": "Å", "i": "ı"}
_FORMULA = r"\$[^$]*\$"
_ACCENT = r"\\(?P<sign>['`^\"~=.])\s?\{?\\?(?P<letter>[A-Za-z])\}?|\\(?P<name>[cvuHr])\{(?P<under>[A-Za-z])\}?"
_LETTER = r"\{\\(?P<braced>[A-Za-z]{1,2})\}?|\\(?P<bare>ss|[oOlLi]|ae|AE|aa|AA)(?![A-Za-z])\s?"
_PIECE = re.compile(f"{_FORMULA}|{_ACCENT}|{_LETTER}")


def decode_accents(text: str) -> str:
    r"""Return a text with the accented letters of LaTeX as characters; formulas between dollar signs stay.

    >>> decode_accents(r"Koll\'ar, \v{C}ech, Erd\H{o}s, l'H\^{o}pital, St{\o}rmer, G\"odel")
    "Kollár, Čech, Erdős, l'Hôpital, Størmer, Gödel"
    """
    return _PIECE.sub(_decoded, text) if "\\" in text else text


def _decoded(match: re.Match[str]) -> str:
    if letter := match["letter"] or match["under"]:
        mark = ACCENTS[match["sign"]] if match["sign"] else LETTER_ACCENTS[match["name"]]
        return normalize("NFC", letter + mark)
    return LETTERS.get(match["braced"] or match["bare"] or "", match[0])
