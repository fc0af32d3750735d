"""Changes that bring a collection to the state of a source: a newer dump, a changed folder, or a stream of JSON Lines.

Posts have the ids of their dump. Documents have stable ids by path: a document that is known keeps the ids of its sections, in order, and new
sections get new ids. What the source no longer has is deleted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from porism.corpus.build.fields import make_field
from porism.corpus.sources.documents.folder import Folder
from porism.corpus.sources.raw import (
    TITLE_FORM,
    Dropped,
    RawComment,
    RawImage,
    RawLink,
    RawPost,
    RawUser,
    Record,
    Source,
)
from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import StoredComment, StoredPost
from porism.corpus.update.changes import Changes
from porism.corpus.update.formulas import highest
from porism.corpus.update.threads import same_text
from porism.errors import PorismError
from porism.text.segment import Text

OWN = "source = ? OR substr(source, 1, length(?) + 1) = ? || '/'"
SHIFTED = ("id", "post_id", "other_id", "parent_id", "accepted_id", "owner_id")
POST_KEYS = {one.name for one in fields(RawPost)} - {"form", "line", "file"}
LINE = '{"id": 5, "title": "...", "body": "<p>...</p>", "tags": ["algebra"]}'


class SourceComparison:
    """Compares a source with the posts that a collection has of it."""

    def __init__(self, collection: Collection, source: Source) -> None:
        self._collection = collection
        self._parts = collection.parts
        self._source = source
        self.name = source.path.resolve().name
        self._compat = bool(collection.manifest["options"].get("compat"))
        known = {one["name"]: int(one["shift"]) for one in collection.manifest["sources"]}
        self._shift = 0 if source.kind == "folder" else known.get(self.name, 0)
        rows = self._parts.rows(f"SELECT id, source FROM posts WHERE {OWN} ORDER BY id", (self.name,) * 3)
        self._stored = {int(number): str(place) for number, place in rows}
        if isinstance(source, Folder):
            inside = len(self.name) + 1
            self._stored = {number: place for number, place in self._stored.items() if source.covers(place[inside:])}
        self._by_file: defaultdict[str, list[int]] = defaultdict(list)
        for number, place in self._stored.items():
            self._by_file[place].append(number)
        self._next = 1 + max(highest(self._parts, "id", table) for table in ("posts", "comments", "users"))
        self.dropped: list[Dropped] = []

    def changes(self) -> Changes:
        """Return what must change so that the collection has what the source has."""
        found = Changes()
        posts: set[int] = set()
        comments: set[int] = set()
        links: set[tuple[int, int, str]] = set()
        for record in self._records():
            if isinstance(record, RawPost):
                posts.add(record.id)
            elif isinstance(record, RawComment):
                comments.add(record.id)
            elif isinstance(record, RawLink):
                links.add((record.post_id, record.other_id, record.kind))
            if self._differs(record):
                found.put([record])
        found.delete(self._stored.keys() - posts)
        if self._source.kind != "folder":
            found.delete_comments(self._missing_comments(comments))
            found.delete_links(self._missing_links(links))
        return found

    def _records(self) -> Iterator[Record]:
        for part in self._source.parts():
            for record in part.read():
                if isinstance(record, Dropped):
                    self.dropped.append(record)
                elif self._source.kind == "folder" and isinstance(record, RawPost):
                    yield replace(record, id=self._document_id(record.file))
                else:
                    yield self._shifted(record)

    def _document_id(self, file: str) -> int:
        """Return the id of the next section of a document."""
        known = self._by_file[f"{self.name}/{file}"]
        if known:
            return known.pop(0)
        self._next += 1
        return self._next - 1

    def _shifted(self, record: Record) -> Record:
        values = {name: getattr(record, name, None) for name in SHIFTED} if self._shift else {}
        changed: dict[str, Any] = {name: value + self._shift for name, value in values.items() if value is not None}
        return replace(record, **changed) if changed else record

    def _differs(self, record: Record) -> bool:
        """Return whether the collection has another record with this id, or none."""
        if isinstance(record, RawPost):
            return self._post_differs(record)
        if isinstance(record, RawComment):
            query = f"SELECT {', '.join(StoredComment._fields)} FROM comments WHERE id = ?"
            row = self._parts.one(query, (record.id,))
            if row is None:
                return True
            old = StoredComment._make(row)
            same = (old.post_id, old.score, old.created, old.owner_id) == (
                (record.post_id, record.score, record.created, record.owner_id)
            )
            return not same or not self._same(record.body, record.form, old.body)
        if isinstance(record, RawLink):
            query = "SELECT 1 FROM links WHERE post_id = ? AND other_id = ? AND kind = ?"
            return self._parts.one(query, (record.post_id, record.other_id, record.kind)) is None
        if isinstance(record, RawUser):
            user = self._collection.user(record.id)
            return user is None or (user.name, user.reputation) != (record.name, record.reputation)
        return isinstance(record, RawImage) and self._collection.image(record.name) is None

    def _post_differs(self, record: RawPost) -> bool:
        query = f"SELECT {', '.join(StoredPost._fields)} FROM posts WHERE id = ?"
        row = self._parts.one(query, (record.id,))
        if row is None:
            return True
        old = StoredPost._make(row)
        names = ("kind", "parent_id", "accepted_id", "score", "created", "owner_id", "views", "closed", "tags")
        if any(getattr(old, name) != getattr(record, name) for name in names):
            return True
        same_title = self._same(record.title, TITLE_FORM[record.form], old.title)
        return not same_title or not self._same(record.body, record.form, old.body)

    def _same(self, text: str, form: Any, stored: str) -> bool:
        return same_text(make_field(text, form, self._compat).text, Text(stored))

    def _missing_comments(self, present: set[int]) -> list[int]:
        query = f"SELECT id FROM comments WHERE post_id IN (SELECT id FROM posts WHERE {OWN}) ORDER BY id"
        return [row[0] for row in self._parts.rows(query, (self.name,) * 3) if row[0] not in present]

    def _missing_links(self, present: set[tuple[int, int, str]]) -> list[RawLink]:
        query = "SELECT post_id, other_id, kind FROM links ORDER BY post_id"
        rows = (tuple(row) for row in self._parts.rows(query) if row[0] in self._stored)
        return [RawLink(*row) for row in rows if row not in present]


def read_json_lines(lines: Iterable[str], where: str) -> Changes:
    """Read changes from JSON Lines: a post, {"comment": ID, "post_id": ..., "body": ...}, {"link": [ID, ID]}, {"delete": ID} or
    {"delete_comment": ID} on each line."""
    changes = Changes()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                _take(changes, json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise PorismError(f"is no change: {error}", where=f"{where}:{number}", fix=f"write {LINE}") from None
    return changes


def _take(changes: Changes, record: dict[str, Any]) -> None:
    if "delete" in record:
        changes.delete([int(record["delete"])])
    elif "delete_comment" in record:
        changes.delete_comments([int(record["delete_comment"])])
    elif "link" in record:
        post, other = record["link"]
        changes.put([RawLink(int(post), int(other), record.get("kind", "related"))])
    elif "comment" in record:
        created, owner = str(record.get("created", "")), record.get("owner_id")
        text = str(record["body"])
        comment = RawComment(int(record["comment"]), int(record["post_id"]), text, "text", 0, created, owner)
        changes.put([comment])
    else:
        changes.put([_post(record)])


def _post(record: dict[str, Any]) -> RawPost:
    if unknown := record.keys() - POST_KEYS:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    parent = record.get("parent_id")
    kind = record.get("kind", "question" if parent is None else "answer")
    if kind not in ("question", "answer"):
        raise ValueError(f"kind is {kind!r}, not question or answer")
    tags = record.get("tags", [])
    values = {**record, "id": int(record["id"]), "kind": kind, "parent_id": parent, "form": "html"}
    values |= {"title": str(record.get("title", "")), "body": str(record["body"])}
    return RawPost(**{**values, "tags": tags if isinstance(tags, str) else " ".join(tags)})
