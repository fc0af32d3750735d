"""Markdown: formulas are cut out, and a CommonMark library renders the rest."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from porism.corpus.sources.documents.section import Document, HeadingPath, Section, with_spans
from porism.text.codeblocks import code_blocks
from porism.text.find import Extracted, find_formulas
from porism.text.sanitize import clean, without_placeholders

if TYPE_CHECKING:
    from markdown_it.token import Token

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
FRONT_TITLE = re.compile(r"^title:\s*+(.+)$", re.MULTILINE)
FRONT_TAGS = re.compile(r"^(?:tags|keywords|categories):\s*+(.+)$", re.MULTILINE)
HEADINGS = ("h1", "h2", "h3")


def read_markdown(text: str) -> Document:
    """Split a Markdown text into sections at headings of the first three levels."""
    title = ""
    tags: tuple[str, ...] = ()
    if front := FRONT_MATTER.match(text):
        title = _value(FRONT_TITLE, front[1])
        tags = tuple(re.split(r"[,\s\[\]]+", _value(FRONT_TAGS, front[1]).replace('"', "").replace("'", "")))
        text = text[front.end() :]
    text = without_placeholders(text)
    found = find_formulas(text, "text", code=code_blocks(text))
    sections = list(_sections(found))
    return Document(title, tuple(tag for tag in tags if tag), sections, found.unexpanded)


def _value(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1].strip().strip("\"'") if found else ""


def _sections(found: Extracted) -> Iterator[Section]:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(found.text)
    starts = [
        at
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in HEADINGS and token.level == 0
    ]

    def render(part: list[Token]) -> str:
        return with_spans(clean(str(parser.renderer.render(part, parser.options, {}))), found)

    yield Section("", render(tokens[: starts[0] if starts else len(tokens)]))
    path = HeadingPath()
    for start, end in pairwise([*starts, len(tokens)]):
        # A heading is three tokens: open, inline, close.
        heading = with_spans(clean(html.escape(tokens[start + 1].content, quote=False)), found)
        title = path.enter(HEADINGS.index(tokens[start].tag), heading)
        yield Section(title, render(tokens[start + 3 : end]))
