"""Formulas that a source lists with their ids: they enter the collection as they are, are located in texts, or are only
in older versions of a post."""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from porism.corpus.build.expressions import ExpressionIds, NewExpression
from porism.corpus.build.ledger import Ledger
from porism.corpus.build.work import (
    COMMENT,
    FoundFormula,
    GivenFormula,
    KnownFormula,
    insert,
    note,
    number,
    progress,
    rows,
    top,
)
from porism.corpus.store.schema import FORMULA_KINDS
from porism.text.delimiters import MARKED_ID, MATH_CLASS, SPAN_CLOSE, math_span, math_spans
from porism.text.find import code_blocks, find_formulas, lab_formulas
from porism.text.markup import decode_entities, decode_latex
from porism.text.sanitize import fill, placeholder, without_placeholders

BATCH = 5000
CHUNK = 500  # ids of one query
INSERT = insert("found", FoundFormula)

GIVEN = """SELECT f.seq, f.id, f.post_id, f.thread_id, f.kind, f.comment_id, f.visual_id, f.old_visual_id, f.issue, f.latex,
    coalesce(f.mathml, (SELECT text FROM mathml m WHERE m.source = f.source AND m.id = f.id AND m.field = 'mathml')),
    coalesce(f.content, (SELECT text FROM mathml m WHERE m.source = f.source AND m.id = f.id AND m.field = 'content'))
    FROM formulas f NOT INDEXED WHERE f.source = ? AND f.seq > ? ORDER BY f.seq LIMIT ?"""
IN_WORK = "SELECT f.id, l.id, l.latex FROM found f JOIN latex l ON l.id = f.expression_id WHERE f.id IN ({})"
IN_STORE = "SELECT f.id, e.id, e.latex FROM formulas f JOIN expressions e ON e.id = f.expression_id WHERE f.id IN ({})"
UNPLACED = """post_id IN (SELECT id FROM posts WHERE form = 'placed') AND id NOT IN (SELECT formula_id FROM placed)
    AND id IN (SELECT id FROM formulas)"""


def top_id(work: sqlite3.Connection) -> int:
    """Return the highest formula id so far."""
    return max(top(work, "formulas"), number(work, "SELECT max(id) FROM found"))


def take_given(
    work: sqlite3.Connection,
    store: sqlite3.Connection,
    source: int,
    expressions: ExpressionIds,
    ledger: Ledger,
    first_own_id: int,
    compat: bool,
    stored: Callable[[], None],
) -> None:
    """Add the formulas that a source lists; those without an id get ids from `first_own_id` on. Call `stored` after
    each batch.

    Entities in their LaTeX are decoded, unless `compat` asks for the lab's files as they are."""
    stage = f"given {source}"
    following = max(first_own_id, top_id(work) + 1)
    for batch in _batches(work, source, progress(work, stage)):
        known = set(known_formulas(work, store, [given.id for given in batch if given.id]))
        formulas: list[GivenFormula] = []
        for given in batch:
            if given.id == 0:
                given, following = given._replace(id=following), following + 1
            elif given.id in known:
                ledger.drop("formulas", "the id appeared before", f"formula {given.id}")
                continue
            known.add(given.id)
            formulas.append(given)
        numbers = expressions.intern_all([_expression(given, compat) for given in formulas])
        work.executemany(INSERT, [_found(given, number) for given, number in zip(formulas, numbers, strict=True)])
        note(work, stage, batch[-1].seq)
        ledger.save()
        work.commit()
        stored()


def _expression(given: GivenFormula, compat: bool) -> NewExpression:
    latex = given.latex if compat else decode_latex(given.latex)
    return NewExpression(latex, given.mathml, given.content, given.visual_id)


def _found(given: GivenFormula, expression: int) -> FoundFormula:
    return FoundFormula(
        given.id,
        given.post_id,
        given.thread_id,
        FORMULA_KINDS.index(given.kind),
        given.comment_id,
        expression,
        given.visual_id,
        given.old_visual_id,
        given.issue,
    )


def _batches(work: sqlite3.Connection, source: int, after: int) -> Iterator[list[GivenFormula]]:
    while batch := rows(work, GivenFormula, GIVEN, source, after, BATCH):
        yield batch
        after = batch[-1].seq


def known_formulas(
    work: sqlite3.Connection, store: sqlite3.Connection | None, ids: Sequence[int]
) -> dict[int, KnownFormula]:
    """Return the formulas of these ids that the work database has, or else the store that is added to (if any)."""
    known = _look_up(work, IN_WORK, ids)
    if store is not None and len(known) < len(ids):
        known.update(_look_up(store, IN_STORE, [one for one in ids if one not in known]))
    return known


def _look_up(database: sqlite3.Connection, query: str, ids: Sequence[int]) -> dict[int, KnownFormula]:
    known: dict[int, KnownFormula] = {}
    stream = iter(ids)
    while chunk := list(islice(stream, CHUNK)):
        for formula in rows(database, KnownFormula, query.format(", ".join("?" * len(chunk))), *chunk):
            known[formula.id] = formula
    return known


def mark_unplaced(work: sqlite3.Connection, ledger: Ledger) -> None:
    """Give issue d to listed formulas that the text of their post lacks; note the comment of a formula where the list
    does not."""
    query = f"SELECT id FROM found WHERE {UNPLACED} AND issue NOT LIKE 'd%' ORDER BY id"
    for (formula_id,) in work.execute(query).fetchall():
        ledger.drop("formulas", "given, but not in the text (issue d)", f"formula {formula_id}")
        work.execute("UPDATE found SET issue = 'd' || issue WHERE id = ?", (formula_id,))
    work.execute(
        """UPDATE found SET comment_id = (SELECT p.comment_id FROM placed p WHERE p.formula_id = found.id)
        WHERE kind = ? AND comment_id IS NULL""",
        (COMMENT,),
    )


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
    """Inserts the official spans that the fields of one source lack; does nothing for a source that lists no
    formulas."""

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

        A formula that the source assigns to no comment goes to the first one that has it."""
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


class Revision(NamedTuple):
    """An older version of a title or a body."""

    field: Literal["title", "body"]
    text: str


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
    for revision in rows(work, Revision, query, source, post):
        for latex in _formulas(without_placeholders(revision.text), revision.field == "body", compat):
            if latex not in seen:
                seen.add(latex)
                yield RemovedFormula(latex, revision.field)


def _formulas(text: str, markdown: bool, compat: bool) -> tuple[str, ...]:
    """Bodies are kept as their authors typed them, in Markdown; the lab ignored that they may hold code."""
    if compat:
        return lab_formulas(text).latex
    text = decode_entities(text)
    code = code_blocks(text) if markdown else ()
    return find_formulas(text, "text", code=code).latex
