"""Texts as records: each text is a question, as a note is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from porism.corpus.sources.documents.plain import BLANK, LONGEST_TITLE, paragraph_html
from porism.corpus.sources.raw import RawPost

SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
HEADING = re.compile(r"#{1,6}[ \t]+")


def text_posts(texts: Iterable[str]) -> Iterator[RawPost]:
    """Yield a question for each text; ids are 1, 2, 3, ..."""
    for number, text in enumerate(texts, 1):
        title, body = split_title(text.strip())
        html = "\n".join(paragraph_html(paragraph.split("\n")) for paragraph in BLANK.split(body))
        yield RawPost(number, "question", None, title, html, "html")


def split_title(text: str) -> tuple[str, str]:
    """Return the title of a text and its body. A short first line is the title; of a single paragraph its first sentence is, which stays in the body.

    >>> split_title("# Cubes\\n\\nThe sum $x^3+y^3$.")
    ('Cubes', 'The sum $x^3+y^3$.')
    >>> split_title("Is $x^2$ even? It is not known.")
    ('Is $x^2$ even?', 'Is $x^2$ even? It is not known.')
    """
    first, _, rest = text.partition("\n")
    if rest.strip() and len(first) <= LONGEST_TITLE:
        return HEADING.sub("", first, 1).strip(), rest.strip()
    possible = (match.end() for match in SENTENCE_END.finditer(first, 0, LONGEST_TITLE + 1))
    ends = (end for end in possible if is_title(first[:end]))
    return first[: next(ends, len(first) if is_title(first) else _cut(first))].rstrip(), text


def is_title(text: str) -> bool:
    """Return whether a text is short enough for a title and ends in no formula that goes on."""
    return len(text) <= LONGEST_TITLE and text.count("$") % 2 == 0


def _cut(text: str) -> int:
    """Return where a long text is cut: after a word, outside formulas."""
    ends = (match.start() for match in re.finditer(r"\s", text[: LONGEST_TITLE + 1]))
    return max((end for end in ends if is_title(text[:end])), default=0)
