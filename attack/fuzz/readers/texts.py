"""Readers of texts with formulas: HTML of posts, Markdown, LaTeX documents, web pages, notebooks, rows of a dump."""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Hashable
from html import escape
from pathlib import Path

from attack.fuzz.openers import Frame
from attack.fuzz.reader import Reader, Wrong, active_content, to_text
from attack.fuzz.readers.text_grammars import DOCUMENT, DUMP, HTML, HTML_TOKENS, NOTEBOOK
from porism.corpus.build.fields import make_field
from porism.corpus.build.parsing import SourceExpression, parse_all
from porism.corpus.sources import folder as folders
from porism.corpus.sources.documents import limited
from porism.corpus.sources.documents.images import image_kind
from porism.corpus.sources.documents.section import Document
from porism.corpus.sources.dump import FILES, read_rows
from porism.corpus.sources.folder import Folder
from porism.corpus.sources.raw import Dropped, Form, Meter, RawPost, Record, RowError
from porism.corpus.update.changes import Changes, take_record
from porism.search.display.page_math import page_math
from porism.search.display.post_formulas import mathml_of
from porism.search.display.snippet import with_unmarked
from porism.text.page import PageRenderer
from porism.text.segment import Text, escape_text, official_html, plain_text, terminal_text
from porism.text.words import stems

LIBRARIES = (".rst", ".org")  # docutils and orgparse promise no bounds: the process that they run in has limits
limited.SECONDS, limited.SECONDS_OF_CHARACTER = 0.5, 5e-6


def _read_document(suffix: str, text: str) -> Document:
    """Read a document as the product does; where the time is ours, in this process, so that it is measured."""
    return limited.read_document(suffix, text) if suffix in LIBRARIES else limited.READERS[suffix](text)


folders.read_document = _read_document

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
    text, choice = to_text(data), sum(data[:32])  # the same for all lengths of a pump
    form = FORMS[choice % len(FORMS)]
    field = make_field(text, form, compat=choice % 7 == 0)
    _shown(field.text)
    counts = Counter(segment.kind for segment in field.text.segments)
    return form, tuple(sorted((kind, count.bit_length()) for kind, count in counts.items())), len(field.lost) > 0


def read_post(data: bytes) -> Hashable:
    """Read a post as a server does that is sent one, and show it on a page."""
    changes = Changes()
    try:
        take_record(changes, {"id": 1, "body": to_text(data)})
    except RowError:
        return "refused"
    text = make_field(changes.posts[1].body, "html", compat=False).text
    parsed = parse_all(
        [SourceExpression(latex, None, None) for latex in dict.fromkeys(one.text for one in text.formulas)]
    )
    shown = PageRenderer(lambda segment: page_math(mathml_of(segment.text))).render(with_unmarked(text))
    return len(parsed).bit_length(), len(shown).bit_length()


def read_image(data: bytes) -> Hashable:
    """Read a picture that a document shows."""
    return image_kind(data)


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


def _rows() -> tuple[Frame, ...]:
    """Return rows of posts and comments around a text; the first digit chooses the file."""
    assert [list(FILES)[ord(digit) % len(FILES)] for digit in "12"] == ["Posts", "Comments"]
    post = '1<posts><row Id="1" PostTypeId="1" CreationDate="2015-03-01T10:00:00" {}="'
    comment = '2<comments><row Id="1" PostId="1" CreationDate="2015-03-01T10:00:00" Text="'
    found = [Frame(post.format(name), '"/></posts>', escape) for name in ("Body", "Title", "Tags")]
    return (*found, Frame(comment, '"/></comments>', escape), Frame("1<posts>", "</posts>"))


READERS = (
    Reader(
        "html",
        110,
        read_html,
        HTML,
        HTML_TOKENS,
        longest=60_000,
        seeds=lambda: (b"<p>Let $x$ be <b>real</b>.</p>",),
        frames=(Frame(), Frame("$", "$"), Frame("<p>", "</p>")),
        pumped=50_000,
    ),
    Reader(
        "dumps",
        180,
        read_dump,
        DUMP,
        [*HTML_TOKENS, "<row ", "/>", 'Id="', '"'],
        binary=True,
        longest=60_000,
        frames=_rows(),
        pumped=100_000,  # many formulas or tags take more than a second for twice as much
        pump_share=30,
    ),
    Reader(
        "notebooks",
        25,
        read_notebook,
        NOTEBOOK,
        ["{", "}", "[", "]", '"', ",", ":", "null", "`", "$", "\\\\", *HTML_TOKENS[:20]],
        longest=40_000,
        seeds=_notebook,
        pumped=50_000,  # of dense Markdown; it takes 2 seconds for 100,000 characters, in time that grows linearly
        pump_share=15,
        frames=(
            Frame('{"cells":[{"cell_type":"markdown","source":', "}]}", json.dumps),
            Frame('{"cells":[{"cell_type":"code","source":', "}]}", json.dumps),
            Frame(),
        ),
    ),
    Reader(
        "documents",
        15,
        read_document,
        DOCUMENT,
        [*HTML_TOKENS, "#", "> ", "- ", "\n\n", "\\item", "|", "\\begin{", "\\newcommand{\\x}{", "\\x", "---"],
        longest=40_000,
        seeds=lambda: (b"0# A\n\ntext $x$\n",),
        pumped=50_000,  # of dense Markdown; it takes 2 seconds for 100,000 characters, in time that grows linearly
        pump_share=15,
        frames=(
            Frame("0"),
            Frame("1"),
            Frame("2"),
            Frame("0---\ntitle: ", "\n---\na\n"),
            Frame("1\\begin{document}"),
            Frame("2<body><h1>a</h1>"),
        ),
    ),
    Reader(
        "posts",
        15,
        read_post,
        HTML,
        HTML_TOKENS,
        longest=20_000,
        pumped=40_000,
        pump_share=8,
        seeds=lambda: (b"<p>Let $x$ be <b>real</b>.</p>",),
        frames=(
            Frame("$", "$"),
            Frame("$$", "$$"),
            Frame("<p>$a$ ", "</p>"),
            Frame("<p>$", "$ $a$</p>", lambda text: text.replace("a", "$a$")),
        ),
    ),
    Reader(
        "pictures",
        5,
        read_image,
        tokens=["<svg ", "<!--", "-->", "<?xml ", "<!DOCTYPE svg", " href=", "url(", " onx", "@import"],
        binary=True,
        seeds=lambda: (
            b"<svg></svg>",
            b"<?xml version='1.0'?><!-- a --><svg><path d='M0'/></svg>",
            b"\x89PNG\r\n\x1a\n",
        ),
        frames=(Frame(), Frame("<?xml version='1.0'?>"), Frame("<svg>", "</svg>")),
    ),
)
