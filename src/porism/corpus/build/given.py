"""Formulas that a source gives with their ids: they enter the collection as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any

from porism.corpus.build.base import top
from porism.corpus.build.expressions import Numbers
from porism.corpus.build.ledger import Ledger
from porism.corpus.store.schema import FORMULA_KINDS

BATCH = 5000

TABLES = """
CREATE TABLE IF NOT EXISTS progress(stage TEXT PRIMARY KEY, done INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS found(
    id INTEGER PRIMARY KEY, post_id INTEGER, thread_id INTEGER, kind INTEGER, comment_id INTEGER, expression_id INTEGER,
    visual_id INTEGER, old_visual_id INTEGER, issue TEXT);
CREATE TABLE IF NOT EXISTS placed(formula_id INTEGER PRIMARY KEY, comment_id INTEGER);
"""
INSERT_FOUND = "INSERT INTO found VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"

GIVEN = """SELECT f.seq, f.id, f.post_id, f.thread_id, f.kind, f.comment_id, f.visual_id, f.old_visual_id, f.issue, f.latex,
    coalesce(f.mathml, (SELECT text FROM mathml m WHERE m.source = f.source AND m.id = f.id AND m.field = 'mathml')),
    coalesce(f.content, (SELECT text FROM mathml m WHERE m.source = f.source AND m.id = f.id AND m.field = 'content'))
    FROM formulas f NOT INDEXED WHERE f.source = ? AND f.seq > ? ORDER BY f.seq LIMIT ?"""


def progress(database: sqlite3.Connection, stage: str) -> int:
    """How far a stage came."""
    row = database.execute("SELECT done FROM progress WHERE stage = ?", (stage,)).fetchone()
    return 0 if row is None else int(row[0])


def note(database: sqlite3.Connection, stage: str, done: int) -> None:
    """Note how far a stage came; the caller commits."""
    database.execute("INSERT OR REPLACE INTO progress VALUES(?, ?)", (stage, done))


def top_id(database: sqlite3.Connection) -> int:
    """The highest formula id so far."""
    return max(top(database, "formulas"), int(database.execute("SELECT coalesce(max(id), 0) FROM found").fetchone()[0]))


def _batches(database: sqlite3.Connection, source: int, after: int) -> Iterator[list[Any]]:
    while rows := database.execute(GIVEN, (source, after, BATCH)).fetchall():
        yield rows
        after = rows[-1][0]


def take_given(
    database: sqlite3.Connection, store: sqlite3.Connection, source: int, numbers: Numbers, ledger: Ledger
) -> None:
    """Number the expressions of a source's own formulas and note where they stand."""
    stage = f"given {source}"
    following = top_id(database) + 1
    for rows in _batches(database, source, progress(database, stage)):
        for _, number, post_id, thread_id, kind, comment_id, visual_id, old, issue, latex, mathml, content in rows:
            if number == 0:
                number, following = following, following + 1
            elif _is_known(database, store, number):
                ledger.drop("formulas", "the id appeared before", f"formula {number}")
                continue
            expression = numbers.number(latex, mathml, content, visual_id)
            where = (post_id, thread_id, FORMULA_KINDS.index(kind), comment_id)
            database.execute(INSERT_FOUND, (number, *where, expression, visual_id, old, issue))
        note(database, stage, rows[-1][0])
        ledger.save()
        database.commit()


def _is_known(database: sqlite3.Connection, store: sqlite3.Connection, number: int) -> bool:
    found = database.execute("SELECT 1 FROM found WHERE id = ?", (number,)).fetchone()
    # Until the last stage, the store holds only the formulas of the collection that is added to.
    return bool(found or store.execute("SELECT 1 FROM formulas WHERE id = ?", (number,)).fetchone())


def known_latex(
    database: sqlite3.Connection, ids: list[int], tables: tuple[str, str] = ("found", "latex")
) -> dict[int, str]:
    """The LaTeX of formulas that have their ids, from the work database or from a store."""
    known: dict[int, str] = {}
    stream = iter(ids)
    while part := list(islice(stream, 500)):
        query = f"""SELECT f.id, l.latex FROM {tables[0]} f JOIN {tables[1]} l ON l.id = f.expression_id
            WHERE f.id IN ({", ".join("?" * len(part))})"""
        known.update(database.execute(query, part))
    return known


def mark_unplaced(database: sqlite3.Connection, ledger: Ledger) -> None:
    """Given formulas of a post in the collection that stand nowhere in it get issue d; comments are named where they were not."""
    unplaced = (
        """post_id IN (SELECT id FROM posts WHERE form = 'placed') AND id NOT IN (SELECT formula_id FROM placed)"""
    )
    query = f"SELECT id FROM found WHERE {unplaced} AND issue NOT LIKE 'd%' ORDER BY id"
    for (number,) in database.execute(query).fetchall():
        ledger.drop("formulas", "given, but not in the text (issue d)", f"formula {number}")
        database.execute("UPDATE found SET issue = 'd' || issue WHERE id = ?", (number,))
    database.execute(
        """UPDATE found SET comment_id = (SELECT p.comment_id FROM placed p WHERE p.formula_id = found.id)
        WHERE kind = 3 AND comment_id IS NULL"""
    )
