"""Requested changes of a collection, before they are written. Of several changes of one post the last one counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from porism.corpus.sources.raw import Dropped, RawComment, RawImage, RawLink, RawPost, RawUser, Record
from porism.errors import PorismError


@dataclass
class Changes:
    """Records to put and ids to delete. A record that is put replaces the one with its id."""

    posts: dict[int, RawPost] = field(default_factory=dict)
    comments: dict[int, RawComment] = field(default_factory=dict)
    users: dict[int, RawUser] = field(default_factory=dict)
    links: dict[tuple[int, int, str], RawLink] = field(default_factory=dict)
    images: dict[str, RawImage] = field(default_factory=dict)
    deleted_posts: set[int] = field(default_factory=set)
    deleted_comments: set[int] = field(default_factory=set)
    deleted_links: set[tuple[int, int, str]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return any((self.posts, self.comments, self.users, self.links)) or any(
            (self.deleted_posts, self.deleted_comments, self.deleted_links)
        )

    def put(self, records: Iterable[Record]) -> None:
        """Add or replace records. Votes, badges and revisions are not taken; official formulas are refused."""
        for record in records:
            if isinstance(record, RawPost):
                _check_form(record.form, f"post {record.id}")
                self.posts[record.id] = record
                self.deleted_posts.discard(record.id)
            elif isinstance(record, RawComment):
                _check_form(record.form, f"comment {record.id}")
                self.comments[record.id] = record
                self.deleted_comments.discard(record.id)
            elif isinstance(record, RawLink):
                key = (record.post_id, record.other_id, record.kind)
                self.links[key] = record
                self.deleted_links.discard(key)
            elif isinstance(record, RawUser):
                self.users[record.id] = record
            elif isinstance(record, RawImage):
                self.images[record.name] = record
            elif isinstance(record, Dropped):
                raise PorismError(f"{record.what}: {record.why}", where=record.where, fix="correct the record")

    def delete(self, posts: Iterable[int]) -> None:
        """Delete posts: an answer, or a question with its answers. Their comments and links go with them."""
        for number in posts:
            self.posts.pop(number, None)
            self.deleted_posts.add(number)

    def delete_comments(self, comments: Iterable[int]) -> None:
        """Delete comments."""
        for number in comments:
            self.comments.pop(number, None)
            self.deleted_comments.add(number)

    def delete_links(self, links: Iterable[RawLink]) -> None:
        """Delete links between questions."""
        for link in links:
            key = (link.post_id, link.other_id, link.kind)
            self.links.pop(key, None)
            self.deleted_links.add(key)


class PendingChanges:
    """The changes that the next commit of a writer makes."""

    def __init__(self) -> None:
        self.changes = Changes()

    def put(self, records: Iterable[Record]) -> None:
        """Add posts, comments, links and users; a record replaces the one with its id."""
        self.changes.put(records)

    def delete(self, posts: Iterable[int]) -> None:
        """Delete posts: an answer, or a question with its answers. Unknown ids are ignored."""
        self.changes.delete(posts)

    def delete_comments(self, comments: Iterable[int]) -> None:
        """Delete comments. Unknown ids are ignored."""
        self.changes.delete_comments(comments)

    def delete_links(self, links: Iterable[RawLink]) -> None:
        """Delete links between questions."""
        self.changes.delete_links(links)


def _check_form(form: str, where: str) -> None:
    if form.startswith("placed"):
        fix = "build the collection again from its sources"
        raise PorismError("has official formula ids, which updates do not take", where=where, fix=fix)
