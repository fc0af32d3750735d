"""Text with formulas, as a sequence of segments: pieces of text, HTML tags and formulas; rendered as plain text and as
the official HTML.

Every field of a collection (title, body, comment) is a `Text`. It is segmented once, when the collection is built."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from porism.integrity import DamageError
from porism.text.markup import math_span, unescape

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
        return plain_text(self)

    def html(self) -> str:
        """Return the text in the official HTML form: each formula is a `math-container` span of escaped LaTeX."""
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


# Tags that end a line of plain text.
BLOCK = re.compile(r"</?(?:p|div|li|br|h[1-6]|pre|blockquote|tr|dd|dt|hr|table|ul|ol|dl)\b", re.IGNORECASE)
# The look behind keeps the time in proportion to the length of a run of spaces.
BLANK_LINES = re.compile(r"(?<![ \t])[ \t]*+\n(?:[ \t]*+\n)++")
# Tags that comments of the site write as marks.
COMMENT_MARKS = {"code": "`", "strong": "**", "em": "*"}
COMMENT_TAG = re.compile(r"<(/?)(code|strong|em)>")
LINK = re.compile(r'<a href="([^"]*)"')


def prose(text: Text) -> list[Segment]:
    """Return text and formulas in turn, without mark-up: tags of blocks become line ends, other tags disappear."""
    found: list[Segment] = []
    words: list[str] = []
    # The stored form is read directly: a post has hundreds of tags, and most of them leave nothing.
    for mark, content in STORED.findall(text.stored):
        if mark == WORDS:
            words.append(content)
        elif mark == TAG:
            if ends_line(content):
                words.append("\n")
        else:
            if words:
                found.append(Segment("text", "".join(words)))
                words = []
            found.append(stored_formula(mark, content))
    if words:
        found.append(Segment("text", "".join(words)))
    return found


@lru_cache(1000)
def ends_line(tag: str) -> bool:
    """Return whether a tag ends a line of plain text."""
    return BLOCK.match(tag) is not None


def plain_text(text: Text, formula: Callable[[Segment], str] = lambda segment: f"${segment.text}$") -> str:
    """Return text without mark-up; `formula` gives what to write for each formula.

    >>> plain_text(Text.of([Segment("tag", "<p>"), Segment("text", "Let "), Segment("formula", "a<b", 7)])).strip()
    'Let $a<b$'
    """
    return "".join(formula(segment) if segment.is_formula else segment.text for segment in prose(text))


def terminal_text(text: Text) -> str:
    """Return plain text for a terminal, paragraphs apart by one empty line."""
    return BLANK_LINES.sub("\n\n", plain_text(text).strip())


def escape_text(text: str) -> str:
    """Return text as HTML."""
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")


def official_html(text: Text) -> str:
    """Return the official HTML form: each formula is a `math-container` span with its id and escaped LaTeX."""
    return "".join(
        content if mark == TAG else escape_text(content) if mark == WORDS else _span(stored_formula(mark, content))
        for mark, content in STORED.findall(text.stored)
    )


def _span(formula: Segment) -> str:
    return math_span(formula.text, formula.formula_id, formula.display)


def comment_source(text: Text) -> str:
    """Return a comment as typed, with the site's marks for code, emphasis and links; formulas as spans."""
    out: list[str] = []
    address = ""
    for segment in text.segments:
        if segment.kind == "text":
            out.append(segment.text)
        elif segment.kind == "formula":
            out.append(_span(segment))
        elif mark := COMMENT_TAG.fullmatch(segment.text):
            out.append(COMMENT_MARKS[mark[2]])
        elif link := LINK.match(segment.text):
            address = unescape(link[1])
            out.append("[")
        elif segment.text == "</a>":
            out.append(f"]({address})")
        else:
            out.append(segment.text)
    return "".join(out)
