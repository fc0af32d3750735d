"""Characters that no MathML may contain: control characters, lone surrogates and non-characters, which XML forbids."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));?")
REPLACEMENT = "\ufffd"
LONGEST_REFERENCE = 7  # digits of the last character, U+10FFFF, as decimal number 1114111


def xml_text(text: str) -> str:
    """Return text with each forbidden character replaced by U+FFFD, so that positions stay the same."""
    return _FORBIDDEN.sub(REPLACEMENT, text) if _FORBIDDEN.search(text) else text


def xml_source(text: str) -> str:
    """Return the source of XML without forbidden characters, also without references to them such as `&#0;`."""
    text = xml_text(text)
    return _REFERENCE.sub(_legal, text) if "&#" in text else text


def _legal(found: re.Match[str]) -> str:
    digits = (found[1] or found[2]).lstrip("0")
    number = int(digits or "0", 16 if found[1] else 10) if len(digits) <= LONGEST_REFERENCE else 0
    allowed = number in (9, 10, 13) or 31 < number < 0x110000
    return found[0] if allowed and not _FORBIDDEN.match(chr(number)) else REPLACEMENT
