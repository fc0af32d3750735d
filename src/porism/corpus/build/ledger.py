"""The ledger of a build: rows read, kept and dropped, with examples, saved with every batch. Nothing is lost
silently."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

EXAMPLES = 5

TABLE = """
CREATE TABLE IF NOT EXISTS ledger(
    what TEXT, why TEXT, number INTEGER, examples TEXT, PRIMARY KEY(what, why)) WITHOUT ROWID;
"""
READ, KEPT = "read", "kept"


class Entry(NamedTuple):
    """How many rows of a kind were read, kept or dropped for a reason, and some examples."""

    what: str
    why: str
    number: int
    examples: list[str]


class Ledger:
    """Counts rows by kind and reason, in a table of the database that the counted rows go to."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.executescript(TABLE)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], list[str]] = {}
        for what, why, number, examples in database.execute("SELECT * FROM ledger"):
            self._counts[what, why] = number
            self._examples[what, why] = examples.split("\n") if examples else []

    def read(self, what: str, number: int = 1) -> None:
        """Count rows that were read."""
        self._counts[what, READ] += number

    def keep(self, what: str, number: int = 1) -> None:
        """Count rows that are in the collection."""
        self._counts[what, KEPT] += number

    def drop(self, what: str, why: str, example: str = "", number: int = 1) -> None:
        """Count rows that are not in the collection, or that need a remark; the first few are kept as examples."""
        self._counts[what, why] += number
        examples = self._examples.setdefault((what, why), [])
        if example and len(examples) < EXAMPLES:
            examples.append(example.replace("\n", " "))

    def save(self) -> None:
        """Write the counts; the caller commits them together with the rows."""
        rows = [(*key, number, "\n".join(self._examples.get(key, ()))) for key, number in self._counts.items()]
        self._database.executemany("INSERT OR REPLACE INTO ledger VALUES(?, ?, ?, ?)", rows)

    def entries(self) -> list[Entry]:
        """Return all counts."""
        return [Entry(*key, number, self._examples.get(key, [])) for key, number in sorted(self._counts.items())]


NAMES = (
    "documents", "posts", "dates of posts", "comments", "dates of comments", "links", "users", "badges", "votes",
    "revisions",
)  # fmt: skip
ORDER = {name: at for at, name in enumerate(NAMES)}


def report_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report as aligned text."""
    entries = manifest["ledger"]
    kinds = sorted({entry["what"] for entry in entries}, key=lambda what: (ORDER.get(what, len(ORDER)), what))
    entries = sorted(entries, key=lambda entry: kinds.index(entry["what"]))
    yield f"{'':32}{'read':>12}{'kept':>12}{'dropped':>12}"
    for what in kinds:
        mine = {entry["why"]: entry for entry in entries if entry["what"] == what}
        dropped = sum(entry["number"] for why, entry in mine.items() if why not in (READ, KEPT))
        numbers = (mine.get(READ, {}).get("number"), mine.get(KEPT, {}).get("number"), dropped or None)
        yield f"{what:32}" + "".join(f"{'' if number is None else format(number, ','):>12}" for number in numbers)
    for entry in entries:
        if entry["why"] not in (READ, KEPT):
            yield f"{entry['what']}: {entry['number']:,} {entry['why']}"
            yield from (f"    {example}" for example in entry["examples"])
    counts = manifest["counts"]
    yield (
        f"{counts['posts']:,} posts, {counts['comments']:,} comments, {counts['formulas']:,} formulas, "
        f"{counts['expressions']:,} distinct, {counts['visuals']:,} visual ids"
    )
    yield f"digest {manifest['digest']}"
