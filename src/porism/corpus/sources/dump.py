"""A Stack Exchange dump: Posts.xml and its sisters, in a folder or in the .7z as downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from porism.corpus.sources import xmlrows
from porism.corpus.sources.raw import (
    Dropped,
    Form,
    Meter,
    Part,
    RawBadge,
    RawComment,
    RawLink,
    RawPost,
    RawRevision,
    RawUser,
    RawVote,
    Record,
)
from porism.corpus.sources.xmlrows import Attributes
from porism.errors import PorismError
from porism.files import open_bytes

# A post of a site has at most 30,000 characters; what is thousands of times larger is damage, not a post.
LARGEST = 2_000_000
LARGEST_COMMENT = 50_000
# HTML parsers take time that grows with the square of the depth of nested blocks.
MOST_TAGS = 20_000
DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)?")
POST_KINDS = {"1": "question", "2": "answer"}
OTHER_KINDS = {
    "3": "orphaned tag wiki",
    "4": "tag wiki excerpt",
    "5": "tag wiki",
    "6": "moderator nomination",
    "7": "wiki placeholder",
    "8": "privilege wiki",
}
LINK_KINDS = {"1": "related", "3": "duplicate"}
TITLE_REVISIONS, BODY_REVISIONS = {"1", "4", "7"}, {"2", "5", "8"}


class Fault(Exception):
    """A row that cannot be kept, and why."""


def number(row: Attributes, name: str) -> int:
    """An attribute that must be a whole number."""
    text = row.get(name)
    if text is None:
        raise Fault(f"no {name}")
    try:
        return int(text)
    except ValueError:
        raise Fault(f"{name} is not a number") from None


def maybe(row: Attributes, name: str) -> int | None:
    """An attribute that is a whole number or absent."""
    return number(row, name) if row.get(name) else None


def tags(text: str) -> str:
    """`<a><b>` or `|a|b|` as names with blanks between."""
    return " ".join(re.split(r"[<>|\s]+", text.strip("<>| ")))


class Rows:
    """Rows of the files of a dump become records; `placed` says that formulas already stand in spans with ids."""

    def __init__(self, placed: bool) -> None:
        self.post_form: Form = "placed" if placed else "html"
        self.comment_form: Form = "placed-text" if placed else "text"

    def post(self, row: Attributes, line: int) -> Record:
        """A question or an answer."""
        kind = POST_KINDS.get(row.get("PostTypeId", ""))
        if kind is None:
            kind_number = row.get("PostTypeId", "none")
            raise Fault(f"type {kind_number} ({OTHER_KINDS.get(kind_number, 'unknown')})")
        body = row.get("Body", "")
        if len(body) > LARGEST:
            raise Fault(f"body of more than {LARGEST:,} characters")
        if body.count("<") > MOST_TAGS:
            raise Fault(f"body of more than {MOST_TAGS:,} tags")
        return RawPost(
            id=number(row, "Id"),
            kind=kind,  # type: ignore[arg-type]
            parent_id=number(row, "ParentId") if kind == "answer" else None,
            title=row.get("Title", "") if kind == "question" else "",
            body=body,
            form=self.post_form,
            tags=tags(row.get("Tags", "")) if kind == "question" else "",
            score=maybe(row, "Score") or 0,
            created=row.get("CreationDate", ""),
            owner_id=maybe(row, "OwnerUserId"),
            accepted_id=maybe(row, "AcceptedAnswerId"),
            views=maybe(row, "ViewCount"),
            closed=row.get("ClosedDate", ""),
            line=line,
        )

    def comment(self, row: Attributes, line: int) -> Record:
        """A comment."""
        text = row.get("Text", "")
        if len(text) > LARGEST_COMMENT:
            raise Fault(f"text of more than {LARGEST_COMMENT:,} characters")
        return RawComment(
            id=number(row, "Id"),
            post_id=number(row, "PostId"),
            body=text,
            form=self.comment_form,
            score=maybe(row, "Score") or 0,
            created=row.get("CreationDate", ""),
            owner_id=maybe(row, "UserId"),
            line=line,
        )

    def link(self, row: Attributes, line: int) -> Record:
        """A link; the attribute has two spellings."""
        kind = LINK_KINDS.get(row.get("LinkTypeId") or row.get("PostLinkTypeId") or "")
        if kind is None:
            raise Fault("neither related nor duplicate")
        return RawLink(number(row, "PostId"), number(row, "RelatedPostId"), kind)  # type: ignore[arg-type]

    def user(self, row: Attributes, line: int) -> Record:
        """A user."""
        return RawUser(number(row, "Id"), row.get("DisplayName", ""), maybe(row, "Reputation") or 0)

    def badge(self, row: Attributes, line: int) -> Record:
        """A badge; old dumps have no class, which is bronze."""
        return RawBadge(number(row, "UserId"), maybe(row, "Class") or 3)

    def vote(self, row: Attributes, line: int) -> Record:
        """A vote."""
        return RawVote(number(row, "PostId"), number(row, "VoteTypeId"), maybe(row, "BountyAmount") or 0)

    def revision(self, row: Attributes, line: int) -> Record:
        """An older title or body; other events of a post's history say nothing of formulas."""
        kind = row.get("PostHistoryTypeId", "")
        if kind in TITLE_REVISIONS:
            return RawRevision(number(row, "PostId"), "title", row.get("Text", ""))
        if kind in BODY_REVISIONS:
            return RawRevision(number(row, "PostId"), "body", row.get("Text", ""))
        raise Fault("an event without a title or a body")


