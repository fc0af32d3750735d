"""Plain text and Org: paragraphs, headings, and formulas between dollar signs or in brackets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porism.corpus.sources.documents.section import Document, HeadingPath, Section, with_spans
from porism.text.find import Extracted, find_formulas
from porism.text.markup import unescape
from porism.text.read import clean, without_placeholders

if TYPE_CHECKING:
    from orgparse.node import OrgBaseNode


BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}")
# A line that must not be joined to the one before.
ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]|[ \t]{2,}|\t")
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


DEEPEST_HEADING = 3  # deeper headlines belong to the section of the one above
BLOCK = re.compile(
    r"^[ \t]*#\+begin_(src|example|export|comment)\b[^\n]*\n(.*?)(?:^[ \t]*#\+end_\1[^\n]*$|\Z)", re.I | re.M | re.S
)
CODE = ("src", "example")
# orgparse takes time that grows with the third power of a headline, and with the square of a run of blanks.
BLANKS = re.compile(r"[ \t]{100,}")
HEADLINE = re.compile(r"^\*+ .*", re.M)
LONGEST_HEADLINE, MOST_COLONS = 1_000, 40
KEYWORD = re.compile(r"^[ \t]*(?:#\+[^\n]*|#(?:[ \t][^\n]*)?|:[\w-]{1,80}:)[ \t]*$", re.M)
LINK = re.compile(r"\[\[([^\[\]\n]{1,2000})\](?:\[([^\[\]\n]{1,2000})\])?\]")
PICTURE = re.compile(r"(?:file:)?[^:\s]+\.(?:png|jpe?g|gif|webp|svg)$", re.I)
ADDRESS = re.compile(r"(?:https?|mailto):")
# Emphasis as Org has it: a sign before a word and behind one, with no word character outside.
EMPHASIS = {"*": "b", "/": "i", "=": "code", "~": "code", "+": "del"}
EMPHASISED = re.compile(r"(?<![\w<&/;])([*/=~+])(?=\S)([^\n<>]{0,500}?\S)\1(?!\w)")


def read_org(text: str) -> Document:
    """Split an Org file into sections at headlines of the first three levels."""
    import orgparse

    # Formulas and code are cut out of the whole file first, so that a star or a colon inside them is no markup.
    text = HEADLINE.sub(_headline, BLANKS.sub(" ", without_placeholders(text)))
    found = find_formulas(text, "latex", code=tuple(match.span() for match in BLOCK.finditer(text)))
    root = orgparse.loads(found.text)
    title = with_spans(html.escape(str(root.get_file_property("TITLE") or ""), quote=False), found)
    tags = (tag for line in root.get_file_property_list("FILETAGS") for tag in re.split(r"[\s:]+", line))
    return Document(title, tuple(tag for tag in tags if tag), list(_headline_sections(root, found)), found.unexpanded)


def _headline(line: re.Match[str]) -> str:
    """Return a headline; what is much too long for one is text."""
    is_text = len(line[0]) > LONGEST_HEADLINE or line[0].count(":") > MOST_COLONS
    return f" {line[0]}" if is_text else line[0]


def _headline_sections(root: OrgBaseNode, found: Extracted) -> Iterator[Section]:
    heading, path = "", HeadingPath()
    body: list[str] = []
    for node in root:
        text = _body(node.get_body(format="raw"))
        if node.is_root():
            body = [text]
        elif node.level <= DEEPEST_HEADING:
            yield _section(heading, body, found)
            heading, body = path.enter(node.level, node.get_heading(format="raw")), [text]
        else:
            body += (f"<h4>{_inline(html.escape(node.get_heading(format='raw'), quote=False))}</h4>", text)
    yield _section(heading, body, found)


def _section(heading: str, body: list[str], found: Extracted) -> Section:
    title = clean(_inline(html.escape(heading, quote=False)))
    return Section(with_spans(title, found), with_spans(clean("\n".join(body)), found))


def _body(text: str) -> str:
    """Return the body of a headline as HTML."""
    pieces: list[str] = []
    last = 0
    for block in BLOCK.finditer(text):
        pieces.append(_paragraphs(text[last : block.start()]))
        if block[1].lower() in CODE:
            pieces.append(f"<pre><code>{html.escape(block[2], quote=False)}</code></pre>")
        last = block.end()
    return "\n".join([*pieces, _paragraphs(text[last:])])


def _paragraphs(text: str) -> str:
    kept = KEYWORD.sub("", text).strip("\n")
    return "\n".join(_inline(paragraph_html(part.split("\n"))) for part in BLANK.split(kept) if part.strip())


def _inline(escaped: str) -> str:
    """Replace emphasis and links of escaped text by HTML."""
    marked = EMPHASISED.sub(lambda match: f"<{EMPHASIS[match[1]]}>{match[2]}</{EMPHASIS[match[1]]}>", escaped)
    return LINK.sub(_link, marked)


def _link(match: re.Match[str]) -> str:
    target, description = match[1], match[2] or ""
    address = html.escape(unescape(target))
    if PICTURE.match(target):
        return f'<img src="{address.removeprefix("file:")}" alt="{html.escape(unescape(description))}">'
    return f'<a href="{address}">{description or target}</a>' if ADDRESS.match(target) else description or target
