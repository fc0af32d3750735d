"""Changes that bring a collection to the state of a source: a newer dump, or a changed folder.

Posts have the ids of their dump. Documents have stable ids by path: a document that is known keeps the ids of its
sections, in order, and new sections get new ids. What the source no longer has is deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from porism.corpus.build.fields import make_field_of_any_text
from porism.corpus.sources import raw
from porism.corpus.sources.folder import Folder
from porism.corpus.sources.raw import Dropped, Record, Source
from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import CollectionComment, CollectionPost
from porism.corpus.update.changes import Changes
from porism.corpus.update.threads import highest, same_text
from porism.errors import PorismError
from porism.text.segment import Text

MOST_LOST = 0.5  # share of the posts of a dump that a newer one may lack; more are deleted only on request
OWN = "source = ? OR substr(source, 1, length(?) + 1) = ? || '/'"
SHIFTED = ("id", "post_id", "other_id", "parent_id", "accepted_id", "owner_id")
# The fields of a post and of a comment that are compared as they are.
SAME_POST = ("kind", "parent_id", "accepted_id", "score", "created", "owner_id", "views", "closed", "tags")
SAME_COMMENT = ("post_id", "score", "created", "owner_id")


class ComparedSource(NamedTuple):
    """The changes to the state of a source, the name of the source there, and what of it is left out."""

    changes: Changes
    name: str
    dropped: list[Dropped]


def compare_source(collection: Collection, source: Source, delete_many: bool = False) -> ComparedSource:
    """Compare a source with a collection. A dump that lacks most posts is refused unless `delete_many` is set."""
    comparison = SourceComparison(collection, source)
    changes = comparison.changes()
    lost, held = comparison.lost, comparison.held
    if source.kind != "folder" and not delete_many and lost > MOST_LOST * held:
        # It is probably the dump of another site, or only a part.
        fact = f"the source lacks {lost:,} of the {held:,} posts that the index has"
        fix = "name a newer dump of the same site, or add --delete-many if these posts are gone"
        raise PorismError(fact, where=str(source.path), fix=fix)
    return ComparedSource(changes, comparison.name, comparison.dropped)


class SourceComparison:
    """Compares a source with the posts that a collection has of it."""

    def __init__(self, collection: Collection, source: Source) -> None:
        self._collection = collection
        self._parts = collection.parts
        self._source = source
        self.name = _known_name(collection, source)
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
        self.held = len(self._stored)  # posts of the source in the collection
        self.lost = 0  # those that the source lacks now

    def changes(self) -> Changes:
        """Return what must change so that the collection has what the source has."""
        found = Changes()
        posts: set[int] = set()
        comments: set[int] = set()
        links: set[tuple[int, int, str]] = set()
        for record in self._records():
            if isinstance(record, raw.RawPost):
                posts.add(record.id)
            elif isinstance(record, raw.RawComment):
                comments.add(record.id)
            elif isinstance(record, raw.RawLink):
                links.add((record.post_id, record.other_id, record.kind))
            if self._differs(record):
                found.put([record])
        gone = self._stored.keys() - posts
        self.lost = len(gone)
        found.delete(gone)
        if self._source.kind != "folder":
            query = f"SELECT id FROM comments WHERE post_id IN (SELECT id FROM posts WHERE {OWN}) ORDER BY id"
            known = (row[0] for row in self._parts.rows(query, (self.name,) * 3))
            found.delete_comments([number for number in known if number not in comments])
            rows = self._parts.rows("SELECT post_id, other_id, kind FROM links ORDER BY post_id")
            own = (tuple(row) for row in rows if row[0] in self._stored)
            found.delete_links([raw.RawLink(*row) for row in own if row not in links])
        return found

    def _records(self) -> Iterator[Record]:
        for part in self._source.parts():
            for record in part.read():
                if isinstance(record, Dropped):
                    self.dropped.append(record)
                elif self._source.kind == "folder" and isinstance(record, raw.RawPost):
                    known = self._by_file[f"{self.name}/{record.file}"]
                    if not known:  # a new section of the document
                        known.append(self._next)
                        self._next += 1
                    yield replace(record, id=known.pop(0))
                else:
                    yield self._shifted(record)

    def _shifted(self, record: Record) -> Record:
        values = {name: getattr(record, name, None) for name in SHIFTED} if self._shift else {}
        changed: dict[str, Any] = {name: value + self._shift for name, value in values.items() if value is not None}
        return replace(record, **changed) if changed else record

    def _differs(self, record: Record) -> bool:
        """Return whether the collection has another record with this id, or none."""
        if isinstance(record, raw.RawPost):
            return self._post_differs(record)
        if isinstance(record, raw.RawComment):
            query = f"SELECT {', '.join(CollectionComment._fields)} FROM comments WHERE id = ?"
            row = self._parts.one(query, (record.id,))
            if row is None:
                return True
            old = CollectionComment._make(row)
            same = all(getattr(old, name) == getattr(record, name) for name in SAME_COMMENT)
            return not same or not self._same(record.body, record.form, old.body)
        if isinstance(record, raw.RawLink):
            query = "SELECT 1 FROM links WHERE post_id = ? AND other_id = ? AND kind = ?"
            return self._parts.one(query, (record.post_id, record.other_id, record.kind)) is None
        if isinstance(record, raw.RawUser):
            user = self._collection.users_by_id([record.id]).get(record.id)
            return user is None or (user.name, user.reputation) != (record.name, record.reputation)
        return isinstance(record, raw.RawImage) and record.name not in self._collection.images([record.name])

    def _post_differs(self, record: raw.RawPost) -> bool:
        query = f"SELECT {', '.join(CollectionPost._fields)} FROM posts WHERE id = ?"
        row = self._parts.one(query, (record.id,))
        if row is None:
            return True
        old = CollectionPost._make(row)
        if any(getattr(old, name) != getattr(record, name) for name in SAME_POST):
            return True
        same_title = self._same(record.title, raw.TITLE_FORM[record.form], old.title)
        return not same_title or not self._same(record.body, record.form, old.body)

    def _same(self, text: str, form: Any, stored: str) -> bool:
        return same_text(make_field_of_any_text(text, form, self._compat).text, Text(stored))


def _known_name(collection: Collection, source: Source) -> str:
    """Return a source's name in a collection. A dump in another folder is a newer state of the only dump."""
    own = source.path.resolve().name
    known = [one["name"] for one in collection.manifest["sources"] if one["kind"] == source.kind]
    return own if source.kind == "folder" or own in known or len(known) != 1 else str(known[0])
