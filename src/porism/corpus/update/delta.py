"""Parts of a collection: the next one is written with the threads that change, as a whole, and the posts of earlier
parts that it replaces; several are merged into one. A merge of all parts is a collection in one file again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from porism.corpus.build.finish import add_indexes, digest
from porism.corpus.build.ledger import EXAMPLES, Entry
from porism.corpus.build.work import FoundFormula
from porism.corpus.content import Visual
from porism.corpus.sources.raw import Dropped
from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import Parts
from porism.corpus.store.schema import DATABASE, MANIFEST, POST_OF_ROW, REMOVED_TABLE, TABLES
from porism.corpus.update.changes import Changes
from porism.corpus.update.threads import Expressions, SlowChange, ThreadEditor, ThreadRows, highest, read_thread
from porism.files import atomic_file
from porism.integrity import describe_file, seal
from porism.text.segment import Text

THREAD_OF_POST = "SELECT thread_id FROM posts WHERE id = ?"
LINKING = "SELECT post_id FROM links WHERE other_id = ? ORDER BY post_id"
VISUAL = "SELECT * FROM visuals WHERE id = ?"
FIRST_LIVE = """SELECT id, post_id, expression_id FROM formulas
    WHERE visual_id = ? AND issue NOT IN ('d', 'dv') ORDER BY id LIMIT ?"""


@dataclass
class Delta:
    """What a new part changes: threads that it holds, threads of earlier parts that it replaces or deletes, visual ids
    that are new (or have another representative), visual ids that are gone (or have one), its first new expression, and
    changes that could not be made."""

    threads: list[int] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)
    new_visuals: list[int] = field(default_factory=list)
    gone_visuals: list[int] = field(default_factory=list)
    first_expression: int = 1
    skipped: list[Dropped] = field(default_factory=list)
    remarks: list[Dropped] = field(default_factory=list)  # on what is kept in another way than it should be
    counts: Counter[str] = field(default_factory=Counter)  # added, replaced and deleted posts and comments

    def __bool__(self) -> bool:
        return bool(self.threads or self.replaced or self.counts)


class DeltaWriter:
    """Applies changes to a collection and writes the result as a new part."""

    def __init__(self, collection: Collection, changes: Changes, source: str) -> None:
        self._collection = collection
        self._parts = collection.parts
        self._changes = changes
        first_own = collection.first_own_formula
        self._expressions = Expressions(self._parts, first_own is not None)
        first = max(1 + highest(self._parts, "id", "formulas"), first_own or 1)
        compat = bool(collection.manifest["options"].get("compat"))
        self._editor = ThreadEditor(changes, self._expressions, first, source, compat)
        self._old: dict[int, ThreadRows] = {}
        self._new: dict[int, ThreadRows] = {}
        self.delta = Delta(first_expression=self._expressions.first_new)

    def apply(self) -> Delta:
        """Compute the threads after the changes."""
        titles_changed = []
        for question in sorted(self._affected()):
            old = read_thread(self._parts, question)
            new: ThreadRows | None = None
            while new is None:  # changes that take too long are left out
                try:
                    new = self._editor.apply(question, old)
                except SlowChange as change:
                    self.delta.skipped += self._editor.leave_out(change, question, old)
            if new != old:
                self._old[question], self._new[question] = old, new
            if _title(question, new) != _title(question, old):
                titles_changed.append(question)
        # The threads of questions that link to these index their titles.
        linking = (row for question in titles_changed for row in self._parts.rows(LINKING, (question,)))
        for (question,) in linking:
            if question not in self._new:
                self._old[question] = self._new[question] = read_thread(self._parts, question)
        self._describe()
        self.delta.remarks = self._editor.remarks
        return self.delta

    def _thread_of(self, post: int) -> int | None:
        row = self._parts.one(THREAD_OF_POST, (post,))
        return None if row is None else int(row[0])

    def _affected(self) -> set[int]:
        """Return the questions of all threads that changes concern; note the changes that concern none."""
        found: set[int | None] = set()
        put = self._changes.posts
        for post in list(put.values()):
            thread = post.id if post.kind == "question" else post.parent_id or 0
            if thread not in put and self._thread_of(thread) != thread:
                self._skip("posts", "an answer whose question is not in the collection", post.id)
                del put[post.id]
            else:
                found |= {thread, self._thread_of(post.id)}
        for comment in self._changes.comments.values():
            post_id = comment.post_id
            own = put.get(post_id)
            thread_id = (own.parent_id if own.kind == "answer" else own.id) if own else self._thread_of(post_id)
            if thread_id is None:
                self._skip("comments", "on a post that is not in the collection", comment.id)
            found |= {thread_id, *self._threads_of_comment(comment.id)}
        for post_id, _, _ in (*self._changes.links, *self._changes.deleted_links):
            found.add(post_id if post_id in put else self._thread_of(post_id))
        found |= {self._thread_of(number) for number in self._changes.deleted_posts}
        found |= set(chain.from_iterable(map(self._threads_of_comment, self._changes.deleted_comments)))
        return {number for number in found if number is not None}

    def _threads_of_comment(self, comment: int) -> list[int | None]:
        row = self._parts.one("SELECT post_id FROM comments WHERE id = ?", (comment,))
        return [] if row is None else [self._thread_of(row[0])]

    def _skip(self, what: str, why: str, number: int) -> None:
        self.delta.skipped.append(Dropped(what, why, str(number)))

    def _describe(self) -> None:
        delta = self.delta
        delta.threads = sorted(number for number, rows in self._new.items() if rows.posts)
        delta.replaced = sorted(number for number, rows in self._old.items() if rows.posts)
        for question, new in self._new.items():
            old = self._old[question]
            for what, before, after in (("posts", old.posts, new.posts), ("comments", old.comments, new.comments)):
                delta.counts[f"added {what}"] += len(after.keys() - before.keys())
                delta.counts[f"deleted {what}"] += len(before.keys() - after.keys())
                both = before.keys() & after.keys()
                delta.counts[f"replaced {what}"] += sum(before[number] != after[number] for number in both)
        delta.counts += Counter()  # without zeros
        if self._changes.users:
            delta.counts["users"] = len(self._changes.users)

    def write(self, folder: Path) -> None:
        """Write the new part into a new folder, which is then a collection itself: all parts together."""
        store = _new_store(folder)
        self._write_threads(store)
        visuals = self._write_visuals(store)
        self._expressions.write(store)
        users = self._write_users(store)
        tags = self._write_tags(store)
        images = [(one.name, one.data) for one in self._changes.images.values()]
        store.executemany("INSERT INTO images VALUES(?, ?)", images)
        add_indexes(store)
        content = hashlib.sha256(f"{self._collection.digest} {self._removed()} {digest(store)}".encode()).hexdigest()
        counts = self._counts() | {
            "visuals": self._collection.count("visuals") + visuals,
            "users": self._collection.count("users") + users,
            "tags": self._collection.count("tags") + tags,
            "expressions": self._expressions.last,
        }
        store.close()
        own = self._collection
        ledger = with_remarks(own.manifest["ledger"], self.delta.remarks)
        changed = {"digest": content, "counts": {**own.manifest["counts"], **counts}, "ledger": ledger}
        write_collection_manifest(own, [*own.part_folders, folder], folder, changed)

    def _removed(self) -> list[int]:
        return sorted(number for rows in self._old.values() for number in rows.posts)

    def _write_threads(self, store: sqlite3.Connection) -> None:
        rows = [self._new[number] for number in self.delta.threads]
        for table, found in (
            ("posts", [one for thread in rows for one in thread.posts.values()]),
            ("comments", [one for thread in rows for one in thread.comments.values()]),
            ("links", [(one.post_id, one.other_id, one.kind) for thread in rows for one in thread.links.values()]),
            ("votes", [one for thread in rows for one in thread.votes]),
        ):
            if found:
                store.executemany(f"INSERT INTO {table} VALUES({', '.join('?' * len(found[0]))})", found)
        formulas = [one for thread in rows for one in thread.formulas]
        for one in formulas:
            self._expressions.use(one.expression_id)
        order = "id, post_id, thread_id, kind, comment_id, expression_id, visual_id, old_visual_id, issue"
        store.executemany(f"INSERT INTO formulas({order}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", formulas)
        store.executemany("INSERT INTO removed VALUES(?)", ((number,) for number in self._removed()))

    def _counts(self) -> dict[str, int]:
        """Return the numbers of rows after the change."""
        counts = {}
        for table in ("posts", "comments", "links", "votes", "formulas"):
            change = sum(len(getattr(rows, table)) for rows in self._new.values())
            change -= sum(len(getattr(rows, table)) for rows in self._old.values())
            counts[table] = self._collection.count(table) + change
        return counts

    def _write_visuals(self, store: sqlite3.Connection) -> int:
        """Write the present counts of all visual ids that the change touches; return by how many their number grows."""
        old, new = (_by_visual(threads) for threads in (self._old, self._new))
        growth = 0
        rows = []
        for number in sorted(old.keys() | new.keys()):
            row = self._parts.one(VISUAL, (number,))
            before = Visual(number, 0, 0, 0) if row is None else Visual(*row)
            after = self._visual(before, old.get(number, []), new.get(number, []))
            rows.append(after)
            growth += bool(after.formulas) - bool(before.formulas)
            other = before.expression_id != after.expression_id
            if after.formulas:
                self._expressions.use(after.expression_id)
            if after.formulas and (other or not before.formulas):
                self.delta.new_visuals.append(number)
            if before.formulas and (other or not after.formulas):
                self.delta.gone_visuals.append(number)
        store.executemany("INSERT INTO visuals VALUES(?, ?, ?, ?)", rows)
        return growth

    def _visual(self, before: Visual, old: list[FoundFormula], new: list[FoundFormula]) -> Visual:
        formulas = before.formulas - len(old) + len(new)
        posts = before.posts - len({one.post_id for one in old} - {0}) + len({one.post_id for one in new} - {0})
        if not formulas or (before.formulas and not old):  # new formulas have higher ids than those before
            return Visual(before.id, before.expression_id, formulas, posts)
        removed = set(self._removed())
        live = (row for row in self._parts.rows(FIRST_LIVE, (before.id, len(old) + 1)) if row[1] not in removed)
        candidates = [(one.id, one.expression_id) for one in new] + [(row[0], row[2]) for row in islice(live, 1)]
        return Visual(before.id, min(candidates)[1], formulas, posts)

    def _write_users(self, store: sqlite3.Connection) -> int:
        """Write users that are put, with the badges they had; return how many are new."""
        known = self._collection.users_by_id(list(self._changes.users))
        for number, raw in sorted(self._changes.users.items()):
            old = known.get(number)
            badges = (0, 0, 0) if old is None else (old.gold, old.silver, old.bronze)
            row = (number, raw.name, raw.reputation, *badges)
            store.execute("INSERT INTO users VALUES(?, ?, ?, ?, ?, ?)", row)
        return len(self._changes.users) - len(known)

    def _write_tags(self, store: sqlite3.Connection) -> int:
        """Write how the number of questions of each tag changes; return by how many the number of tags grows."""
        old, new = (
            Counter(tag for rows in threads.values() for post in rows.posts.values() for tag in post.tags.split())
            for threads in (self._old, self._new)
        )
        changed = {tag: number for tag in old.keys() | new.keys() if (number := new[tag] - old[tag])}
        store.executemany("INSERT INTO tags VALUES(?, ?)", sorted(changed.items()))
        known = {tag.name: tag.posts for tag in self._collection.tags()} if changed else {}
        return sum(bool(known.get(tag, 0) + number) - bool(known.get(tag, 0)) for tag, number in changed.items())


def _new_store(folder: Path) -> sqlite3.Connection:
    """Return an empty store in a new folder; nobody reads it until it is complete, so it needs no journal."""
    folder.mkdir(parents=True)
    store = sqlite3.connect(folder / DATABASE, isolation_level=None)
    store.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")
    store.executescript(TABLES + REMOVED_TABLE)
    return store


def with_remarks(ledger: Sequence[dict[str, Any]], remarks: Sequence[Dropped]) -> list[dict[str, Any]]:
    """Return the ledger of a collection with the remarks of a change."""
    entries = {(one["what"], one["why"]): Entry(**one) for one in ledger}
    for remark in remarks:
        known = entries.get((remark.what, remark.why), Entry(remark.what, remark.why, 0, []))
        examples = [*known.examples, remark.where][:EXAMPLES]
        entries[remark.what, remark.why] = known._replace(number=known.number + 1, examples=examples)
    return [entries[key]._asdict() for key in sorted(entries)]


def write_collection_manifest(before: Collection, parts: Sequence[Path], folder: Path, changed: dict[str, Any]) -> None:
    """Write the manifest of a collection of these parts, that of `before` with changes, into the folder of one."""
    known = {(before.path / name).resolve(): checksum for name, checksum in before.files.items()}
    files, names = {}, []
    for part in parts:
        store = (part / DATABASE).resolve()
        names.append(os.path.relpath(part.resolve(), folder.resolve()))
        files[os.path.relpath(store, folder.resolve())] = asdict(known.get(store) or describe_file(store))
    manifest = before.manifest | changed | {"parts": names, "files": files}
    with atomic_file(folder / MANIFEST) as out:
        out.write(seal(manifest))


def _title(question: int, rows: ThreadRows) -> list[str] | None:
    """Return what other threads index of a title; None if there is no question."""
    if question not in rows.posts:
        return None
    return [f"{one.kind} {one.text}" for one in Text(rows.posts[question].title).segments]


def _by_visual(threads: dict[int, ThreadRows]) -> dict[int, list[FoundFormula]]:
    found: defaultdict[int, list[FoundFormula]] = defaultdict(list)
    for rows in threads.values():
        for formula in rows.formulas:
            if formula.visual_id is not None and formula.issue not in ("d", "dv"):
                found[formula.visual_id].append(formula)
    return found


# Tables of which the row of the newest part counts, by their ids.
NEWEST = ("expressions", "users", "titles")


def merge_parts(collection: Collection, first: int, folder: Path) -> list[int]:
    """Write the parts from number `first` on as one part into a new folder; return the ids of its questions.

    With all parts the result is a collection by itself."""
    store = _new_store(folder)
    with contextlib.closing(Parts.open(collection.part_folders[first:])) as parts:
        for table in POST_OF_ROW:
            _insert(store, table, parts.rows(f"SELECT * FROM {table} ORDER BY 1", ()))
        for table in NEWEST:
            _insert(store, table, parts.newest_rows(f"SELECT * FROM {table} ORDER BY id"))
        _insert(store, "images", parts.newest_rows("SELECT * FROM images ORDER BY name"))
        visuals = map(Visual._make, parts.newest_rows("SELECT * FROM visuals ORDER BY id"))
        _insert(store, "visuals", (one for one in visuals if one.formulas or first))
        _insert(store, "tags", _tags(parts, bool(first)))
        if first:
            _insert(store, "removed", parts.newest_rows("SELECT id FROM removed ORDER BY id"))
        else:
            store.execute("DROP TABLE removed")
    add_indexes(store)
    questions = [row[0] for row in store.execute("SELECT id FROM posts WHERE kind = 'question' ORDER BY id")]
    content = "" if first else digest(store)
    store.close()
    if content:
        write_collection_manifest(collection, [folder], folder, {"digest": content})
    return questions


def write_generation(present: Collection, parts: Sequence[Path], folder: Path, merged_digest: str = "") -> None:
    """Write the manifest of a collection of these parts into the folder of one of them. The rows are those of the
    present collection.

    `merged_digest` is the digest of all rows, if all parts were merged; parts that came later are added to it."""
    content = present.digest
    if merged_digest:
        both = hashlib.sha256(f"{merged_digest} {content}".encode()).hexdigest()
        content = merged_digest if len(parts) == 1 else both
    write_collection_manifest(present, parts, folder, {"digest": content})


def _tags(parts: Parts, signed: bool) -> Iterator[tuple[str, int]]:
    """Yield the numbers of questions by tag; `signed` ones are changes, of which only zeros are left out."""
    counts: Counter[str] = Counter()
    for name, number in parts.rows("SELECT name, posts FROM tags ORDER BY name", ()):
        counts[name] += number
    return ((name, number) for name, number in sorted(counts.items()) if (number if signed else number > 0))


def _insert(store: sqlite3.Connection, table: str, rows: Iterator[Any]) -> None:
    first = next(rows, None)
    if first is not None:
        statement = f"INSERT INTO {table} VALUES({', '.join('?' * len(first))})"
        store.execute(statement, tuple(first))
        store.executemany(statement, rows)
