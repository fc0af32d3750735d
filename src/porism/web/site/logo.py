"""The logo of a site: a small picture whose content is checked when the server starts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.files import read_regular

LARGEST_LOGO = 200_000
KINDS = {"png": "image/png", "webp": "image/webp", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Logo:
    """The bytes of a picture, its media type, and its address, which changes with its content."""

    content: bytes
    media_type: str
    address: str


def read_logo(path: str) -> Logo:
    """Read a logo. An SVG with scripts, or with references to other files, is refused."""
    from porism.corpus.sources.documents.images import image_kind

    fix = f"name a PNG, WebP or SVG file of at most {LARGEST_LOGO:,} bytes"
    try:
        content = read_regular(Path(path), LARGEST_LOGO)
    except OSError as error:
        raise PorismError(f"the logo cannot be read: {error.strerror}", where=path, fix=fix) from None
    kind = image_kind(content)
    if kind not in KINDS:
        has_parts = content.lstrip().startswith(b"<")
        fact = (
            "the logo has scripts or references to other files"
            if has_parts
            else "the logo is no picture that pages show"
        )
        raise PorismError(fact, where=path, fix=f"save it as plain SVG, or as PNG: {fix}" if has_parts else fix)
    return Logo(content, KINDS[kind], f"/logo.{kind}?{hashlib.sha256(content).hexdigest()[:12]}")
