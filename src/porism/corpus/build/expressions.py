"""Ids of distinct expressions, in order of first appearance, with bounded memory; where a collection is added to, they
continue above its own."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from porism.corpus.build.ledger import Ledger
from porism.corpus.build.work import ExpressionRow, insert
from porism.corpus.content import batched
from porism.corpus.store.schema import DATABASE
from porism.hashing import hash64

CACHED = 200_000  # expressions
CHUNK = 500  # hashes of one query
INSERT = insert("latex", ExpressionRow)
INSERT_KEY = "INSERT INTO latex_keys VALUES(?, ?)"


class NewExpression(NamedTuple):
    """An expression that may be new: its LaTeX, and the MathML and the visual id that its source gives."""

    latex: str
    mathml: str | None
    content: str | None
    visual_id: int | None


class ExpressionIds:
    """Assigns ids to distinct expressions, in the work database."""

    def __init__(self, work: sqlite3.Connection, store: sqlite3.Connection, top: int) -> None:
        """Continue after `top`, the highest id of the collection that is added to; `store` holds its expressions."""
        self._work = work
        self._store = store
        self._top = top
        self._next = 1 + max(top, work.execute("SELECT coalesce(max(id), 0) FROM latex").fetchone()[0])
        self._cache: dict[str, int] = {}

    def intern(
        self, latex: str, mathml: str | None = None, content: str | None = None, visual_id: int | None = None
    ) -> int:
        """Return the id of an expression, known or new; the MathML and visual id of its first appearance are kept."""
        key = expression_key(latex, mathml)
        known = self._cache.get(key)
        if known is None:
            known = self._look_up(key, latex, mathml, content, visual_id)
            self._keep(key, known)
        return known

    def _keep(self, key: str, number: int) -> None:
        if len(self._cache) >= CACHED:
            self._cache.clear()
        self._cache[key] = number

    def intern_all(self, expressions: Sequence[NewExpression]) -> list[int]:
        """Return the ids of expressions, as `intern` returns them one by one. This takes a third of the time."""
        keys = [expression_key(one.latex, one.mathml) for one in expressions]
        hashes = {key: hash64(key) for key in keys if key not in self._cache}
        taken = self._taken(list(hashes.values()))
        new: list[tuple[int, NewExpression, int]] = []
        numbers = []
        for key, one in zip(keys, expressions, strict=True):
            number = self._cache.get(key)
            if number is None:
                hashed = hashes.get(key)
                if hashed is None or hashed in taken:
                    self._add(new)
                    number = self._look_up(key, *one)
                else:
                    number, self._next = self._next, self._next + 1
                    taken.add(hashed)
                    new.append((number, one, hashed))
                self._keep(key, number)
            numbers.append(number)
        self._add(new)
        return numbers

    def _taken(self, hashes: Sequence[int]) -> set[int]:
        """Return those hashes that have an expression."""
        taken: set[int] = set()
        for chunk in batched(hashes, CHUNK):
            query = f"SELECT hash FROM latex_keys WHERE hash IN ({', '.join('?' * len(chunk))})"
            taken.update(row[0] for row in self._work.execute(query, chunk))
        return taken

    def _add(self, new: list[tuple[int, NewExpression, int]]) -> None:
        """Store new expressions, and empty the list of them."""
        self._work.executemany(INSERT, [(number, *one) for number, one, _ in new])
        self._work.executemany(INSERT_KEY, [(hashed, number) for number, _, hashed in new])
        new.clear()

    def _look_up(self, key: str, latex: str, mathml: str | None, content: str | None, visual_id: int | None) -> int:
        hashed = hash64(key)
        # Two keys with one hash are as good as impossible, but a wrong formula would go unnoticed: compare, and try the
        # next hash.
        while row := self._work.execute("SELECT id FROM latex_keys WHERE hash = ?", (hashed,)).fetchone():
            database, table = (self._store, "expressions") if row[0] <= self._top else (self._work, "latex")
            known = database.execute(f"SELECT latex, mathml FROM {table} WHERE id = ?", row).fetchone()
            if expression_key(*known) == key:
                return int(row[0])
            hashed += 1
        number: int = self._next
        self._next += 1
        self._work.execute(INSERT, (number, latex, mathml, content, visual_id))
        self._work.execute(INSERT_KEY, (hashed, number))
        return number


class Workspace(NamedTuple):
    """What the stages of a build share. `added_to` says whether the store is a copy of a collection that is added to,
    `compat` whether formulas are found as the lab found them."""

    work: sqlite3.Connection
    store: sqlite3.Connection
    expressions: ExpressionIds
    ledger: Ledger
    added_to: bool
    compat: bool


def expression_key(latex: str, mathml: str | None) -> str:
    """Return what identifies an expression: its LaTeX, or its MathML if there is no LaTeX."""
    return latex if latex or mathml is None else "\0" + mathml


TOPS = {
    "ids": "SELECT max((SELECT coalesce(max(id), 0) FROM posts), (SELECT coalesce(max(id), 0) FROM comments),"
    " (SELECT coalesce(max(id), 0) FROM users))",
    "expressions": "SELECT coalesce(max(id), 0) FROM expressions",
    "formulas": "SELECT coalesce(max(id), 0) FROM formulas",
    "visuals": "SELECT coalesce(max(visual_id), 0) FROM formulas",
}


def copy_store(base: Path, folder: Path) -> None:
    """Copy the store that is added to; readers of the old one are not disturbed."""
    if not (folder / DATABASE).exists():
        shutil.copyfile(base / DATABASE, folder / f"{DATABASE}.copy")
        os.replace(folder / f"{DATABASE}.copy", folder / DATABASE)


def seed(work: sqlite3.Connection, store: sqlite3.Connection) -> None:
    """Note in the work database what the store already holds; the caller commits."""
    for what, query in TOPS.items():
        work.execute("INSERT INTO base_tops VALUES(?, ?)", (what, store.execute(query).fetchone()[0]))
    work.executemany("INSERT INTO base_posts VALUES(?, ?, ?)", store.execute("SELECT id, thread_id, kind FROM posts"))
    work.executemany("INSERT INTO base_comments VALUES(?)", store.execute("SELECT id FROM comments"))
    work.executemany(
        "INSERT OR IGNORE INTO visual_keys VALUES(?, ?)",
        store.execute("SELECT key, visual_id FROM expressions ORDER BY id"),
    )
    known = store.execute("SELECT id, latex, mathml FROM expressions ORDER BY id")
    keys = ((hash64(expression_key(latex, mathml)), number) for number, latex, mathml in known)
    work.executemany("INSERT OR IGNORE INTO latex_keys VALUES(?, ?)", keys)
