"""Formulas that a source lists with their ids: they enter the collection as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

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
from porism.text.entities import decode_latex

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
    """Add the formulas that a source lists; those without an id get ids from `first_own_id` on. Call `stored` after each batch.

    Entities in their LaTeX are decoded, unless `compat` asks for the lab's files as they are.
    """
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
    """Give issue d to listed formulas that the text of their post lacks; note the comment of a formula where the list does not."""
    query = f"SELECT id FROM found WHERE {UNPLACED} AND issue NOT LIKE 'd%' ORDER BY id"
    for (formula_id,) in work.execute(query).fetchall():
        ledger.drop("formulas", "given, but not in the text (issue d)", f"formula {formula_id}")
        work.execute("UPDATE found SET issue = 'd' || issue WHERE id = ?", (formula_id,))
    work.execute(
        """UPDATE found SET comment_id = (SELECT p.comment_id FROM placed p WHERE p.formula_id = found.id)
        WHERE kind = ? AND comment_id IS NULL""",
        (COMMENT,),
    )
