"""HTML pages: LaTeX comes from MathML annotations, math scripts, dollar signs and brackets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from porism.corpus.sources.documents.section import Document, Section, with_spans
from porism.text.delimiters import MATHML, math_span
from porism.text.entities import decode_entities
from porism.text.find import Extracted, find_formulas
from porism.text.sanitize import TAG, clean, without_placeholders

SCRIPT = re.compile(r"<script\b[^>]*type=[\"']math/tex[^>]*>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
ANNOTATION = re.compile(
    r"<annotation\b[^>]*encoding=[\"']application/x-tex[\"'][^>]*>(.*?)</annotation\s*>", re.DOTALL | re.IGNORECASE
)
ALT = re.compile(r"\balttext=(\"[^\"]*\"|'[^']*')")
TITLE = re.compile(r"<title\b[^>]*>(.*?)</title\s*>", re.DOTALL | re.IGNORECASE)
BODY = re.compile(r"<body\b[^>]*>(.*?)(?:</body\s*>|\Z)", re.DOTALL | re.IGNORECASE)
NOT_TEXT = re.compile(r"<(script|style|nav|noscript|template)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
HEADING = re.compile(r"<h[1-3]>(.*?)</h[1-3]>", re.DOTALL)


def read_page(text: str) -> Document:
    """Split an HTML page into sections at headings of the first three levels."""
    title = TITLE.search(text)
    body = BODY.search(text)
    inner = without_placeholders(body[1] if body else text)
    inner = MATHML.sub(_mathml, SCRIPT.sub(lambda match: math_span(html.unescape(match[1])), inner))
    found = find_formulas(NOT_TEXT.sub(" ", inner), "html")
    sections = list(_sections(clean(found.text), found))
    return Document(" ".join(decode_entities(TAG.sub("", title[1])).split()) if title else "", (), sections)


def _mathml(match: re.Match[str]) -> str:
    """Replace a MathML element by the LaTeX that it carries; without any, its text stays."""
    if annotation := ANNOTATION.search(match[2]):
        return math_span(html.unescape(annotation[1]))
    if alt := ALT.search(match[1]):
        return math_span(html.unescape(alt[1][1:-1]))
    return match[0]


def _sections(text: str, found: Extracted) -> Iterator[Section]:
    last, title = 0, ""
    for heading in HEADING.finditer(text):
        # A section may end inside a block; cleaning closes it.
        yield Section(title, with_spans(clean(text[last : heading.start()]).strip(), found))
        title, last = with_spans(heading[1].strip(), found), heading.end()
    yield Section(title, with_spans(clean(text[last:]).strip(), found))
