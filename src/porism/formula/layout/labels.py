"""Labels of layout nodes from the text of MathML tokens.

A label describes how a token looks, whatever converter wrote it. Converters choose `mi`, `mo` and `mn` differently, so
the type comes from the characters: `V!x` is a letter, a name or a symbol for a value, `N!12` a number, `T!if` text,
`?x` a wildcard; an operator or mark has no type.

Bold, blackboard, script and fraktur letters keep their own characters, because a reader sees them. Labels drop
mathematical italic (the default), upright against italic, sizes, spaces, variation selectors and invisible operators.
Characters that look the same (`symbols.tsv`) get one label."""

from __future__ import annotations

import html
import re
import unicodedata
from importlib import resources

OPENING = {
    "(": ")", "[": "]", "{": "}", "⟨": "⟩", "⌊": "⌋", "⌈": "⌉", "⟦": "⟧", "⟮": "⟯", "⟪": "⟫", "⎰": "⎱", "⌜": "⌝",
    "⌞": "⌟",
}  # fmt: skip
CLOSING = frozenset(OPENING.values())
BARS = frozenset("|‖")

# Symbols for values, not for operations between values.
OPERANDS = frozenset("∞∅…⋯⋮⋱⋰⊤⊥℘ℏ°□■◻△▽◊⋄★♠♡♢♣♭♮♯∠∡∢ℵℶℷℸℑℜℓ℧ð¶§")
_DROP = dict.fromkeys([*range(0xFE00, 0xFE10), 0x00AD, 0x200B, *range(0x2060, 0x2065), 0x200C, 0x200D, 0xFEFF])
_SPACE = re.compile(r"\s+")
# Characters of a token; the library raises an error for a number with thousands of digits.
LONGEST_WITH_ENTITIES = 1_000
# A word of letters, a number, or one mark. LaTeXML and math-core sometimes put several into one token.
_PARTS = re.compile(r"\\[A-Za-z]+|[^\W\d_]+(?: [^\W\d_]+)*|\d+(?:\.\d+)*|\S")
# Alphabets of which LaTeXML makes one token per letter; upright and bold words stay whole.
_SPELLED = re.compile(
    r"MATHEMATICAL (?:SCRIPT|BOLD SCRIPT|FRAKTUR|DOUBLE-STRUCK)|(?:SCRIPT|DOUBLE-STRUCK|BLACK-LETTER) (?:CAPITAL|SMALL)"
)
_MATHEMATICAL = re.compile("[\U0001d400-\U0001d7ff]")


_LINES = resources.files("porism.formula.layout").joinpath("symbols.tsv").read_text(encoding="utf-8").splitlines()
_SAME: dict[str, str] = dict(line.split("\t")[:2] for line in _LINES if line and not line.startswith("#"))
# Cached labels by element name + text; nearly all tokens of a formula are among them.
_cached: dict[str, tuple[str, ...]] = {}


def is_operator(label: str) -> bool:
    """Check whether a label is that of an operator or mark, not of a symbol, group or wildcard."""
    return label[1:2] != "!" and (label[0] != "?" or len(label) == 1)


def token_labels(tag: str, text: str) -> tuple[str, ...]:
    """Return the labels of a token element from its escaped text: none when nothing is visible, several when a
    converter merged tokens.

    >>> token_labels("mi", "x"), token_labels("mo", "-"), token_labels("mn", "12"), token_labels("mi", "ℝ")
    (('V!x',), ('−',), ('N!12',), ('V!ℝ',))
    """
    key = tag + text
    found = _cached.get(key)
    if found is None:
        if len(_cached) > 50_000:
            _cached.clear()
        found = _make(tag, text)
        if len(key) < 64:
            _cached[key] = found
    return found


def _make(tag: str, text: str) -> tuple[str, ...]:
    if len(text) < LONGEST_WITH_ENTITIES:
        text = html.unescape(text)
    text = _SPACE.sub(" ", text.translate(_DROP)).strip()
    if not text:
        return ()
    if tag in ("mtext", "ms"):
        return ("T!" + text,)
    if _MATHEMATICAL.search(text):
        text = "".join(map(_plain, text))
    text = _SAME.get(text, text)
    if tag == "mn" and text[-1].isdecimal():
        return ("N!" + text,)
    if text[0] == "?" and len(text) > 1 and tag == "mi":
        return (text,)
    if text.startswith("qvar_"):
        # LaTeXML's wildcard package; in posts it read a question mark and its neighbour as a wildcard.
        name = text[5:]
        if name == "missing":
            return ("?",)
        if name.isalnum():
            return ("?" + name,)
        return ("?", *(_make("mi", html.escape(name)) if name.isascii() else ()))
    if text in _WHOLE:
        return (text,)
    return tuple(label for part in _PARTS.findall(text) for label in _spelled(part))


# Operators of several characters that stay one.
_WHOLE = frozenset((":=", "′′", "′′′", "′′′′"))


def _spelled(part: str) -> list[str]:
    if len(part) > 1 and _SPELLED.match(unicodedata.name(part[0], "")):
        return ["V!" + letter for letter in part]
    return [_label(_SAME.get(part, part))]


def _label(text: str) -> str:
    first = text[0]
    if first.isdecimal():
        return "N!" + text
    if first in OPERANDS or (first == "\\" and len(text) > 1) or unicodedata.category(first)[0] in "LN":
        return "V!" + text
    return text


def bold(text: str) -> str:
    """Return a text in bold letters, as LaTeXML writes `\\textbf`."""
    return text.translate(_BOLD)


_BOLD = {ord("A") + at: 0x1D400 + at for at in range(26)} | {ord("a") + at: 0x1D41A + at for at in range(26)}


def _plain(char: str) -> str:
    """Return the plain letter for mathematical italic, sans and typewriter, bold for bold italic; others stay."""
    name = unicodedata.name(char, "") if "\U0001d400" <= char <= "\U0001d7ff" else ""
    if name.startswith(("MATHEMATICAL ITALIC", "MATHEMATICAL SANS-SERIF", "MATHEMATICAL MONOSPACE")):
        return unicodedata.normalize("NFKC", char)
    if name.startswith("MATHEMATICAL BOLD ITALIC"):
        return unicodedata.lookup(name.replace(" ITALIC", ""))
    return char
