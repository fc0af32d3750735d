"""Accented letters as LaTeX writes them outside of formulas."""

from __future__ import annotations

import re
from unicodedata import normalize

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
