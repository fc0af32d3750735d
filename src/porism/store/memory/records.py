"""The records that a store in memory holds, by id, how changes are applied to them, and texts as records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from porism.corpus.sources.documents.plain import BLANK, LONGEST_TITLE, paragraph_html
from porism.corpus.sources.raw import Part, RawComment, RawImage, RawLink, RawPost, RawUser, Record
from porism.corpus.update.changes import Changes


@dataclass
class Records:
    """Records by id. `sources` has the origin of each post, `others` what changes do not take: votes, badges,
    revisions."""

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


SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
HEADING = re.compile(r"#{1,6}[ \t]+")


def text_posts(texts: Iterable[str]) -> Iterator[RawPost]:
    """Yield a question for each text; ids are 1, 2, 3, ..."""
    for number, text in enumerate(texts, 1):
        title, body = split_title(text.strip())
        html = "\n".join(paragraph_html(paragraph.split("\n")) for paragraph in BLANK.split(body))
        yield RawPost(number, "question", None, title, html, "html")


def split_title(text: str) -> tuple[str, str]:
    """Return the title of a text and its body. A short first line is the title; of a single paragraph its first
    sentence is, which stays in the body.

    >>> split_title("# Cubes\\n\\nThe sum $x^3+y^3$.")
    ('Cubes', 'The sum $x^3+y^3$.')
    >>> split_title("Is $x^2$ even? It is not known.")
    ('Is $x^2$ even?', 'Is $x^2$ even? It is not known.')
    """
    first, _, rest = text.partition("\n")
    if rest.strip() and len(first) <= LONGEST_TITLE:
        return HEADING.sub("", first, 1).strip(), rest.strip()
    possible = (match.end() for match in SENTENCE_END.finditer(first, 0, LONGEST_TITLE + 1))
    ends = (end for end in possible if is_title(first[:end]))
    return first[: next(ends, len(first) if is_title(first) else _cut(first))].rstrip(), text


def is_title(text: str) -> bool:
    """Return whether a text is short enough for a title and ends in no formula that goes on."""
    return len(text) <= LONGEST_TITLE and text.count("$") % 2 == 0


def _cut(text: str) -> int:
    """Return where a long text is cut: after a word, outside formulas."""
    ends = (match.start() for match in re.finditer(r"\s", text[: LONGEST_TITLE + 1]))
    return max((end for end in ends if is_title(text[:end])), default=0)
