"""The part of a collection that a change concerns, as a small collection in a folder, read from the cluster when it is
asked for.

What computes a change reads rows by queries. The rows of whole threads are read together; expressions and visual ids
when the first one is needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cbor2

from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import PartDatabase, Parts
from porism.corpus.store.schema import DATABASE, INDEXES, TABLES
from porism.corpus.update.changes import Changes
from porism.corpus.update.delta import FIRST_LIVE, LINKING, THREAD_OF_POST, VISUAL
from porism.corpus.update.threads import BY_ID, BY_KEY
from porism.store.opensearch.content import ClusterContent
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.rows import EXPRESSIONS, FORMULAS, OUTSIDE, USERS, VISUALS, Row

NO_KEY = 1 - (1 << 63)  # of an expression that means the highest id


class ClosureParts(Parts):
    """Rows of a collection, filled in from the cluster."""

    def __init__(self, path: Path, content: ClusterContent, manifest: StoreManifest) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + TABLES + INDEXES)
        super().__init__([PartDatabase(self._database, path, "make the changes again")])
        self._content = content
        self._threads: set[int] = set()
        self._posts: set[int] = set()
        self._expressions: set[int] = set()
        self._visuals: set[int] = set()
        self._read: set[tuple[str, int]] = set()
        self._fill: dict[str, Callable[..., None]] = {
            THREAD_OF_POST: self._need_post,
            LINKING: self._need_linking,
            VISUAL: self._need_visual,
            FIRST_LIVE: self._need_uses,
            BY_KEY: self._need_key,
            BY_ID: self._need_expression,
        }
        self._mark_highest(manifest)
        self._insert("tags", ([one.name, one.posts] for one in content.tags()))

    def _mark_highest(self, manifest: StoreManifest) -> None:
        """Add rows with the highest ids, so that none is used twice."""
        top = manifest.highest
        self._insert("expressions", [[top["expressions"], "", None, None, b"", "", "", NO_KEY, top["visuals"]]])
        self._insert("formulas", [[top["formulas"], -1, -1, 0, None, top["expressions"], top["visuals"], None, "d"]])
        self._insert("visuals", [[top["visuals"], top["expressions"], 0, 0]])

    def _insert(self, table: str, rows: Iterable[Row]) -> None:
        found = [tuple(row) for row in rows]
        if found:
            marks = ", ".join("?" * len(found[0]))
            self._database.executemany(f"INSERT OR REPLACE INTO {table} VALUES({marks})", found)

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield rows, which are read from the cluster first where they are not here."""
        self._prepare(query, values)
        return super().rows(query, values)

    def newest_rows(self, query: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield rows, which are read from the cluster first where they are not here."""
        self._prepare(query, values)
        return super().newest_rows(query, values)

    def one(self, query: str, values: Sequence[object] = ()) -> Any:
        """Return a row, which is read from the cluster first where it is not here."""
        self._prepare(query, values)
        return super().one(query, values)

    def _prepare(self, query: str, values: Sequence[Any]) -> None:
        if query in self._fill:
            with suppress(OverflowError):  # no id has more than 64 bits
                self._fill[query](*values)

    def need(self, changes: Changes) -> None:
        """Read the threads that changes concern."""
        posts = {*changes.posts, *changes.deleted_posts, *(one.parent_id or 0 for one in changes.posts.values())}
        posts |= {one.post_id for one in changes.comments.values()}
        posts |= {key[0] for key in (*changes.links, *changes.deleted_links)}
        comments = [*changes.comments, *changes.deleted_comments]
        posts |= {one.post.id for one in self._content.posts_where("comment", comments)}
        self.need_posts(posts)
        self._insert("users", self._content.table_rows(USERS, changes.users).values())

    def need_posts(self, posts: Iterable[int]) -> None:
        """Read the threads of posts."""
        new = [number for number in posts if number not in self._posts]
        self._posts.update(new)
        self._need_threads(one.post.thread_id for one in self._content.read_posts(new).values())

    def _need_threads(self, threads: Iterable[int]) -> None:
        new = {number for number in threads if number not in self._threads}
        self._threads |= new
        for one in self._content.posts_where("thread", sorted(new)):
            rows = one.rows
            self._posts.add(one.post.id)
            self._insert("posts", [rows.post])
            for table, own in (("comments", rows.comments), ("links", rows.links), ("votes", rows.votes)):
                self._insert(table, own)
            self._insert("formulas", [row[:9] for row in rows.formulas])
            self._expressions |= {row[5] for row in rows.formulas}
            self._visuals |= {row[6] for row in rows.formulas}

    def _need_post(self, number: int) -> None:
        self.need_posts([number])

    def _need_linking(self, question: int) -> None:
        self._need_threads(one.post.thread_id for one in self._content.posts_where("other", [question]))

    def _need_visual(self, number: int) -> None:
        """Read a visual id, with those of all threads that are here."""
        if ("visual", number) in self._read:
            return
        wanted = {one for one in {*self._visuals, number} if ("visual", one) not in self._read}
        self._insert("visuals", self._content.table_rows(VISUALS, wanted).values())
        self._read |= {("visual", one) for one in wanted}

    def _need_expression(self, number: int) -> None:
        """Read an expression, with those of all threads that are here."""
        if ("expression", number) not in self._read:
            self._need_expressions({*self._expressions, number})

    def _need_expressions(self, numbers: Iterable[int]) -> None:
        wanted = {one for one in numbers if ("expression", one) not in self._read}
        self._insert("expressions", self._content.table_rows(EXPRESSIONS, wanted).values())
        self._read |= {("expression", one) for one in wanted}

    def _need_key(self, key: int) -> None:
        rows = [row for row in self._content.blocks_with(EXPRESSIONS, "key", [key]) if row[7] == key]
        self._insert("expressions", rows)

    def _need_uses(self, visual: int, most: int) -> None:
        """Read the first formulas with a visual id, also those of no post."""
        for fields in self._content.first_uses(visual, most):
            rows = (row[:9] for row in cbor2.loads(fields["formulas"]) if row[6] == visual)
            self._insert("formulas", rows)
        without = self._content.blocks_with(FORMULAS, "key", [visual])
        self._insert("formulas", (row[:OUTSIDE] for row in without if row[6] == visual))

    def titles(self, more: Iterable[int]) -> None:
        """Read the titles of questions of other threads, with their formulas: those to which the threads that are here
        link, and more."""
        linked = {row[0] for row in self._database.execute("SELECT DISTINCT other_id FROM links")}
        titles = self._content.titles_by_id(sorted({*linked, *more} - self._posts))
        self._insert("titles", ([number, text.stored] for number, text in titles.items()))
        self._need_expressions(formula.expression_id for text in titles.values() for formula in text.formulas)


def open_closure(folder: Path, content: ClusterContent, manifest: StoreManifest) -> Collection:
    """Return a collection that knows all facts, and has the rows that are asked for."""
    folder.mkdir(parents=True)
    facts = {**manifest.facts, "parts": ["."]}
    return Collection(folder, facts, {}, ClosureParts(folder / DATABASE, content, manifest))
