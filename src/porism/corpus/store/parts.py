"""The stores of a collection: one SQLite file, or several parts of which later ones replace threads of earlier ones.

A part never changes. It names, in its table `removed`, the posts of earlier parts that it replaces or deletes; a thread
is always in one part as a whole. Queries run on every part, without the removed posts, and the results are merged in
the order of ids."""

from __future__ import annotations

import heapq
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from porism.corpus.content import Visual
from porism.corpus.store.schema import DATABASE, MANIFEST, POST_OF_ROW
from porism.integrity import DamageError, read_sealed

CHUNK = 1000
REMOVED = "removed"
REBUILD = "build the collection again: porism build SOURCE -o COLLECTION"


class PartDatabase:
    """One SQLite database that is only read: a file, or one in memory, which `path` names in errors."""

    def __init__(self, connection: sqlite3.Connection, path: Path, fix: str) -> None:
        self._connection = connection
        self._path = path
        self._fix = fix
        # A connection refers to itself: without this, its file stays open until the garbage collector runs.
        weakref.finalize(self, connection.close)

    @classmethod
    def open(cls, path: Path) -> PartDatabase:
        """Open a file."""
        # Immutable: SQLite looks for no lock and no journal, so that a collection can be on a read-only disk.
        name = path.resolve().as_uri() + "?mode=ro&immutable=1"
        return cls(sqlite3.connect(name, uri=True, check_same_thread=False), path, REBUILD)

    def close(self) -> None:
        """Close the store."""
        self._connection.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows of a query; none if a value has more than 64 bits, as no id has."""
        cursor = self._connection.cursor()
        cursor.arraysize = CHUNK
        try:
            cursor.execute(query, values)
            while rows := cursor.fetchmany():
                yield from rows
                if len(rows) < CHUNK:
                    return
        except OverflowError:
            return
        except (sqlite3.DatabaseError, UnicodeError) as error:
            raise self._damage(error) from error

    def one(self, query: str, values: Sequence[object] = ()) -> Any:
        """Return the first row of a query, or None."""
        try:
            return self._connection.execute(query, values).fetchone()
        except OverflowError:
            return None
        except (sqlite3.DatabaseError, UnicodeError) as error:
            raise self._damage(error) from error

    def _damage(self, error: Exception) -> DamageError:
        """Return the error that reports what SQLite cannot read."""
        return DamageError(f"is damaged: {error}", where=str(self._path), fix=self._fix)

    def hide(self, removed: set[int]) -> None:
        """Hide the rows of removed posts: temporary views with the names of the tables come before the tables."""
        if not removed:
            return
        connection = self._connection
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("CREATE TEMP TABLE hidden(id INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO hidden VALUES(?)", ((number,) for number in sorted(removed)))
        for table, column in POST_OF_ROW.items():
            kept = f"{column} NOT IN (SELECT id FROM temp.hidden)"
            connection.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {kept}")
        connection.commit()


class Parts:
    """The opened stores of a collection, the oldest first. Several threads may read."""

    def __init__(self, stores: Sequence[PartDatabase]) -> None:
        self.stores = stores
        removed: set[int] = set()
        for earlier, later in reversed(list(pairwise(self.stores))):
            removed.update(row[0] for row in later.rows(f"SELECT id FROM {REMOVED}"))
            earlier.hide(removed)

    @classmethod
    def open(cls, folders: Sequence[Path]) -> Parts:
        """Open the stores in these folders."""
        return cls([PartDatabase.open(folder / DATABASE) for folder in folders])

    def close(self) -> None:
        """Close all stores."""
        for store in self.stores:
            store.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows of a query that is ordered by its first column, whatever parts they are in."""
        if len(self.stores) == 1:
            return self.stores[0].rows(query, values)
        return heapq.merge(*(one.rows(query, values) for one in self.stores), key=lambda row: row[0])

    def newest_rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield rows in the order of an id, their first column; of rows with one id that of the newest part."""
        last = None
        newest_first = (one.rows(query, values) for one in reversed(self.stores))
        for row in heapq.merge(*newest_first, key=lambda row: row[0]):  # of equal ids, that of the first stream first
            if row[0] != last:
                yield row
            last = row[0]

    def most_common_visuals(self, number: int) -> list[Visual]:
        """Return the visual ids with most formulas. A later part has the present counts of those that it changed."""
        found: dict[int, Visual] = {}
        for store in reversed(self.stores[1:]):
            found = {row[0]: Visual(*row) for row in store.rows("SELECT * FROM visuals")} | found
        # Of the first ones in the oldest part at most as many have changed as later parts have.
        query = "SELECT * FROM visuals ORDER BY formulas DESC, id LIMIT ?"
        found = {row[0]: Visual(*row) for row in self.stores[0].rows(query, (number + len(found),))} | found
        best = sorted((one for one in found.values() if one.formulas), key=lambda one: (-one.formulas, one.id))
        return best[:number]

    def one(self, query: str, values: Sequence[object] = ()) -> Any:
        """Return the first row of a query in the newest part that has any."""
        return next((row for store in reversed(self.stores) if (row := store.one(query, values)) is not None), None)


def part_names(manifest: dict[str, Any]) -> list[str]:
    """Return the folders of the parts of a collection, relative to its own folder, the oldest first."""
    return [str(part) for part in manifest.get("parts", ["."])]


def part_folders(path: Path) -> list[Path]:
    """Return the folders of the parts of a collection that is not opened."""
    return [(path / part).resolve() for part in part_names(read_sealed(path / MANIFEST, REBUILD).document)]
