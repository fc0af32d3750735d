"""Text with formulas, as a sequence of segments: pieces of text, HTML tags and formulas.

Every field of a collection (title, body, comment) is a `Text`. It is segmented once, when the collection is built."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from porism.integrity import DamageError

SegmentKind = Literal["text", "tag", "formula"]


class Segment(NamedTuple):
    """A piece of text (without entities), one clean HTML tag, or the LaTeX of a formula.

    A formula has its id and the id of its expression (the collection's distinct LaTeX); both are 0 for text that no
    collection holds. `display` is true for a formula that is set on a line of its own."""

    kind: SegmentKind
    text: str
    formula_id: int = 0
    expression_id: int = 0
    display: bool = False

    @property
    def is_formula(self) -> bool:
        """Return whether the segment is a formula."""
        return self.kind == "formula"


# The stored form of a text: each segment is a mark (its kind) and its content. The content of a formula is
# `FORMULA_ID EXPRESSION_ID LATEX`. The marks are control characters that no text of a person contains.
TAG, WORDS, INLINE, DISPLAY = "\x1c", "\x1d", "\x1e", "\x1f"
MARK = re.compile("[\x1c-\x1f]")
StoredPiece = tuple[str, str]
STORED = re.compile("([\x1c-\x1f])([^\x1c-\x1f]*)")
FORMULA = re.compile("([\x1e\x1f])([0-9]+) ([0-9]+) ([^\x1c-\x1f]*)")
EXPRESSION = re.compile("[\x1e\x1f][0-9]+ ([0-9]+) ")


def expression_ids(stored: str) -> Iterator[int]:
    """Yield the expressions of the formulas in the stored form of a text."""
    return map(int, EXPRESSION.findall(stored))


@dataclass(frozen=True, slots=True)
class Text:
    """A field as segments, kept in its compact stored form. Equal texts have equal segments."""

    stored: str = ""

    @classmethod
    def of(cls, segments: Iterable[Segment]) -> Text:
        """Return the text with these segments; empty ones are left out, and neighbouring pieces of text become one."""
        writer = TextWriter()
        for segment in segments:
            if segment.kind == "formula":
                writer.formula(segment)
            elif segment.kind == "tag":
                writer.tag(without_marks(segment.text))
            else:
                writer.words(without_marks(segment.text))
        return writer.text()

    @property
    def segments(self) -> list[Segment]:
        """Return the segments in order."""
        return [
            Segment("tag", content)
            if mark == TAG
            else Segment("text", content)
            if mark == WORDS
            else stored_formula(mark, content)
            for mark, content in STORED.findall(self.stored)
        ]

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
        return Text(FORMULA.sub(lambda _: _written(next(replacement)), self.stored))

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


class TextWriter:
    """Writes the stored form of a text. Words and tags must be free of marks."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._after_words = False

    def words(self, words: str) -> None:
        """Add text; it continues the text before it."""
        if words:
            self._out.append(words if self._after_words else WORDS + words)
            self._after_words = True

    def tag(self, tag: str) -> None:
        """Add an HTML tag."""
        if tag:
            self._out.append(TAG + tag)
            self._after_words = False

    def formula(self, segment: Segment) -> None:
        """Add a formula."""
        self._out.append(_written(segment))
        self._after_words = False

    def text(self) -> Text:
        """Return the text."""
        return Text("".join(self._out))


def without_marks(text: str) -> str:
    """Replace the marks of the stored form by blanks."""
    return MARK.sub(" ", text)


def _written(segment: Segment) -> str:
    mark = DISPLAY if segment.display else INLINE
    return f"{mark}{segment.formula_id} {segment.expression_id} {without_marks(segment.text)}"


def stored_formula(mark: str, content: str) -> Segment:
    """Return the formula that is stored with this mark and content."""
    try:
        number, expression, latex = content.split(" ", 2)
        return Segment("formula", latex, int(number), int(expression), mark == DISPLAY)
    except ValueError:
        raise DamageError("a stored text is damaged", fix="find the damaged file: porism store verify PATH") from None
