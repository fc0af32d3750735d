"""Each distinct LaTeX gets a number, 1, 2, 3, ..., in order of first appearance; memory does not grow with their number."""

from __future__ import annotations

import sqlite3

from porism.hashing import hash64

CACHE = 200_000

TABLES = """
CREATE TABLE IF NOT EXISTS latex(id INTEGER PRIMARY KEY, latex TEXT, mathml TEXT, content TEXT, visual_id INTEGER);
CREATE TABLE IF NOT EXISTS latex_keys(hash INTEGER PRIMARY KEY, id INTEGER);
"""


class Numbers:
    """The numbers of distinct expressions, kept in the work database."""

    def __init__(self, database: sqlite3.Connection, store: sqlite3.Connection, top: int) -> None:
        """`store` holds the expressions up to `top` of a collection that is added to."""
        self._database = database
        self._store = store
        self._top = top
        self._next = 1 + max(top, database.execute("SELECT coalesce(max(id), 0) FROM latex").fetchone()[0])
        self._cache: dict[str, int] = {}

    def number(
        self, latex: str, mathml: str | None = None, content: str | None = None, visual_id: int | None = None
    ) -> int:
        """The number of an expression, a new one if it was not seen before. The first given MathML and visual id stay."""
        key = expression_key(latex, mathml)
        known: int | None = self._cache.get(key)
        if known is None:
            known = self._look_up(key, latex, mathml, content, visual_id)
            if len(self._cache) >= CACHE:
                self._cache.clear()
            self._cache[key] = known
        return known

    def _look_up(self, key: str, latex: str, mathml: str | None, content: str | None, visual_id: int | None) -> int:
        hashed = hash64(key)
        # Two texts of one hash are as good as impossible, but a wrong formula would be silent: compare, and go on to the next.
        while row := self._database.execute("SELECT id FROM latex_keys WHERE hash = ?", (hashed,)).fetchone():
            if self._written(row[0]) == key:
                return int(row[0])
            hashed += 1
        number: int = self._next
        self._next += 1
        self._database.execute("INSERT INTO latex VALUES(?, ?, ?, ?, ?)", (number, latex, mathml, content, visual_id))
        self._database.execute("INSERT INTO latex_keys VALUES(?, ?)", (hashed, number))
        return number

    def _written(self, number: int) -> str:
        """The key of a known expression."""
        database, table = (self._store, "expressions") if number <= self._top else (self._database, "latex")
        row = database.execute(f"SELECT latex, mathml FROM {table} WHERE id = ?", (number,)).fetchone()
        return expression_key(*row)


def expression_key(latex: str, mathml: str | None) -> str:
    """Without LaTeX, the MathML is what tells expressions apart."""
    return latex if latex or mathml is None else "\0" + mathml
