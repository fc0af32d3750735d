"""The sizes of glyphs, and which characters a label is written with."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

_TABLE = "metrics.tsv"
_ITALIC = {**dict(zip("abcdefgijklmnopqrstuvwxyz", "𝑎𝑏𝑐𝑑𝑒𝑓𝑔𝑖𝑗𝑘𝑙𝑚𝑛𝑜𝑝𝑞𝑟𝑠𝑡𝑢𝑣𝑤𝑥𝑦𝑧", strict=True)), "h": "ℎ"}
_ITALIC.update(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "𝐴𝐵𝐶𝐷𝐸𝐹𝐺𝐻𝐼𝐽𝐾𝐿𝑀𝑁𝑂𝑃𝑄𝑅𝑆𝑇𝑈𝑉𝑊𝑋𝑌𝑍", strict=True))
RELATIONS = frozenset("=≈≡∼≅≠<>≤≥∈∉⊂⊆⊃⊇→←↔⇒⇐⇔↦⟶⟹⟸⟺∣∥:")
BINARY = frozenset("+−-±∓×÷∗∘⊕⊗∪∩∧∨⋅·*")
_BINARY_SPACE, _RELATION_SPACE, _COMMA_SPACE = 0.22, 0.28, 0.17


class Glyph(NamedTuple):
    """A glyph: its name, which keeps mathematical italic, and its size in em."""

    name: str
    width: float
    height: float
    depth: float


@lru_cache(1)
def _metrics() -> list[tuple[str, float, float, float]]:
    text = resources.files("porism.systems.xyphoc").joinpath(_TABLE).read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return [(chars, *(int(value) / 100 for value in values)) for chars, *values in rows]  # type: ignore[misc]


@lru_cache(10_000)
def glyph(char: str, italic: bool = False) -> Glyph:
    """Return a glyph. Letters of other alphabets are as large as the plain letter."""
    plain = unicodedata.normalize("NFKC", char)[:1] or char
    sizes = next((row[1:] for row in _metrics() if plain in row[0] or row[0] == "*"), (0.75, 0.7, 0.0))
    return Glyph(_ITALIC.get(char, char) if italic else char, *sizes)


def glyphs_of(label: str) -> list[Glyph]:
    """Return the glyphs of a label that is one symbol, name, number or text: a single letter is italic, names and texts are upright."""
    kind, mark, value = label.partition("!")
    text = value if mark and kind else label
    if kind == "W" and mark:
        return []
    italic = mark == "!" and kind == "V" and len(text) == 1
    return [glyph(char, italic) for char in text if not char.isspace()]


def space_around(label: str) -> tuple[float, float]:
    """Return the space before and after a symbol of a row, in em."""
    if label in RELATIONS:
        return _RELATION_SPACE, _RELATION_SPACE
    if label in BINARY:
        return _BINARY_SPACE, _BINARY_SPACE
    return (0.0, _COMMA_SPACE) if label in (",", ";") else (0.0, 0.0)
