"""Ids of distinct expressions: each distinct LaTeX gets 1, 2, 3, ... in order of first appearance. Memory is bounded."""

from __future__ import annotations

import sqlite3

from cachetools import LRUCache

from porism.corpus.build.work import ExpressionRow, insert
from porism.hashing import hash64

CACHED = 200_000  # expressions


class ExpressionIds:
    """Assigns ids to distinct expressions, in the work database."""

    def __init__(self, work: sqlite3.Connection, store: sqlite3.Connection, top: int) -> None:
        """Continue after `top`, the highest id of the collection that is added to; `store` holds its expressions."""
        self._work = work
        self._store = store
        self._top = top
        self._next = 1 + max(top, work.execute("SELECT coalesce(max(id), 0) FROM latex").fetchone()[0])
        self._cache: LRUCache[str, int] = LRUCache(CACHED)

    def intern(
        self, latex: str, mathml: str | None = None, content: str | None = None, visual_id: int | None = None
    ) -> int:
        """Return the id of an expression, a new one for a new expression. The MathML and visual id of its first appearance are kept."""
        key = expression_key(latex, mathml)
        known = self._cache.get(key)
        if known is None:
            known = self._look_up(key, latex, mathml, content, visual_id)
            self._cache[key] = known
        return known

    def _look_up(self, key: str, latex: str, mathml: str | None, content: str | None, visual_id: int | None) -> int:
        hashed = hash64(key)
        # Two keys with one hash are as good as impossible, but a wrong formula would go unnoticed: compare, and try the next hash.
        while row := self._work.execute("SELECT id FROM latex_keys WHERE hash = ?", (hashed,)).fetchone():
            if self._key_of(row[0]) == key:
                return int(row[0])
            hashed += 1
        number: int = self._next
        self._next += 1
        self._work.execute(insert("latex", ExpressionRow), ExpressionRow(number, latex, mathml, content, visual_id))
        self._work.execute("INSERT INTO latex_keys VALUES(?, ?)", (hashed, number))
        return number

    def _key_of(self, number: int) -> str:
        """Return the key of a known expression."""
        database, table = (self._store, "expressions") if number <= self._top else (self._work, "latex")
        latex, mathml = database.execute(f"SELECT latex, mathml FROM {table} WHERE id = ?", (number,)).fetchone()
        return expression_key(latex, mathml)


def expression_key(latex: str, mathml: str | None) -> str:
    """Return what identifies an expression: its LaTeX, or its MathML if there is no LaTeX."""
    return latex if latex or mathml is None else "\0" + mathml
