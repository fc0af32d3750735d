"""From the text of a MathML token to the labels of layout nodes.

A label says what a token looks like, not which converter wrote it: `mi`, `mo` and `mn` are chosen differently by every converter, so
the type comes from the characters. `V!x` a letter or a name or a symbol that stands for a value, `N!12` a number, `T!if` text, `?x` a
wildcard, a bare text an operator or mark.

What a label keeps: bold, blackboard, script and fraktur letters stay as their own characters (a reader sees them). What it drops:
mathematical italic (the default), upright against italic, sizes, spaces, variation selectors, invisible operators. Marks that look
alike (`symbols.tsv`) get one character.
"""

from __future__ import annotations

import html
import re
import unicodedata
from importlib import resources

OPENING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "⟨": "⟩",
    "⌊": "⌋",
    "⌈": "⌉",
    "⟦": "⟧",
    "⟮": "⟯",
    "⟪": "⟫",
    "⎰": "⎱",
    "⌜": "⌝",
    "⌞": "⌟",
}
CLOSING = frozenset(OPENING.values())
BARS = frozenset("|‖")

# Symbols that stand for a value, not for an operation between values.
OPERANDS = frozenset("∞∅…⋯⋮⋱⋰⊤⊥℘ℏ°□■◻△▽◊⋄★♠♡♢♣♭♮♯∠∡∢ℵℶℷℸℑℜℓ℧ð¶§")
_DROP = dict.fromkeys([*range(0xFE00, 0xFE10), 0x00AD, 0x200B, *range(0x2060, 0x2065), 0x200C, 0x200D, 0xFEFF])
_SPACE = re.compile(r"\s+")
# A word of letters, a number, or one mark. LaTeXML and math-core put several into one token now and then.
_PARTS = re.compile(r"\\[A-Za-z]+|[^\W\d_]+(?: [^\W\d_]+)*|\d+(?:\.\d+)*|\S")
# Alphabets of which LaTeXML makes one token per letter; upright and bold words stay whole.
_SPELLED = re.compile(
    r"MATHEMATICAL (?:SCRIPT|BOLD SCRIPT|FRAKTUR|DOUBLE-STRUCK)|(?:SCRIPT|DOUBLE-STRUCK|BLACK-LETTER) (?:CAPITAL|SMALL)"
)
_MATHEMATICAL = re.compile("[\U0001d400-\U0001d7ff]")


def _read_symbols() -> dict[str, str]:
    text = resources.files("porism.formula.layout").joinpath("symbols.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t")[:2] for line in text.splitlines() if line and not line.startswith("#"))


_SAME = _read_symbols()
# Labels already made, by element name + text: a formula's tokens are nearly always among them.
KNOWN: dict[str, tuple[str, ...]] = {}


def is_operator(label: str) -> bool:
    """Whether a label is that of an operator or mark, not of a symbol, group or wildcard."""
    return label[1:2] != "!" and (label[0] != "?" or len(label) == 1)


def token_labels(tag: str, text: str) -> tuple[str, ...]:
    """The labels of a token element, its text escaped as in MathML; none when nothing is to be seen, several when a converter ran tokens together.

    >>> token_labels("mi", "x"), token_labels("mo", "-"), token_labels("mn", "12"), token_labels("mi", "ℝ")
    (('V!x',), ('−',), ('N!12',), ('V!ℝ',))
    """
    key = tag + text
    found = KNOWN.get(key)
    if found is None:
        if len(KNOWN) > 50_000:
            KNOWN.clear()
        found = _make(tag, text)
        if len(key) < 64:
            KNOWN[key] = found
    return found


def _make(tag: str, text: str) -> tuple[str, ...]:
    text = _SPACE.sub(" ", html.unescape(text).translate(_DROP)).strip()
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
        # LaTeXML's wildcard package; in a post it took a question mark and its neighbour for one.
        name = text[5:]
        return (
            ("?" + name,)
            if name.isalnum() and name != "missing"
            else ("?", *(_make("mi", html.escape(name)) if name.isascii() and name != "missing" else ()))
        )
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
    """Text in bold letters, as LaTeXML writes `\\textbf`."""
    return "".join(_bold(char) for char in text)


def _bold(char: str) -> str:
    if "A" <= char <= "Z":
        return chr(0x1D400 + ord(char) - 65)
    return chr(0x1D41A + ord(char) - 97) if "a" <= char <= "z" else char


def _plain(char: str) -> str:
    """Mathematical italic to plain, bold italic to bold; sans and typewriter to plain; other alphabets stay."""
    name = unicodedata.name(char, "") if "\U0001d400" <= char <= "\U0001d7ff" else ""
    if name.startswith(("MATHEMATICAL ITALIC", "MATHEMATICAL SANS-SERIF", "MATHEMATICAL MONOSPACE")):
        return unicodedata.normalize("NFKC", char)
    if name.startswith("MATHEMATICAL BOLD ITALIC"):
        return unicodedata.lookup(name.replace(" ITALIC", ""))
    return char
