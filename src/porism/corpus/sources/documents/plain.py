"""Plain text: paragraphs, underlined headings, and formulas between dollar signs or in brackets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from porism.corpus.sources.documents.section import Document, Section, with_spans
from porism.text.find import find_formulas
from porism.text.sanitize import clean, without_placeholders

BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}")
ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]|[ \t]{2,}|\t")  # a line that must not be joined to the one before
LONGEST_TITLE = 120


def read_text(text: str) -> Document:
    """Read a plain text. A short first line followed by a blank line, and every underlined line, is a heading."""
    found = find_formulas(without_placeholders(text), "text")
    sections = [
        Section(with_spans(html.escape(heading, quote=False), found), with_spans(clean(body), found))
        for heading, body in _sections(found.text)
    ]
    return Document("", (), sections, found.unexpanded)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    heading = ""
    body: list[str] = []
    paragraphs = BLANK.split(text.strip())
    for number, paragraph in enumerate(paragraphs):
        lines = paragraph.split("\n")
        underlined = len(lines) > 1 and UNDERLINE.fullmatch(lines[1].strip())
        first = number == 0 and len(lines) == 1 < len(paragraphs) and len(paragraph) <= LONGEST_TITLE
        if (underlined and lines[0].strip()) or first:
            yield heading, "\n".join(body)
            heading, body, lines = lines[0].strip(), [], lines[2:]
        if lines:
            body.append(paragraph_html(lines))
    yield heading, "\n".join(body)


def paragraph_html(lines: list[str]) -> str:
    """Return the lines of a paragraph as HTML. Items of a list and indented lines stay on lines of their own."""
    escaped = [html.escape(line, quote=False) for line in lines]
    breaks = [f"{'<br>' if number and ITEM.match(line) else ''}{line}" for number, line in enumerate(escaped)]
    return f"<p>{chr(10).join(breaks)}</p>"
