"""The last stage of a build: users, links and votes, then formulas, visual ids, indexes and digest."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Sequence

from porism.corpus.build.ledger import Ledger
from porism.corpus.build.work import number
from porism.corpus.store.schema import BLOBS, DIGESTED, FORMULA_KINDS, INDEXES

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
IMAGES = "INSERT OR IGNORE INTO images SELECT name, data FROM work.images ORDER BY name"
FORMULAS = """INSERT OR REPLACE INTO formulas SELECT f.id, f.post_id, f.thread_id, f.kind,
    f.comment_id, f.expression_id,
    coalesce(f.visual_id, e.visual_id, (SELECT x.visual_id FROM expressions x WHERE x.id = f.expression_id)),
    f.old_visual_id, f.issue
    FROM work.found f LEFT JOIN work.expression_visuals e ON e.id = f.expression_id ORDER BY f.id"""
# SQLite takes the other columns from the row with the lowest id.
VISUALS = """INSERT OR REPLACE INTO visuals SELECT visual_id, expression_id, number, posts FROM (
    SELECT visual_id, expression_id, min(id), count(*) AS number, count(DISTINCT nullif(post_id, 0)) AS posts
    FROM formulas WHERE issue NOT IN ('d', 'dv') GROUP BY visual_id) ORDER BY visual_id"""


def finish_rows(store: sqlite3.Connection, shifts: Sequence[int], ledger: Ledger) -> None:
    """Write the rest of the rows; the work database is attached as `work`. Can be run again."""
    for source, shift in enumerate(shifts):
        values = {"source": source, "shift": shift}
        for query in (USERS, LINKS, VOTES):
            store.execute(query, values)
    tags = Counter(tag for (own,) in store.execute("SELECT tags FROM posts WHERE tags != ''") for tag in own.split())
    store.executemany("INSERT OR REPLACE INTO tags VALUES(?, ?)", sorted(tags.items()))
    store.execute(IMAGES)
    store.commit()
    store.execute(FORMULAS)
    store.commit()
    store.execute(VISUALS)
    store.commit()
    _count(store, ledger)


def _count(store: sqlite3.Connection, ledger: Ledger) -> None:
    for table in ("links", "users"):
        ledger.keep(table, number(store, f"SELECT count(*) FROM {table}"))
    if dropped := number(store, "SELECT (SELECT count(*) FROM work.links) - (SELECT count(*) FROM links)"):
        ledger.drop("links", "from a post that is not kept, or repeated", number=dropped)
    query = "SELECT kind, count(*) FROM formulas WHERE issue NOT IN ('d', 'dv') GROUP BY kind"
    for kind, formulas in store.execute(query):
        ledger.keep(f"formulas in {FORMULA_KINDS[kind]}s", formulas)
    if images := number(store, "SELECT count(*) FROM images"):
        ledger.keep("pictures", images)
    if spurious := number(store, "SELECT count(*) FROM formulas WHERE issue IN ('d', 'dv')"):
        ledger.drop("formulas", "that occur only in older versions of a post (kept, never searched)", number=spurious)


def add_indexes(store: sqlite3.Connection) -> None:
    """Make the indexes last: rows are then sorted once instead of inserted one by one."""
    store.executescript(INDEXES)
    store.commit()


def counts(store: sqlite3.Connection) -> dict[str, int]:
    """Return the number of rows of each table."""
    return {table: number(store, f"SELECT count(*) FROM {table}") for table, _ in DIGESTED}


def digest(store: sqlite3.Connection) -> str:
    """Return the SHA-256 of all rows in order: equal for equal content, whatever the layout of the file."""
    total = hashlib.sha256()
    for table, order in DIGESTED:
        cursor = store.execute(f"SELECT * FROM {table} ORDER BY {order}")
        total.update(table.encode())
        names = [column[0] for column in cursor.description]
        blob = names.index(BLOBS[table]) if table in BLOBS else None
        while rows := cursor.fetchmany(CHUNK):
            if blob is not None:
                total.update(b"".join([row[blob] for row in rows]))
                rows = [(*row[:blob], len(row[blob]), *row[blob + 1 :]) for row in rows]
            total.update(repr(rows).encode("utf-8", "surrogatepass"))
    # The name of a picture is the digest of its content.
    for (name,) in store.execute("SELECT name FROM images ORDER BY name"):
        total.update(name.encode())
    return total.hexdigest()
