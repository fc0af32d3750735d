"""Characters that no MathML may contain: control characters, lone surrogates and non-characters, which XML forbids."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
REPLACEMENT = "\ufffd"


def xml_text(text: str) -> str:
    """Return text with each forbidden character replaced by U+FFFD, so that positions stay the same."""
    return _FORBIDDEN.sub(REPLACEMENT, text) if _FORBIDDEN.search(text) else text
