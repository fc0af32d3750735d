"""Formulas of new posts: expressions that the collection knows keep their ids, new ones get the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from porism.corpus.build.expressions import expression_key
from porism.corpus.build.parsing import Given, StoredExpression, parse_all
from porism.corpus.build.work import columns
from porism.corpus.sources.raw import OWN_IDS
from porism.corpus.store.parts import Parts

BY_KEY = f"SELECT {columns(StoredExpression)} FROM expressions WHERE key = ? ORDER BY id"
BY_ID = f"SELECT {columns(StoredExpression)} FROM expressions WHERE id = ?"


def highest(parts: Parts, column: str, table: str) -> int:
    """Return the highest value of a column over all parts, also in removed rows, so that no id is used twice."""
    query = f"SELECT max({column}) FROM main.{table}"
    return max((one.one(query)[0] or 0) for one in parts.stores)


class Expressions:
    """The expressions of a new part: those that its formulas use, known or new."""

    def __init__(self, parts: Parts, official: bool) -> None:
        """Continue the ids of the parts; where there are official visual ids, new ones start above them."""
        self._parts = parts
        self.used: dict[int, StoredExpression] = {}
        self._by_key: dict[str, int] = {}
        self._visual_of_key: dict[int, int] = {}
        self.first_new = 1 + highest(parts, "id", "expressions")
        self._next = self.first_new
        visual = 1 + max(highest(parts, "visual_id", "formulas"), highest(parts, "id", "visuals"))
        self._next_visual = max(visual, OWN_IDS if official else 1)

    def intern(self, latex: Sequence[str]) -> list[int]:
        """Return the ids of expressions, new ids for new ones, in order."""
        new = [text for text in dict.fromkeys(latex) if text not in self._by_key]
        for text, trees in zip(new, parse_all([Given(text, None, None) for text in new]), strict=True):
            same = list(self._with_key(trees.key))
            known = next((one for one in same if expression_key(one.latex, one.mathml) == text), None)
            if known is None:
                visual = self._visual_of_key.get(trees.key) or (same[0].visual_id if same else None)
                if visual is None:
                    visual, self._next_visual = self._next_visual, self._next_visual + 1
                self._visual_of_key[trees.key] = visual
                packed = (trees.packed, trees.path, trees.problem, trees.key)
                known = StoredExpression(self._next, text, None, None, *packed, visual)
                self._next += 1
            self._by_key[text] = known.id
            self.used[known.id] = known
        return [self._by_key[text] for text in latex]

    def _with_key(self, key: int) -> Iterator[StoredExpression]:
        return map(StoredExpression._make, self._parts.newest_rows(BY_KEY, (key,)))

    def use(self, number: int) -> StoredExpression:
        """Return an expression by its id, which the part then holds."""
        if number not in self.used:
            self.used[number] = StoredExpression._make(self._parts.one(BY_ID, (number,)))
        return self.used[number]

    @property
    def last(self) -> int:
        """The highest expression id."""
        return self._next - 1

    def write(self, store: sqlite3.Connection) -> None:
        """Write the expressions that are used."""
        marks = ", ".join("?" * len(StoredExpression._fields))
        store.executemany(f"INSERT INTO expressions VALUES({marks})", [self.used[one] for one in sorted(self.used)])
