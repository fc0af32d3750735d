"""The records that a store in memory holds, by id, and how changes are applied to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from porism.corpus.sources.raw import Part, RawComment, RawImage, RawLink, RawPost, RawUser, Record
from porism.corpus.update.changes import Changes


@dataclass
class Records:
    """Records by id. `sources` has the origin of each post, `others` what changes do not take: votes, badges, revisions."""

    posts: dict[int, RawPost] = field(default_factory=dict)
    comments: dict[int, RawComment] = field(default_factory=dict)
    users: dict[int, RawUser] = field(default_factory=dict)
    links: dict[tuple[int, int, str], RawLink] = field(default_factory=dict)
    images: dict[str, RawImage] = field(default_factory=dict)
    others: list[Record] = field(default_factory=list)
    sources: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record], source: str) -> Records:
        """Return these records; of several with one id the last one counts."""
        found, changes = cls(), Changes()
        taken = (RawPost, RawComment, RawUser, RawLink, RawImage)
        for record in records:
            if isinstance(record, taken):
                changes.put([record])
            else:
                found.others.append(record)
        return found.changed(changes, source)

    def changed(self, changes: Changes, source: str) -> Records:
        """Return the records after changes. With a question its answers go, and with a post its comments and links."""
        put = {**self.posts, **changes.posts}
        posts = {number: post for number, post in put.items() if number not in changes.deleted_posts}
        questions = {number for number, post in posts.items() if post.kind == "question"}
        posts = {number: post for number, post in posts.items() if number in questions or post.parent_id in questions}
        comments = {**self.comments, **changes.comments}
        links = {**self.links, **changes.links}
        return Records(
            posts,
            {n: one for n, one in comments.items() if one.post_id in posts and n not in changes.deleted_comments},
            {**self.users, **changes.users},
            {key: one for key, one in links.items() if key[0] in questions and key not in changes.deleted_links},
            {**self.images, **changes.images},
            self.others,
            {number: source if number in changes.posts else self.sources[number] for number in posts},
        )

    def __iter__(self) -> Iterator[Record]:
        for records in (self.users, self.posts, self.comments, self.links, self.images):
            yield from records.values()
        yield from self.others


@dataclass
class RecordsSource:
    """Records in memory as the source of a build."""

    records: Sequence[Record]
    path: Path
    kind: str = "dump"
    official: bool = False

    def parts(self) -> list[Part]:
        """Return one part with all records."""
        return [Part("records", len(self.records), 0, lambda: iter(self.records))]
