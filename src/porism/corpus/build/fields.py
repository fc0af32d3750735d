"""Segmenting one field of a source: find its formulas, clean the rest. Pure functions, which worker processes share
out."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from porism.corpus.sources.raw import FAULTS, Dropped, Form
from porism.deadline import ProcessorLimitExceeded, processor_limit
from porism.formula.latex.macros import UNEXPANDED
from porism.text.find import code_blocks, find_formulas, lab_formulas
from porism.text.markup import decode_entities
from porism.text.read import Segmented, clean, segment_html, segment_official, without_placeholders
from porism.text.segment import EMPTY, Segment, Text

# Of processor time, for a batch of fields and then for each of them; the longest post of a site takes 0.1.
SECONDS = 20.0
MARK = re.compile(r"[`*\[]")
# The marks that the site supports in comments.
COMMENT_MARKS = (
    (re.compile(r"(`{1,8})(.+?)\1"), r"<code>\2</code>"),
    (
        re.compile(r"\[([^\[\]]{1,300})\]\((https?://[^\s()<>\"]+(?:\([^\s()<>\"]*\)[^\s()<>\"]*)*)\)"),
        r'<a href="\2">\1</a>',
    ),
    (re.compile(r"\*\*(?=\S)(.{1,700}?)(?<=\S)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])"), r"<em>\1</em>"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """A segmented field; formulas have their official ids, or 0 where the build is to number them.

    `order` lists the positions of the formulas in the order in which they are numbered. `lost` are formulas whose
    position did not survive the cleaning (inside a tag or a dropped element). `fault` says why a field could not be
    segmented: it is kept as plain text. `unexpanded` formulas use macros that would write too much, and stay as they
    are typed."""

    text: Text = EMPTY
    order: tuple[int, ...] = ()
    lost: tuple[str, ...] = ()
    fault: str = ""
    unexpanded: int = 0


class RawField(NamedTuple):
    """A field as its source has it."""

    text: str
    form: Form


def make_fields(fields: Sequence[RawField], compat: bool) -> list[Field]:
    """Segment fields; one that cannot be segmented, or not in time, is plain text: it must not end a build."""
    try:
        with processor_limit(SECONDS):
            return [make_field_of_any_text(field.text, field.form, compat) for field in fields]
    except ProcessorLimitExceeded as error:
        if len(fields) > 1:
            return [made for field in fields for made in make_fields([field], compat)]
        return [Field(Text.of([Segment("text", fields[0].text)]), fault=error.message)]


def make_field_of_any_text(text: str, form: Form, compat: bool) -> Field:
    """Segment a field, and keep one that cannot be segmented as plain text."""
    try:
        return make_field(text, form, compat)
    except FAULTS as error:
        return Field(Text.of([Segment("text", text)]), fault=type(error).__name__)


def field_remarks(field: Field, where: str) -> Iterator[Dropped]:
    """Yield what a ledger says of a field that is kept in another way than it should be."""
    if field.fault:
        yield Dropped("texts", f"formulas cannot be found ({field.fault}), kept as plain text", where)
    if field.unexpanded:
        yield Dropped("formulas with macros", UNEXPANDED, f"{where}: {field.unexpanded} formulas")


def make_field(text: str, form: Form, compat: bool) -> Field:
    """Find the formulas of a field and clean the rest."""
    if not text:
        return Field()
    if form == "placed":
        return _field(segment_official(text, unmarked=not compat))
    if form == "placed-text":  # titles and comments are text, not HTML
        return _field(
            segment_official(text, "text", lambda piece: text_to_html(decode_entities(piece)), unmarked=not compat)
        )
    text = without_placeholders(text)
    is_text = form == "text"
    text = decode_entities(text) if is_text else text
    if compat:
        found = lab_formulas(text)
    else:
        found = find_formulas(text, "text" if is_text else "html", "spans" if form == "spans" else "all")
    cleaned = text_to_html(found.text) if is_text else clean(found.text)
    formulas = [Segment("formula", latex, display=at in found.displayed) for at, latex in enumerate(found.latex)]
    segmented = segment_html(cleaned, formulas)
    # The lab has ids for formulas without a position, too.
    placed = frozenset(segmented.numbers)
    lost = [latex for at, latex in enumerate(found.latex) if at not in placed] if compat else ()
    return _field(segmented, tuple(lost), found.unexpanded)


def text_to_html(text: str) -> str:
    """Return text as HTML: everything is escaped, then the few marks of comments are read."""
    text = html.escape(text, quote=False)
    if not MARK.search(text):
        return text
    for pattern, form in COMMENT_MARKS:
        text = pattern.sub(form, text)
    return clean(text)


def _field(segmented: Segmented, lost: tuple[str, ...] = (), unexpanded: int = 0) -> Field:
    numbers = segmented.numbers
    order = tuple(sorted(range(len(numbers)), key=numbers.__getitem__))
    return Field(segmented.text, order, lost, unexpanded=unexpanded or segmented.unexpanded)


class RemovedFormula(NamedTuple):
    """A formula of an older version, and the field it was in."""

    latex: str
    field: Literal["title", "body"]


def removed_formulas(
    work: sqlite3.Connection, source: int, post: int, present: set[str], compat: bool
) -> Iterator[RemovedFormula]:
    """Yield each formula of older versions of a post that is not among those `present`, once."""
    seen = set(present)
    query = "SELECT field, text FROM revisions WHERE source = ? AND post_id = ? ORDER BY seq"
    for field, text in work.execute(query, (source, post)).fetchall():
        for latex in _formulas(without_placeholders(text), field == "body", compat):
            if latex not in seen:
                seen.add(latex)
                yield RemovedFormula(latex, field)


def _formulas(text: str, markdown: bool, compat: bool) -> tuple[str, ...]:
    """Bodies are kept as their authors typed them, in Markdown; the lab ignored that they may hold code."""
    if compat:
        return lab_formulas(text).latex
    text = decode_entities(text)
    code = code_blocks(text) if markdown else ()
    return find_formulas(text, "text", code=code).latex