# Files in the order in which they are read, what their rows are called, and who reads a row.
FILES: dict[str, tuple[str, Callable[[Rows, Attributes, int], Record]]] = {
    "Posts": ("posts", Rows.post),
    "Comments": ("comments", Rows.comment),
    "PostLinks": ("links", Rows.link),
    "Users": ("users", Rows.user),
    "Badges": ("badges", Rows.badge),
    "Votes": ("votes", Rows.vote),
    "PostHistory": ("revisions", Rows.revision),
}
DATED = ("posts", "comments")


def read_rows(
    name: str, open_file: Callable[[], IO[bytes]], where: str, placed: bool, meter: Meter
) -> Iterator[Record]:
    """The records of one file of a dump."""
    what, read = FILES[name]
    reader = Rows(placed)
    for line, row in xmlrows.rows(open_file, where, meter):
        place = f"{where}:{line}"
        if what in DATED and not DATE.fullmatch(date := row.get("CreationDate", "")):
            yield Dropped(f"dates of {what}", f"invalid or missing date {date[:40]!r}, kept without", place)
            row["CreationDate"] = ""
        try:
            yield read(reader, row, line)
        except Fault as fault:
            yield Dropped(what, str(fault), place)


def xml_part(name: str, path: Path, placed: bool) -> Part:
    """A file of a dump. Of a compressed one, it is not known how much is still to be read."""
    meter = Meter()
    known = meter if path.suffix.lower() == ".xml" else None
    return Part.of(path, lambda: read_rows(name, lambda: open_bytes(path), str(path), placed, meter), meter=known)


class Dump:
    """The folder of a dump, files plain or compressed."""

    kind = "dump"
    official = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def files(self) -> dict[str, Path]:
        """The files that are there, by name; capital letters do not matter."""
        there = {entry.name.lower(): entry for entry in sorted(self.path.iterdir()) if entry.is_file()}
        found: dict[str, Path] = {}
        for name in FILES:
            for ending in (".xml", ".xml.gz", ".xml.bz2", ".xml.xz"):
                if (entry := there.get(name.lower() + ending)) is not None:
                    found.setdefault(name, entry)
        return found

    def parts(self) -> Sequence[Part]:
        """All files but Tags, whose counts are made from the posts that are kept."""
        files = self.files()
        if "Posts" not in files:
            raise PorismError("there is no Posts.xml", where=str(self.path), fix="name the folder of a dump")
        return [self._part(name, path) for name, path in files.items()]

    def _part(self, name: str, path: Path) -> Part:
        return xml_part(name, path, placed=False)
