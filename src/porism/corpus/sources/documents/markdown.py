"""Markdown: formulas are cut out, and a CommonMark library renders the rest."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from porism.corpus.sources.documents.section import Document, HeadingPath, Section, with_spans
from porism.text.find import Extracted, code_blocks, find_formulas
from porism.text.read import clean, without_placeholders

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
    headings = ((at, token) for at, token in enumerate(tokens) if token.type == "heading_open")
    starts = [at for at, token in headings if token.tag in HEADINGS and token.level == 0]

    def render(part: list[Token]) -> str:
        return with_spans(clean(str(parser.renderer.render(part, parser.options, {}))), found)

    yield Section("", render(tokens[: starts[0] if starts else len(tokens)]))
    path = HeadingPath()
    for start, end in pairwise([*starts, len(tokens)]):
        # A heading is three tokens: open, inline, close.
        heading = with_spans(clean(html.escape(tokens[start + 1].content, quote=False)), found)
        title = path.enter(HEADINGS.index(tokens[start].tag), heading)
        yield Section(title, render(tokens[start + 3 : end]))


DEEPEST_HEADING = 6


def read_notebook(text: str) -> Document:
    """Read the cells as one Markdown text. Raise ValueError if the text is not a notebook."""
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):
        # Format 3 keeps cells in worksheets.
        sheets = notebook.get("worksheets")
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
        cells = [cell for part in found if isinstance(part, list) for cell in part]
    if not isinstance(cells, list):
        raise ValueError("no cells")
    return read_markdown("\n\n".join(_cells(cells)))


def _cells(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", cell.get("input", ""))
        body = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") in ("markdown", "heading"):
            level = cell.get("level")
            heading = "#" * min(level, DEEPEST_HEADING) + " " if isinstance(level, int) and level > 0 else ""
            yield heading + body
        elif cell.get("cell_type") == "code" and body.strip():
            fence = "`" * (max([2, *map(len, re.findall("`+", body))]) + 1)
            yield f"{fence}\n{body}\n{fence}"
