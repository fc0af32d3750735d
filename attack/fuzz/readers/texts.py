"""Readers of texts with formulas: HTML of posts, Markdown, LaTeX documents, web pages, notebooks, rows of a dump."""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Hashable
from pathlib import Path

from attack.fuzz.grammar import Grammar
from attack.fuzz.reader import Reader, Wrong, active_content, to_text
from attack.fuzz.readers.formulas import LATEX
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


def _document(data: bytes, suffix: str) -> Hashable:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"document{suffix}").write_bytes(data)
        return _kinds(list(Folder(Path(folder)).parts()[0].read()))


def read_notebook(data: bytes) -> Hashable:
    """Read a notebook in a folder of documents."""
    return _document(data, ".ipynb")


def read_document(data: bytes) -> Hashable:
    """Read Markdown, LaTeX or a web page in a folder of documents; the first byte chooses."""
    return _document(data[1:], (".md", ".tex", ".html")[data[0] % 3 if data else 0])


_TAGS = [
    "p",
    "a",
    "b",
    "i",
    "em",
    "strong",
    "code",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "li",
    "h1",
    "h2",
    "hr",
    "br",
    "img",
    "span",
    "div",
    "table",
    "tr",
    "td",
    "th",
    "sup",
    "sub",
    "script",
    "style",
    "iframe",
    "math",
    "svg",
    "kbd",
    "del",
    "s",
    "strike",
    "dl",
    "dt",
    "dd",
    "textarea",
    "title",
    "noscript",
    "template",
    "object",
    "form",
    "input",
]
HTML: Grammar = {
    **LATEX,
    "start": ("«nodes»",),
    "nodes": ("x", "«node»", "«node»«nodes»", "«node» «nodes»", "«node»«node»«nodes»"),
    "node": (
        "word",
        "«words»",
        "$«row»$",
        "$$«row»$$",
        "\\(«row»\\)",
        "\\[«row»\\]",
        "\\begin{align}«cells»\\end{align}",
        "<p>«nodes»</p>",
        "<«tag»«attributes»>«nodes»</«tag»>",
        "<«tag»«attributes»>",
        "</«tag»>",
        '<span class="math-container" id="«number»">$«row»$</span>',
        "<span class='math-container'>«nodes»</span>",
        "<pre><code>«nodes»</code></pre>",
        "`«nodes»`",
        "**«nodes»**",
        "[«words»](http://x.org/«words»)",
        "<a href=«value»>«nodes»</a>",
        "<img src=«value» alt=«value»>",
        "«entity»",
        "«broken_html»",
        "«odd_text»",
        "<math><mi>x</mi></math>",
    ),
    "tag": _TAGS,
    "attributes": (
        "",
        "",
        " class=«value»",
        " onclick=«value»",
        " href=«value»",
        " style=«value» id=«value»",
        " «odd_text»=«value»",
    ),
    "value": (
        '"x"',
        "'«words»'",
        "javascript:alert(1)",
        '"data:text/html,x"',
        "«number»",
        '"',
        "«odd_text»",
        "java&#115;cript:x",
        '"math-container"',
    ),
    "entity": (
        "&amp;",
        "&lt;",
        "&#x3c;script&#x3e;",
        "&nbsp;",
        "&#0;",
        "&unknown;",
        "&amp;lt;",
        "&",
        "&#xE000;",
        "&dollar;",
    ),
    "words": ("a b", "the integral", "costs $5 and $10", "x<y", "a > b", "\\$", "«letter»", "1 $", "$"),
    "broken_html": (
        "<",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "</",
        "<p",
        "<a href='",
        "<?xml",
        "<script>$x$",
        "</script>",
        "<!DOCTYPE html>",
        "$$",
        "\\(",
        "\\]",
        "\ue000",
    ),
}
HTML_TOKENS = [f"<{tag}>" for tag in _TAGS] + [f"</{tag}>" for tag in _TAGS]
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
DUMP: Grammar = {
    **HTML,
    "start": (
        "«file»<posts>«rows»</posts>",
        '«file»<?xml version="1.0"?>\n<posts>\n«rows»\n</posts>',
        "«file»<posts>«rows»",
        "«file»«odd_text»",
    ),
    "file": tuple("ABCDEFG"),
    "rows": ("«xrow»", "«xrow»\n«rows»", "«xrow»«rows»", "«xbroken»«rows»"),
    "xrow": (
        '<row Id="«number»" PostTypeId="1" CreationDate="2020-01-02T03:04:05.006" Score="«number»" Title="«xtext»" Body="«xtext»" Tags="&lt;a&gt;&lt;b&gt;" />',
        '<row Id="«number»" PostTypeId="2" ParentId="«number»" Body="«xtext»" OwnerUserId="«number»" Score="«number»" />',
        '<row Id="«number»" PostId="«number»" Text="«xtext»" UserId="«number»" CreationDate="«xtext»" VoteTypeId="«number»" LinkTypeId="«number»" RelatedPostId="«number»" />',
        '<row Id="«number»" «key»="«number»" «key»="«xtext»" />',
        "<row/>",
        "<other «key»='1'/>",
    ),
    "key": (
        "PostTypeId",
        "ParentId",
        "AcceptedAnswerId",
        "Score",
        "Title",
        "Body",
        "Tags",
        "Class",
        "UserId",
        "DisplayName",
        "Reputation",
        "PostHistoryTypeId",
        "RevisionGUID",
        "Name",
        "BountyAmount",
        "ViewCount",
    ),
    "xtext": (
        "x",
        "&lt;p&gt;$«letter»$&lt;/p&gt;",
        "«letter»",
        "&#10;",
        "&quot;",
        "«number»",
        "&amp;lt;",
        "2020-13-45T99:99:99",
        "&lt;script&gt;",
        "«letter»«xtext»",
        "$x$ «xtext»",
    ),
    "xbroken": (
        "<row",
        "</posts>",
        '<row Id="1" Id="2"/>',
        "<!DOCTYPE x [<!ENTITY a 'b'>]>",
        "&a;",
        "<row Id='1'",
        "\x00",
        "<row Id=1/>",
        "<!-- ",
        "<a><b>",
    ),
}
NOTEBOOK: Grammar = {
    **HTML,
    "start": (
        '{"cells": [«cells_json»], "nbformat": 4}',
        '{"worksheets": [{"cells": [«cells_json»]}]}',
        "«json»",
        '{"cells": «json»}',
        '{"worksheets": «json»}',
    ),
    "cells_json": ("«cell»", "«cell», «cells_json»"),
    "cell": (
        '{"cell_type": "markdown", "source": ["# Title\\n", "text $x^2$"]}',
        '{"cell_type": "«kind»", "source": «json»}',
        '{"cell_type": "«kind»", "level": «json», "source": "«words»"}',
        '{"cell_type": "code", "input": "```«words»````"}',
        "«json»",
    ),
    "kind": ("markdown", "code", "heading", "raw", "x"),
    "json": (
        "1",
        '"«words»"',
        "[]",
        "{}",
        "null",
        "true",
        "[«json», «json»]",
        '{"«kind»": «json»}',
        "«number»",
        '"\\ud800"',
        "-1e999",
        "NaN",
        "99999999999999999999",
        '"\\u0000"',
        '["«words»", 1, null]',
        "«odd_number»",
    ),
}
DOCUMENT: Grammar = {
    **HTML,
    "start": (
        "0«markdown»",
        "1«tex»",
        "2<html><head><title>«words»</title></head><body>«nodes»</body></html>",
        "0«nodes»",
        "1«nodes»",
        "2«nodes»",
    ),
    "markdown": (
        "# «words»\n\n«nodes»",
        "«md»",
        "«md»\n«markdown»",
        "«md»\n\n«markdown»",
        "---\ntitle: «words»\ntags: [a, «odd_text»]\n---\n«markdown»",
    ),
    "md": (
        "text",
        "## «nodes»",
        "- «nodes»",
        "> «md»",
        "1. «nodes»",
        "```\n«nodes»\n```",
        "    «nodes»",
        "| a | b |\n|---|---|\n| «row» | «nodes» |",
        "[x]: http://x",
        "«nodes»",
        "***",
        "~~~",
    ),
    "tex": ("\\section{«words»} «nodes»", "\\documentclass{article}\\begin{document}«texts»\\end{document}", "«texts»"),
    "texts": (
        "x",
        "«nodes»\n\n«texts»",
        "\\section{«row»}«texts»",
        "\\newcommand{\\«letter»}[«number»]{«row»}«texts»",
        "\\def\\a{\\a\\a}\\a «texts»",
        "\\begin{itemize}\\item «texts»\\end{itemize}",
        "\\verb|«nodes»|«texts»",
        "% «nodes»\n«texts»",
        "\\input{«odd_text»}«texts»",
        "\\begin{verbatim}«nodes»\\end{verbatim}",
        "\\title{«words»}\\maketitle «texts»",
        "\\emph{«texts»}",
        "\\begin{theorem}[«words»]«texts»\\end{theorem}",
    ),
}


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
