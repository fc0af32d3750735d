"""HTML pages: LaTeX comes from MathML annotations, math scripts, dollar signs and brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porism.corpus.sources.documents.section import Document, Section, with_spans
from porism.limits import limit
from porism.text.find import Extracted, find_formulas
from porism.text.markup import Element, decode_entities, elements, math_span, replace_elements, replace_mathml, unescape
from porism.text.read import TAG, clean, without_placeholders

# Attributes are bounded, so that a tag full of them takes no time that grows with its square.
MATH_SCRIPT = re.compile(r"<script\b[^<>]{0,500}?type=[\"']math/tex[^<>]{0,500}>", re.IGNORECASE)
ANNOTATION = re.compile(r"<annotation\b[^<>]{0,500}?encoding=[\"']application/x-tex[\"'][^<>]{0,500}>", re.IGNORECASE)
ALT = re.compile(r"\balttext=(\"[^\"]*\"|'[^']*')")
TITLE = re.compile(r"<title\b[^<>]*>", re.IGNORECASE)
BODY = re.compile(r"<body\b[^<>]*>(.*?)(?:</body\s*>|\Z)", re.DOTALL | re.IGNORECASE)
NOT_TEXT = re.compile(r"<(script|style|nav|noscript|template)\b|<!--", re.IGNORECASE)
CLOSING = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
    for name in ("script", "style", "nav", "noscript", "template", "annotation", "title")
}
CLOSING[""] = re.compile("-->")  # of a comment
LONGEST_TITLE = 1000
HEADING = re.compile(r"<h[1-3]>(.*?)</h[1-3]>", re.DOTALL)


def read_page(text: str) -> Document:
    """Split an HTML page into sections at headings of the first three levels."""
    title = next(elements(text, TITLE, lambda _: CLOSING["title"]), None)
    body = BODY.search(text)
    inner = without_placeholders(body[1] if body else text)
    inner = replace_elements(
        inner, MATH_SCRIPT, lambda _: CLOSING["script"], lambda script: math_span(unescape(script.content))
    )
    inner = replace_mathml(inner, _mathml)
    inner = replace_elements(inner, NOT_TEXT, lambda hidden: CLOSING[(hidden[1] or "").lower()], lambda _: " ")
    found = find_formulas(inner, "html")
    sections = list(_sections(clean(found.text), found))
    name = decode_entities(TAG.sub("", title.content[:LONGEST_TITLE])) if title else ""
    return Document(" ".join(name.split()), (), sections, found.unexpanded)


def _mathml(element: Element) -> str:
    """Replace a MathML element by the LaTeX that it carries; without any, its text stays."""
    if annotation := next(elements(element.content, ANNOTATION, lambda _: CLOSING["annotation"]), None):
        return math_span(unescape(annotation.content))
    if alt := ALT.search(element.opening[1]):
        return math_span(unescape(alt[1][1:-1]))
    opening = element.opening
    return opening.string[opening.start() : element.end]


def _sections(text: str, found: Extracted) -> Iterator[Section]:
    last, title = 0, ""
    for heading in HEADING.finditer(text):
        # A section may end inside a block; cleaning closes it.
        yield Section(title, with_spans(clean(text[last : heading.start()]).strip(), found))
        title, last = with_spans(heading[1].strip(), found), heading.end()
    yield Section(title, with_spans(clean(text[last:]).strip(), found))


def read_rst(text: str) -> Document:
    """Split reStructuredText at headings of the first three levels. Raise ValueError if it is too long."""
    from porism.corpus.sources.documents.rst_html import rst_to_html  # docutils takes long to import

    if len(text) > limit("rst_characters"):
        raise ValueError(f"more than {limit('rst_characters'):,} characters of reStructuredText")
    return read_page(rst_to_html(text))
