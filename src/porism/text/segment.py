"""Text with formulas, as a sequence of segments: pieces of text, HTML tags and formulas.

Every field of a collection (title, body, comment) is a `Text`. It is segmented once, when the collection is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

SegmentKind = Literal["text", "tag", "formula"]


class Segment(NamedTuple):
    """A piece of text (without entities), one clean HTML tag, or the LaTeX of a formula.

    A formula has its id and the id of its expression (the collection's distinct LaTeX); both are 0 for text that no collection holds.
    `display` tells a formula that is set on a line of its own.
    """

    kind: SegmentKind
    text: str
    formula_id: int = 0
    expression_id: int = 0
    display: bool = False

    @property
    def is_formula(self) -> bool:
        """Return whether the segment is a formula."""
        return self.kind == "formula"


# The stored form of a text: each segment is a mark, which tells its kind, and its content. The content of a formula is
# `FORMULA_ID EXPRESSION_ID LATEX`. The marks are control characters that no text of a person contains.
TAG, WORDS, INLINE, DISPLAY = "\x1c", "\x1d", "\x1e", "\x1f"
MARK = re.compile("[\x1c-\x1f]")
STORED = re.compile("([\x1c-\x1f])([^\x1c-\x1f]*)")
FORMULA = re.compile("([\x1e\x1f])([0-9]+) ([0-9]+) ([^\x1c-\x1f]*)")


@dataclass(frozen=True, slots=True)
class Text:
    """A field as segments, kept in its compact stored form. Equal texts have equal segments."""

    stored: str = ""

    @classmethod
    def of(cls, segments: Iterable[Segment]) -> Text:
        """Return the text with these segments; empty ones are left out, and neighbouring pieces of text become one."""
        out: list[str] = []
        after_text = False
        for segment in segments:
            if segment.kind == "formula":
                out.append(_stored_formula(segment))
            elif segment.text:
                mark = TAG if segment.kind == "tag" else "" if after_text else WORDS
                out.append(mark + MARK.sub(" ", segment.text))
            else:
                continue
            after_text = segment.kind == "text"
        return cls("".join(out))

    @classmethod
    def of_words(cls, words: str) -> Text:
        """Return the text that consists of these words alone."""
        return cls.of([Segment("text", words)])

    @property
    def segments(self) -> list[Segment]:
        """Return the segments in order."""
        return [_segment(mark, content) for mark, content in STORED.findall(self.stored)]

    @property
    def formulas(self) -> list[Segment]:
        """Return the formulas in order of position."""
        return [
            Segment("formula", latex, int(number), int(expression), mark == DISPLAY)
            for mark, number, expression, latex in FORMULA.findall(self.stored)
        ]

    def with_formulas(self, formulas: Sequence[Segment]) -> Text:
        """Return the text with these formulas in place of its own, in order of position."""
        replacement = iter(formulas)
        return Text(FORMULA.sub(lambda _: _stored_formula(next(replacement)), self.stored))

    def plain(self) -> str:
        """Return the text without mark-up, each formula between dollar signs."""
        from porism.text.render import plain_text

        return plain_text(self)

    def html(self) -> str:
        """Return the text in the official HTML form: each formula is a `math-container` span of escaped LaTeX."""
        from porism.text.render import official_html

        return official_html(self)

    def __bool__(self) -> bool:
        return bool(self.stored)


EMPTY = Text()


def _stored_formula(segment: Segment) -> str:
    mark = DISPLAY if segment.display else INLINE
    return f"{mark}{segment.formula_id} {segment.expression_id} {MARK.sub(' ', segment.text)}"


def _segment(mark: str, content: str) -> Segment:
    if mark == WORDS:
        return Segment("text", content)
    if mark == TAG:
        return Segment("tag", content)
    number, expression, latex = content.split(" ", 2)
    return Segment("formula", latex, int(number), int(expression), mark == DISPLAY)
