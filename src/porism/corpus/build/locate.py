"""Locating official formulas in a text that does not mark them with their ids yet.

The lab's rule: longest formulas first; each takes the earliest of its possible spellings, once.
"""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from porism.corpus.build.given import known_formulas
from porism.corpus.build.work import KnownFormula
from porism.text.delimiters import MARKED_ID, MATH_CLASS, SPAN_CLOSE, math_span, math_spans
from porism.text.sanitize import fill, placeholder, without_placeholders

LINE_ENDS = re.compile(r"\r\n|[\r\n]")
SPAN = f'<span class="{MATH_CLASS}">'
SPELLINGS = (
    f"{SPAN}$$ {{}} $${SPAN_CLOSE}",
    f"{SPAN}$${{}}$${SPAN_CLOSE}",
    f"{SPAN}${{}}${SPAN_CLOSE}",
    f"{SPAN}{{}}{SPAN_CLOSE}",
    "$${}$$",
    "${}$",
)
# Between two blanks: the lab's last resort, which made a formula of the word "a". Only to reproduce the lab.
LOOSE = (" {} ",)
LISTED = """SELECT id FROM found
    WHERE post_id = ? AND kind = ? AND (comment_id IS NULL OR comment_id = ?) AND issue NOT LIKE 'd%' ORDER BY id"""


class Locator:
    """Inserts the official spans that the fields of one source lack; does nothing for a source that lists no formulas."""

    def __init__(self, work: sqlite3.Connection, source: int) -> None:
        self._work = work
        # The ids that the fields of the current post mark; a post's comments follow it.
        self._post = 0
        self._marked: set[int] = set()
        exists = "SELECT EXISTS(SELECT 1 FROM posts WHERE source = ? AND form = 'placed') AND EXISTS(SELECT 1 FROM formulas WHERE source = ?)"
        self._needed = bool(work.execute(exists, (source, source)).fetchone()[0])
        if self._needed:
            work.execute("CREATE INDEX IF NOT EXISTS found_post ON found(post_id)")

    def insert(self, text: str, post: int, kind: int, comment: int | None, loose: bool) -> str:
        """Return a field with spans for all formulas that its source lists for it.

        A formula that the source assigns to no comment goes to the first one that has it.
        """
        if not self._needed or not text:
            return text
        if post != self._post:
            self._post, self._marked = post, set()
        self._marked.update(_marked(text))
        listed = [formula_id for (formula_id,) in self._work.execute(LISTED, (post, kind, comment))]
        missing = [formula_id for formula_id in listed if formula_id not in self._marked]
        if not missing:
            return text
        known = known_formulas(self._work, None, missing)
        text = insert_spans(without_placeholders(text), [known[formula_id] for formula_id in missing], loose)
        self._marked.update(_marked(text))
        return text


def _marked(text: str) -> list[int]:
    return [int(identifier) for identifier in MARKED_ID.findall(text)]


class Occurrence(NamedTuple):
    """A spelling of a formula in a text; the earliest is taken, of equal ones that with the lowest rank."""

    start: int
    rank: int
    spelling: str


def insert_spans(text: str, missing: Sequence[KnownFormula], loose: bool) -> str:
    """Return the text with an official span for each formula that can be found in it."""
    spans: list[str] = []

    def freeze(piece: str) -> str:
        spans.append(piece)
        return placeholder(len(spans) - 1)

    text = _freeze_marked(LINE_ENDS.sub(" ", text), freeze)
    for formula in sorted(missing, key=lambda one: -len(one.latex)):
        found = min(_occurrences(text, formula.latex, loose), default=None)
        if found is not None:
            rest = text[found.start + len(found.spelling) :]
            text = text[: found.start] + freeze(math_span(formula.latex, formula.id)) + rest
    return fill(text, lambda at: spans[at])


def _freeze_marked(text: str, freeze: Callable[[str], str]) -> str:
    pieces: list[str] = []
    at = 0
    for span in math_spans(text):
        if span.id:
            pieces += (text[at : span.start], freeze(text[span.start : span.end]))
            at = span.end
    return "".join([*pieces, text[at:]])


def _occurrences(text: str, latex: str, loose: bool) -> Iterator[Occurrence]:
    """Yield the first occurrence of each spelling."""
    written = dict.fromkeys((latex, html.escape(latex, quote=False), html.escape(latex)))
    for rank, form in enumerate(SPELLINGS + (LOOSE if loose else ())):
        for inner in written:
            spelling = form.format(inner)
            if (start := text.find(spelling)) >= 0:
                yield Occurrence(start, rank, spelling)
