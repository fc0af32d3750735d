"""Visual ids: formulas that look the same share one.

The key of a formula is its layout as a Tangent-S string, else its LaTeX without white space; the two key spaces are apart.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from porism.formula import Parsed, tangent
from porism.hashing import hash64

TABLES = """
CREATE TABLE IF NOT EXISTS visual_keys(key INTEGER PRIMARY KEY, visual_id INTEGER);
CREATE TABLE IF NOT EXISTS expression_visuals(id INTEGER PRIMARY KEY, key INTEGER, visual_id INTEGER);
"""


SPACE = "[W!]"
# Repairs that take nothing away.
SEEN = frozenset(("trailing backslash",))


def visual_text(parsed: Parsed) -> tuple[str, str]:
    """The key in words: ("slt", string) or ("latex", string)."""
    text = "" if parsed.path == "opaque" else tangent(parsed.layout)
    # Spaces of any width look the same. Where a repair took away all there was (definitions, a tag), the LaTeX still tells formulas apart.
    seen = text and (text != SPACE or SEEN.issuperset(parsed.repairs))
    return ("slt", text) if seen else ("latex", "".join(parsed.latex.split()))


def visual_key(parsed: Parsed) -> int:
    """The key as a number."""
    return hash64("\t".join(visual_text(parsed)))


class VisualIds:
    """Ids from 1 in order of first appearance; official ids stay and claim their keys first."""

    def __init__(self, work: sqlite3.Connection, top: int) -> None:
        """`top` is the highest visual id of a collection that is added to."""
        self._work = work
        # Until the last expression with an official id has been seen, a key without one may still turn out to have one.
        query = "SELECT coalesce(max(id), 0) FROM latex WHERE visual_id IS NOT NULL"
        self._last_official = work.execute(query).fetchone()[0]
        queries = ("SELECT max(visual_id) FROM found", "SELECT max(visual_id) FROM visual_keys")
        self._next = 1 + max(top, *(work.execute(query).fetchone()[0] or 0 for query in queries))

    def number(self, expression: int, key: int, official: int | None) -> int | None:
        """The visual id of an expression, or None while it must wait for the official ones."""
        row = self._work.execute("SELECT visual_id FROM visual_keys WHERE key = ?", (key,)).fetchone()
        visual = official if official is not None else row[0] if row else None
        if visual is None and expression > self._last_official:
            visual, self._next = self._next, self._next + 1
        if row is None and visual is not None:
            self._work.execute("INSERT INTO visual_keys VALUES(?, ?)", (key, visual))
        self._work.execute("INSERT OR REPLACE INTO expression_visuals VALUES(?, ?, ?)", (expression, key, visual))
        return visual

    def settle(self, store: sqlite3.Connection) -> None:
        """Give ids to those that waited, in order."""
        waiting = self._work.execute(
            "SELECT id, key FROM expression_visuals WHERE visual_id IS NULL ORDER BY id"
        ).fetchall()
        self._last_official = 0
        for expression, key in waiting:
            visual = self.number(expression, key, None)
            store.execute("UPDATE expressions SET visual_id = ? WHERE id = ?", (visual, expression))
        store.commit()
        self._work.commit()


Key = tuple[str, str] | int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A formula with the visual id it had and the key it has now (as words or as a number)."""

    formula_id: int
    old_visual_id: int
    key: Key


def recluster(
    formulas: Iterable[Assigned], relevance: Mapping[int, float] | None = None, first_new: int | None = None
) -> dict[int, int]:
    """The repair of ARQMath-3: new visual id of each formula, from an old assignment and true keys.

    A cluster with more than one key is faulty and is split by key. The part with most formulas keeps the id; a tie goes to the part
    with the larger cumulative relevance (`relevance` by formula id), then to the part with the lowest formula id. Every other
    formula joins the cluster that its key now has, a sound one first, else a new id, shared by equal keys. Holds all formulas in memory.
    """
    relevance = relevance or {}
    clusters: dict[int, dict[Key, list[int]]] = defaultdict(lambda: defaultdict(list))
    for formula in formulas:
        clusters[formula.old_visual_id][formula.key].append(formula.formula_id)
    following = max(clusters, default=0) + 1 if first_new is None else first_new
    home: dict[Key, int] = {}
    for visual, parts in sorted(clusters.items()):
        if len(parts) == 1:
            home.setdefault(next(iter(parts)), visual)
    moved: list[tuple[int, Key, list[int]]] = []
    result: dict[int, int] = {}
    for visual, parts in sorted(clusters.items()):
        winner = max(
            parts, key=lambda key: (len(parts[key]), sum(relevance.get(i, 0) for i in parts[key]), -min(parts[key]))
        )
        for key, ids in parts.items():
            if key == winner:
                result.update(dict.fromkeys(ids, visual))
                home.setdefault(key, visual)
            else:
                moved.append((min(ids), key, ids))
    for _, key, ids in sorted(moved, key=lambda part: part[0]):
        if key not in home:
            home[key], following = following, following + 1
        result.update(dict.fromkeys(ids, home[key]))
    return result
