"""Visual ids: formulas that look the same share one.

The visual key of a formula is its layout as a Tangent-S string, or else its LaTeX without white space; the two kinds
never mix."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.corpus.build.work import number, rows
from porism.corpus.content import batched
from porism.corpus.sources.raw import OWN_IDS
from porism.formula import Parsed, tangent
from porism.hashing import hash64

BATCH = 1000  # expressions that get their visual ids together
SPACE = "[W!]"
# Repairs that remove nothing.
SEEN = frozenset(("trailing backslash",))


def visual_text(parsed: Parsed) -> tuple[str, str]:
    """Return the visual key: ("slt", string) or ("latex", string)."""
    text = "" if parsed.path == "opaque" else tangent(parsed.layout)
    # Spaces of any width look the same. Where a repair removed everything (definitions, a tag), the LaTeX still tells
    # formulas apart.
    seen = text and (text != SPACE or SEEN.issuperset(parsed.repairs))
    return ("slt", text) if seen else ("latex", "".join(parsed.latex.split()))


def visual_key(parsed: Parsed) -> int:
    """Return the hash of the visual key."""
    return hash64("\t".join(visual_text(parsed)))


class VisualKeyRow(NamedTuple):
    """An expression with the hash of its visual key, and its official visual id if it has one."""

    expression_id: int
    key: int
    official: int | None


class VisualIds:
    """Assigns visual ids in order of first appearance; official ids stay and claim their keys first.

    Where there are official ids, new ones start at OWN_IDS: the lab's list goes on beyond what a part of its collection
    holds."""

    def __init__(self, work: sqlite3.Connection, top: int) -> None:
        """Continue after `top`, the highest visual id of the collection that is added to."""
        self._work = work
        # Until the last expression with an official id has been seen, a key without one may still turn out to have one.
        self._last_official = number(work, "SELECT max(id) FROM latex WHERE visual_id IS NOT NULL")
        highest = max(top, number(work, "SELECT max(visual_id) FROM found"))
        first = OWN_IDS if number(work, "SELECT EXISTS(SELECT 1 FROM found WHERE visual_id IS NOT NULL)") else 1
        self._next = max(first, 1 + max(highest, number(work, "SELECT max(visual_id) FROM visual_keys")))

    def assign(self, expressions: Sequence[VisualKeyRow]) -> list[int | None]:
        """Return the visual ids of expressions in the order of ids, None for those that wait for official ones."""
        keys = list({one.key for one in expressions})
        marks = ", ".join("?" * len(keys))
        known = dict(self._work.execute(f"SELECT key, visual_id FROM visual_keys WHERE key IN ({marks})", keys))
        new: list[tuple[int, int]] = []
        visuals: list[int | None] = []
        for expression, key, official in expressions:
            visual = known.get(key) if official is None else official
            if visual is None and expression > self._last_official:
                visual, self._next = self._next, self._next + 1
            if key not in known and visual is not None:
                known[key] = visual
                new.append((key, visual))
            visuals.append(visual)
        self._work.executemany("INSERT INTO visual_keys VALUES(?, ?)", new)
        rows = [(one.expression_id, one.key, visual) for one, visual in zip(expressions, visuals, strict=True)]
        self._work.executemany("INSERT OR REPLACE INTO expression_visuals VALUES(?, ?, ?)", rows)
        return visuals

    def settle(self, store: sqlite3.Connection) -> None:
        """Assign ids to the expressions that waited, in order."""
        query = "SELECT id, key, NULL FROM expression_visuals WHERE visual_id IS NULL ORDER BY id"
        self._last_official = 0
        for batch in batched(rows(self._work, VisualKeyRow, query), BATCH):
            ids = [(visual, one.expression_id) for visual, one in zip(self.assign(batch), batch, strict=True)]
            store.executemany("UPDATE expressions SET visual_id = ? WHERE id = ?", ids)
        store.commit()
        self._work.commit()


Key = tuple[str, str] | int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A formula with the visual id that it had and its present visual key (or the key's hash)."""

    formula_id: int
    old_visual_id: int
    key: Key


def recluster(
    formulas: Iterable[Assigned], relevance: Mapping[int, float] | None = None, first_new: int | None = None
) -> dict[int, int]:
    """Return the new visual id of each formula, from an old assignment and true keys: the repair of ARQMath-3.

    A cluster with more than one key is faulty and is split by key. The part with most formulas keeps the id; a tie goes
    to the part with the larger cumulative relevance (`relevance` by formula id), then to the part with the lowest
    formula id. Every other formula joins the cluster that its key now has, a sound one first, else a new id, shared by
    equal keys. Holds all formulas in memory.
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
