"""HTML entities in text and LaTeX, decoded exactly once."""

from __future__ import annotations

import html
import re

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def decode_entities(text: str) -> str:
    """Decode each entity that ends in a semicolon, once: `&amp;lt;` becomes `&lt;`, and LaTeX such as `a&notin b` stays as it is."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text
