"""HTML entities in text and LaTeX, decoded exactly once."""

from __future__ import annotations

import html
import re

# A number without the zeros before it; what has more than eight digits is no character, whatever follows.
_NUMBER = re.compile(r"&#(?:(?=[0-9])0*+([0-9]{0,8})[0-9]*+|([xX])(?=[0-9a-fA-F])0*+([0-9a-fA-F]{0,8})[0-9a-fA-F]*+)")
_LONG = 4_000  # characters
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

# Files of the lab hold LaTeX that a converter wrote. It was given `a &amp;= b` undecoded, read an alignment mark and the letters
# `amp;`, and wrote `a&\displaystyle amp;=b`. This finds such an entity: the mark (or the end of a row), what the converter put around
# it, and the name.
# It starts nowhere inside a run of spaces, and no run is read twice, so that the time is in proportion to the length.
BROKEN = re.compile(
    r"""(?:(?<!\s)|(?=\S))
    (?P<before>(?:\$(?=\s*+&\s*+\$)|\\hfil)?\s*+)(?P<mark>&|\\\\)?(?P<after>\s*+(?:\$?\\displaystyle\s?|\})?)
    \s*+(?:(?<![A-Za-z&])(?P<name>amp|lt|gt|quot|nbsp)|(?P<number>\\?\#39));""",
    re.VERBOSE,
)
HINT = re.compile(r"(?<![A-Za-z&])(?:amp|lt|gt|quot|nbsp);|#39;")


def unescape(text: str) -> str:
    """Decode the entities of HTML as a browser does. The function of the library raises an error for a number of more than 4,300 digits."""
    if len(text) > _LONG and "&#" in text:
        text = _NUMBER.sub(lambda found: f"&#{found[2] or ''}{found[1] or found[3] or '0'}", text)
    return html.unescape(text)


def decode_entities(text: str) -> str:
    """Decode each entity that ends in a semicolon, once: `&amp;lt;` becomes `&lt;`, and LaTeX such as `a&notin b` stays as it is."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def decode_latex(latex: str) -> str:
    r"""Decode the entities of a formula once, also those that a converter took apart.

    >>> decode_latex(r"a &amp;= b"), decode_latex(r"x&\displaystyle amp;=y"), decode_latex(r"x\hfil&\displaystyle lt;y")
    ('a &= b', 'x&\\displaystyle =y', 'x<y')
    """
    latex = decode_entities(latex)
    return BROKEN.sub(_joined, latex) if ";" in latex and HINT.search(latex) else latex


def _joined(match: re.Match[str]) -> str:
    if match["name"] == "amp":
        return match["before"] + (match["mark"] or " ") + match["after"]
    return html.unescape(f"&{match['name'] or '#39'};")
