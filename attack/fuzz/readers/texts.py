"""Readers of texts with formulas: HTML of posts, Markdown, LaTeX documents, web pages, notebooks, rows of a dump."""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Hashable
from pathlib import Path

from attack.fuzz.reader import Reader, Wrong, active_content, to_text
from attack.fuzz.readers.text_grammars import DOCUMENT, DUMP, HTML, HTML_TOKENS, NOTEBOOK
from porism.corpus.build.fields import make_field
from porism.corpus.sources.documents.folder import Folder
from porism.corpus.sources.dump import FILES, read_rows
from porism.corpus.sources.raw import Dropped, Form, Meter, RawPost, Record
from porism.index.analysis.words import stems
from porism.text.page import PageRenderer
from porism.text.render import escape_text, official_html, plain_text, terminal_text
from porism.text.segment import Text

FORMS: tuple[Form, ...] = ("html", "text", "placed", "placed-text", "spans")
_PAGE = PageRenderer(lambda segment: f"<code>{escape_text(segment.text)}</code>")


def _shown(text: Text) -> None:
    """Render a text in every way, and check that pages stay harmless."""
    if active := active_content(_PAGE.render(text)):
        raise Wrong(f"a page would run something: {active}")
    _PAGE.blocks(text)
    official_html(text)
    terminal_text(text)
    stems(plain_text(text))


def read_html(data: bytes) -> Hashable:
    """Read a field of a post in one of its forms, and show it."""
    text = to_text(data)
    form = FORMS[len(text) % len(FORMS)]
    field = make_field(text, form, compat=len(text) % 7 == 0)
    _shown(field.text)
    counts = Counter(segment.kind for segment in field.text.segments)
    return form, tuple(sorted((kind, count.bit_length()) for kind, count in counts.items())), len(field.lost) > 0


def _kinds(records: list[Record]) -> Hashable:
    """Use the texts of records as a build does; return what was read."""
    found: Counter[str] = Counter()
    for record in records:
        found[record.why[:30] if isinstance(record, Dropped) else type(record).__name__] += 1
        if isinstance(record, RawPost):
            (record.title + record.body + record.tags).encode()  # a database stores nothing else
            for text, form in ((record.title, "html"), (record.body, record.form)):
                _shown(make_field(text, form, compat=False).text)
    return tuple(sorted((kind, count.bit_length()) for kind, count in found.items()))


def read_dump(data: bytes) -> Hashable:
    """Read rows of a file of a dump; the first byte chooses the file."""
    names = list(FILES)
    name = names[data[0] % len(names)] if data else "Posts"
    return _kinds(list(read_rows(name, lambda: io.BytesIO(data[1:]), f"{name}.xml", False, Meter())))


def read_file(data: bytes, suffix: str) -> Hashable:
    """Read a document with this suffix in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"document{suffix}").write_bytes(data)
        return _kinds(list(Folder(Path(folder)).parts()[0].read()))


def read_notebook(data: bytes) -> Hashable:
    """Read a notebook in a folder of documents."""
    return read_file(data, ".ipynb")


def read_document(data: bytes) -> Hashable:
    """Read Markdown, LaTeX or a web page in a folder of documents; the first byte chooses."""
    return read_file(data[1:], (".md", ".tex", ".html")[data[0] % 3 if data else 0])


HTML_TOKENS += [
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\\begin{align}",
    "\\end{align}",
    "`",
    "``",
    "```",
    "*",
    "**",
    "[",
    "](http://",
    "<!--",
    "-->",
    "&lt;",
    "&amp;",
    "&#36;",
    "<",
    ">",
    '"',
    "'",
    "=",
    "\\$",
    "\n",
]


def _notebook() -> list[bytes]:
    cells = [{"cell_type": "markdown", "source": ["# Sums\n", "$1+2$"]}, {"cell_type": "code", "source": "print(1)"}]
    return [json.dumps({"cells": cells, "nbformat": 4}).encode()]


READERS = (
    Reader(
        "html", 110, read_html, HTML, HTML_TOKENS, longest=60_000, seeds=lambda: (b"<p>Let $x$ be <b>real</b>.</p>",)
    ),
    Reader("dumps", 180, read_dump, DUMP, [*HTML_TOKENS, "<row ", "/>", 'Id="', '"'], binary=True, longest=60_000),
    Reader(
        "notebooks",
        25,
        read_notebook,
        NOTEBOOK,
        ["{", "}", "[", "]", '"', ",", ":", "null", "`", "$", "\\\\", *HTML_TOKENS[:20]],
        longest=40_000,
        seeds=_notebook,
    ),
    Reader(
        "documents",
        15,
        read_document,
        DOCUMENT,
        [*HTML_TOKENS, "#", "> ", "- ", "\n\n", "\\item", "|", "\\begin{", "\\newcommand{\\x}{", "\\x", "---"],
        longest=40_000,
        seeds=lambda: (b"0# A\n\ntext $x$\n",),
    ),
)
