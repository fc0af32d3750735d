"""The formulas in a topic's text. LaTeX never meets an HTML parser here: `a<b` would be taken for a tag."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

# The attributes come in either order; the id may be missing.
MATH_START = re.compile(r"""<span\s+(?=[^>]*class=["']math-container["'])[^>]*>""")
SPAN_EDGE = re.compile(r"<span\b[^>]*>|</span>")
ID = re.compile(r"""\bid=["'](q_\d+)["']""")
KNOWN_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos|nbsp|#39|#34|#38|#60|#62);")


@dataclass(frozen=True, slots=True)
class Span:
    """A formula, or a stretch of HTML between formulas (`latex` is None, `source` its text)."""

    source: str
    latex: str | None = None
    id: str = ""
    # True where the author's dollar sign follows a blank, as in `$a $`: the mark of an id that fell on a plain word.
    blank_end: bool = False


def spans(text: str) -> Iterator[Span]:
    """Cut the text of a field at its formula spans; nested spans are one formula."""
    at = 0
    while start := MATH_START.search(text, at):
        if start.start() > at:
            yield Span(text[at : start.start()])
        end = span_end(text, start.end())
        yield formula_span(start[0], text[start.end() : end])
        at = end + len("</span>") if text.startswith("</span>", end) else end
    if at < len(text):
        yield Span(text[at:])


def span_end(text: str, at: int) -> int:
    """Where the `</span>` of a span opened before `at` stands; the end of the text if it is missing."""
    depth = 1
    for edge in SPAN_EDGE.finditer(text, at):
        depth += -1 if edge[0] == "</span>" else 1
        if depth == 0:
            return edge.start()
    return len(text)


def formula_span(opening: str, content: str) -> Span:
    """One formula; of nested spans the id may sit on the inner one."""
    found = ID.search(opening)
    for inner in MATH_START.finditer(content):
        found = found or ID.search(inner[0])
    bare = SPAN_EDGE.sub("", content)
    return Span(
        content,
        without_dollars(unescape_once(bare)),
        found[1] if found else "",
        re.search(r"\s\$+\s*$", bare) is not None,
    )


def unescape_once(text: str) -> str:
    """Decode the entities that the lab's files use, once: `&amp;lt;` becomes `&lt;`, a bare `&` of a matrix stays."""
    return KNOWN_ENTITY.sub(lambda found: html.unescape(found[0]), text)


def without_dollars(latex: str) -> str:
    """The LaTeX between `$..$` or `$$..$$`; LaTeX without dollar signs as it is."""
    inner = latex.strip()
    for mark in ("$$", "$"):
        if len(inner) >= 2 * len(mark) and inner.startswith(mark) and inner.endswith(mark):
            return inner[len(mark) : -len(mark)].strip()
    return inner


def mend_ids(parts: list[Span]) -> list[Span]:
    """Undo ids on wrong words: `maps $a $positive integer` with an id-less `$a$` later becomes a word, and the later one gets the id."""
    mended = list(parts)
    for place, part in enumerate(parts):
        if part.latex is None or not part.id or not part.blank_end:
            continue
        for later in range(place + 1, len(parts)):
            twin = mended[later]
            if twin.latex == part.latex and not twin.id:
                mended[place] = Span(f"{html.escape(part.latex, quote=False)} ")
                mended[later] = replace(twin, id=part.id)
                break
    return mended


def to_html(parts: list[Span]) -> str:
    """The field as HTML in which every formula is a span of escaped LaTeX without dollar signs."""
    return "".join(part.source if part.latex is None else math_span(part.latex, part.id) for part in parts)


def math_span(latex: str, identifier: str) -> str:
    """A formula the way posts hold it."""
    name = f' id="{identifier}"' if identifier else ""
    return f'<span class="math-container"{name}>{html.escape(latex, quote=False)}</span>'
