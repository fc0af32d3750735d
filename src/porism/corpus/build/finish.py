"""The last stage of a build: what refers to posts, then formulas, groups, indexes, digest and manifest."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from porism.corpus.build.fields import make_field
from porism.corpus.build.given import known_latex
from porism.corpus.build.ledger import Ledger
from porism.corpus.store.schema import DIGESTED, FORMULA_KINDS, INDEXES
from porism.text.html import place

CHUNK = 2000

USERS = """INSERT OR IGNORE INTO users SELECT u.id + :shift, u.name, u.reputation,
    coalesce((SELECT number FROM work.badges b WHERE b.source = u.source AND b.user_id = u.id AND b.grade = 1), 0),
    coalesce((SELECT number FROM work.badges b WHERE b.source = u.source AND b.user_id = u.id AND b.grade = 2), 0),
    coalesce((SELECT number FROM work.badges b WHERE b.source = u.source AND b.user_id = u.id AND b.grade = 3), 0)
    FROM work.users u WHERE u.source = :source ORDER BY u.seq"""
LINKS = """INSERT OR IGNORE INTO links SELECT post_id + :shift, other_id + :shift, kind FROM work.links
    WHERE source = :source AND post_id + :shift IN (SELECT id FROM posts)"""
VOTES = """INSERT OR IGNORE INTO votes SELECT post_id + :shift, type, number, bounty FROM work.votes
    WHERE source = :source AND post_id + :shift IN (SELECT id FROM posts)"""
FORMULAS = """INSERT OR REPLACE INTO formulas SELECT f.id, f.post_id, f.thread_id, f.kind, f.comment_id, f.expression_id,
    coalesce(f.visual_id, e.visual_id, (SELECT x.visual_id FROM expressions x WHERE x.id = f.expression_id)),
    f.old_visual_id, f.issue
    FROM work.found f LEFT JOIN work.expression_visuals e ON e.id = f.expression_id ORDER BY f.id"""
# SQLite takes the other columns from the row with the least id.
VISUALS = """INSERT OR REPLACE INTO visuals SELECT visual_id, expression_id, number, posts FROM (
    SELECT visual_id, expression_id, min(id), count(*) AS number, count(DISTINCT nullif(post_id, 0)) AS posts
    FROM formulas WHERE issue NOT IN ('d', 'dv') GROUP BY visual_id) ORDER BY visual_id"""


def finish_rows(store: sqlite3.Connection, shifts: Sequence[int], ledger: Ledger) -> None:
    """Users, links, votes, tags, formulas and groups; the work database is attached as `work`. Can be run again."""
    for source, shift in enumerate(shifts):
        values = {"source": source, "shift": shift}
        for query in (USERS, LINKS, VOTES):
            store.execute(query, values)
    _titles(store)
    _tags(store)
    store.commit()
    store.execute(FORMULAS)
    store.commit()
    store.execute(VISUALS)
    store.commit()
    _count(store, ledger)


def _titles(store: sqlite3.Connection) -> None:
    """Titles of linked questions outside the collection; their formulas have official ids."""
    rows = store.execute(
        "SELECT id, title FROM work.titles WHERE id NOT IN (SELECT id FROM posts) ORDER BY seq"
    ).fetchall()
    for number, title in rows:
        field = make_field(title, "placed-text", False)
        known = known_latex(store, [i for i in field.ids if i])
        latex = [known.get(i, text) for i, text in zip(field.ids, field.latex, strict=True)]
        store.execute("INSERT OR IGNORE INTO titles VALUES(?, ?)", (number, place(field.text, latex, field.ids)))


def _tags(store: sqlite3.Connection) -> None:
    counts: dict[str, int] = {}
    for (tags,) in store.execute("SELECT tags FROM posts WHERE tags != ''"):
        for tag in tags.split():
            counts[tag] = counts.get(tag, 0) + 1
    store.executemany("INSERT OR REPLACE INTO tags VALUES(?, ?)", sorted(counts.items()))


def _count(store: sqlite3.Connection, ledger: Ledger) -> None:
    for table in ("links", "users"):
        ledger.keep(table, store.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    dropped = (
        store.execute("SELECT count(*) FROM work.links").fetchone()[0]
        - store.execute("SELECT count(*) FROM links").fetchone()[0]
    )
    if dropped:
        ledger.drop("links", "from a post that is not kept, or said twice", number=dropped)
    for kind, number in store.execute(
        "SELECT kind, count(*) FROM formulas WHERE issue NOT IN ('d', 'dv') GROUP BY kind"
    ):
        ledger.keep(f"formulas in {FORMULA_KINDS[kind]}s", number)
    spurious = store.execute("SELECT count(*) FROM formulas WHERE issue IN ('d', 'dv')").fetchone()[0]
    if spurious:
        ledger.drop("formulas", "only in older versions or lost in the text (issue d)", number=spurious)


def add_indexes(store: sqlite3.Connection) -> None:
    """Indexes last: sorted once instead of grown row by row."""
    store.executescript(INDEXES)
    store.commit()


def counts(store: sqlite3.Connection) -> dict[str, int]:
    """How many rows each table has."""
    return {table: store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table, _ in DIGESTED}


def digest(store: sqlite3.Connection) -> str:
    """SHA-256 of all rows in order: the same for the same content, whatever the file's pages look like."""
    total = hashlib.sha256()
    for table, order in DIGESTED:
        cursor = store.execute(f"SELECT * FROM {table} ORDER BY {order}")
        total.update(table.encode())
        while rows := cursor.fetchmany(CHUNK):
            total.update(repr(rows).encode("utf-8", "surrogatepass"))
    return total.hexdigest()
