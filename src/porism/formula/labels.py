"""From the text of a MathML token to the label of a layout node.

A label says what a token looks like, not which converter wrote it: `mi`, `mo` and `mn` are chosen differently by every converter, so
the type comes from the characters. Mathematical italic is the default and goes; bold, blackboard, script and fraktur letters stay as
their own characters (they are what a reader sees); variation selectors and invisible operators go.
"""

from __future__ import annotations

import re
import unicodedata

OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⌊": "⌋", "⌈": "⌉", "⟦": "⟧", "⟮": "⟯", "⟪": "⟫", "⎰": "⎱"}
CLOSING = frozenset(OPENING.values())
BARS = frozenset("|‖")

# Symbols that stand for a value, not for an operation between values.
OPERANDS = frozenset("∞∅…⋯⋮⋱⋰⊤℘ℏ°□■◻△▽◊⋄★♠♡♢♣♭♮♯∠∡∢ℵℶℷℸℑℜℓ℧ð•")
_DROP = dict.fromkeys([*range(0xFE00, 0xFE10), 0x200B, 0x2060, *range(0x2061, 0x2065), 0x200C, 0x200D, 0xFEFF])
_SPACE = re.compile(r"\s+")

# One character for symbols that look alike but that converters spell differently.
_SAME = {
    "-": "−",
    "‐": "−",
    "∥": "‖",
    "∕": "/",
    "∖": "\\",
    "⧵": "\\",
    "⋆": "⋆",
    "∗": "*",
    "＊": "*",
    "〈": "⟨",
    "〉": "⟩",
    "〈": "⟨",
    "〉": "⟩",
    "∣": "∣",
    "ˆ": "^",
    "̂": "^",
    "˜": "~",
    "̃": "~",
    "∼": "∼",
    "̲": "¯",
    "̄": "¯",
    "̅": "¯",
    "‾": "¯",
    "―": "¯",
    "_": "¯",
    "⃗": "→",
    "⟶": "→",
    "⟵": "←",
    "⟹": "⇒",
    "⟸": "⇐",
    "⟺": "⇔",
    "⟷": "↔",
    "⟼": "↦",
    "̇": "˙",
    "̈": "¨",
    "̌": "ˇ",
    "̆": "˘",
    "́": "´",
    "̀": "`",
    "ϵ": "ϵ",
    "≔": ":=",
    "′": "′",
    "'": "′",
    "’": "′",
    "⋅": "⋅",
    "·": "⋅",
    "⩽": "⩽",
    "△": "△",
    "Δ": "Δ",
    "∆": "Δ",
    "µ": "μ",
    "Ω": "Ω",
    "⁎": "*",
}

_labels: dict[str, str] = {}


def token_label(tag: str, text: str) -> str:
    """The label of a token element, or "" when nothing is to be seen.

    >>> token_label("mi", "x"), token_label("mo", "-"), token_label("mn", "12"), token_label("mi", "ℝ")
    ('V!x', '−', 'N!12', 'V!ℝ')
    """
    key = tag + text
    found = _labels.get(key)
    if found is None:
        if len(_labels) > 50_000:
            _labels.clear()
        found = _labels[key] = _make_label(tag, text)
    return found


def _make_label(tag: str, text: str) -> str:
    text = _SPACE.sub(" ", text.translate(_DROP)).strip()
    if not text:
        return ""
    if tag in ("mtext", "ms"):
        return "T!" + text
    text = "".join(map(_plain, text))
    if len(text) == 1:
        text = _SAME.get(text, text)
    if tag == "mn" or text.isdecimal():
        return "N!" + text
    first = text[0]
    if first in OPERANDS or unicodedata.category(first)[0] in "LN":
        return "V!" + text
    return text


def _plain(char: str) -> str:
    """Mathematical italic (also sans and typewriter digits) to plain letters; other alphabets stay."""
    if char < "\U0001d400" or char > "\U0001d7ff":
        return char
    name = unicodedata.name(char, "")
    if name.startswith(("MATHEMATICAL ITALIC", "MATHEMATICAL BOLD ITALIC")):
        plain = unicodedata.normalize("NFKC", char)
        return plain if "BOLD" not in name else _bold(plain)
    return char


def _bold(letter: str) -> str:
    if "A" <= letter <= "Z":
        return chr(0x1D400 + ord(letter) - 65)
    if "a" <= letter <= "z":
        return chr(0x1D41A + ord(letter) - 97)
    return letter
