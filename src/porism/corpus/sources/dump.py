"""A Stack Exchange dump: Posts.xml and the other XML files of a site, plain or compressed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from porism.corpus.sources import raw, xmlrows
from porism.corpus.sources.raw import Dropped, Meter, Part, Record, RowError
from porism.corpus.sources.xmlrows import Attributes, BadRow
from porism.errors import PorismError
from porism.files import open_bytes
from porism.limits import Expansion, limit

DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)?")
POST_KINDS = {"1": "question", "2": "answer"}
OTHER_KINDS = {
    "3": "orphaned tag wiki", "4": "tag wiki excerpt", "5": "tag wiki", "6": "moderator nomination",
    "7": "wiki placeholder", "8": "privilege wiki",
}  # fmt: skip
LINK_KINDS = {"1": "related", "3": "duplicate"}
REVISED_FIELDS = {**dict.fromkeys("147", "title"), **dict.fromkeys("258", "body")}


def required_number(row: Attributes, name: str) -> int:
    """Return an attribute that must be a whole number."""
    text = row.get(name)
    if text is None:
        raise RowError(f"no {name}")
    return raw.whole_number(text, name)


def optional_number(row: Attributes, name: str) -> int | None:
    """Return an attribute that is a whole number or absent."""
    return required_number(row, name) if row.get(name) else None


def tags(text: str) -> str:
    """Return the tags of `<a><b>` or `|a|b|`, separated by blanks."""
    return " ".join(re.split(r"[<>|\s]+", text.strip("<>| ")))


class RowReader:
    """Turns rows of a dump into records. With `placed`, formulas are already in spans with official ids."""

    def __init__(self, placed: bool) -> None:
        self.post_form: raw.Form = "placed" if placed else "html"
        self.comment_form: raw.Form = "placed-text" if placed else "text"
        # A post of a site has at most 30,000 characters; anything much larger is damage, not a post.
        self.post_characters, self.post_tags = limit("post_characters"), limit("post_tags")
        self.comment_characters = limit("comment_characters")

    def post(self, row: Attributes, line: int) -> Record:
        """Return a question or an answer."""
        kind = POST_KINDS.get(row.get("PostTypeId", ""))
        if kind is None:
            kind_number = row.get("PostTypeId", "none")
            raise RowError(f"type {kind_number} ({OTHER_KINDS.get(kind_number, 'unknown')})")
        body = row.get("Body", "")
        if len(body) > self.post_characters:
            raise RowError(f"body of more than {self.post_characters:,} characters")
        if body.count("<") > self.post_tags:
            raise RowError(f"body of more than {self.post_tags:,} tags")
        return raw.RawPost(
            id=required_number(row, "Id"),
            kind=kind,  # type: ignore[arg-type]
            parent_id=required_number(row, "ParentId") if kind == "answer" else None,
            title=row.get("Title", "") if kind == "question" else "",
            body=body,
            form=self.post_form,
            tags=tags(row.get("Tags", "")) if kind == "question" else "",
            score=optional_number(row, "Score") or 0,
            created=row.get("CreationDate", ""),
            owner_id=optional_number(row, "OwnerUserId"),
            accepted_id=optional_number(row, "AcceptedAnswerId"),
            views=optional_number(row, "ViewCount"),
            closed=row.get("ClosedDate", ""),
            line=line,
        )

    def comment(self, row: Attributes, line: int) -> Record:
        """Return a comment."""
        text = row.get("Text", "")
        if len(text) > self.comment_characters:
            raise RowError(f"text of more than {self.comment_characters:,} characters")
        return raw.RawComment(
            id=required_number(row, "Id"),
            post_id=required_number(row, "PostId"),
            body=text,
            form=self.comment_form,
            score=optional_number(row, "Score") or 0,
            created=row.get("CreationDate", ""),
            owner_id=optional_number(row, "UserId"),
            line=line,
        )

    def link(self, row: Attributes, line: int) -> Record:
        """Return a link; the attribute of its type has two spellings."""
        kind = LINK_KINDS.get(row.get("LinkTypeId") or row.get("PostLinkTypeId") or "")
        if kind is None:
            raise RowError("neither related nor duplicate")
        ends = (required_number(row, "PostId"), required_number(row, "RelatedPostId"))
        return raw.RawLink(*ends, kind)  # type: ignore[arg-type]

    def user(self, row: Attributes, line: int) -> Record:
        """Return a user."""
        return raw.RawUser(
            required_number(row, "Id"), row.get("DisplayName", ""), optional_number(row, "Reputation") or 0
        )

    def badge(self, row: Attributes, line: int) -> Record:
        """Return a badge; old dumps have no class, which means bronze."""
        return raw.RawBadge(required_number(row, "UserId"), optional_number(row, "Class") or 3)

    def vote(self, row: Attributes, line: int) -> Record:
        """Return a vote."""
        ids = required_number(row, "PostId"), required_number(row, "VoteTypeId")
        return raw.RawVote(*ids, optional_number(row, "BountyAmount") or 0)

    def revision(self, row: Attributes, line: int) -> Record:
        """Return an older title or body; other events of a post's history hold no formulas."""
        field = REVISED_FIELDS.get(row.get("PostHistoryTypeId", ""))
        if field is None:
            raise RowError("an event without a title or a body")
        return raw.RawRevision(required_number(row, "PostId"), field, row.get("Text", ""))  # type: ignore[arg-type]


class DumpFile(NamedTuple):
    """A file of a dump: the name of its rows in the report, and the reader of a row."""

    rows: str
    read: Callable[[RowReader, Attributes, int], Record]


# Files in the order in which they are read.
FILES: dict[str, DumpFile] = {
    "Posts": DumpFile("posts", RowReader.post),
    "Comments": DumpFile("comments", RowReader.comment),
    "PostLinks": DumpFile("links", RowReader.link),
    "Users": DumpFile("users", RowReader.user),
    "Badges": DumpFile("badges", RowReader.badge),
    "Votes": DumpFile("votes", RowReader.vote),
    "PostHistory": DumpFile("revisions", RowReader.revision),
}
DATED = ("posts", "comments")


def read_rows(
    name: str, open_file: Callable[[], IO[bytes]], where: str, placed: bool, meter: Meter
) -> Iterator[Record]:
    """Yield the records of one file of a dump."""
    what, read = FILES[name]
    reader = RowReader(placed)
    for row in xmlrows.rows(open_file, where, meter):
        place = f"{where}:{row.line}"
        if isinstance(row, BadRow):
            yield Dropped(what, row.reason, place)
            continue
        line, attributes = row
        if what in DATED and not DATE.fullmatch(date := attributes.get("CreationDate", "")):
            yield Dropped(f"dates of {what}", f"invalid or missing date {date[:40]!r}, kept without", place)
            attributes["CreationDate"] = ""
        yield raw.keep(what, place, partial(read, reader, attributes, line))


def xml_part(name: str, path: Path, placed: bool) -> Part:
    """Return a file of a dump as a part of its source; the progress within a compressed file is not known."""
    meter = Meter()
    known = meter if path.suffix.lower() == ".xml" else None
    return Part.of(path, lambda: read_rows(name, lambda: open_bytes(path), str(path), placed, meter), meter=known)


class Dump:
    """The folder of a dump; files are plain or compressed."""

    kind = "dump"
    official = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def files(self) -> dict[str, Path]:
        """Return the files that the folder has, by name; case does not matter."""
        there = {entry.name.lower(): entry for entry in sorted(self.path.iterdir()) if entry.is_file()}
        found: dict[str, Path] = {}
        for name in FILES:
            for ending in (".xml", ".xml.gz", ".xml.bz2", ".xml.xz"):
                if (entry := there.get(name.lower() + ending)) is not None:
                    found.setdefault(name, entry)
        return found

    def parts(self) -> Sequence[Part]:
        """Return all files except Tags, whose counts follow from the posts that are kept."""
        files = self.files()
        if "Posts" not in files:
            raise PorismError("there is no Posts.xml", where=str(self.path), fix="name the folder of a dump")
        return [xml_part(name, path, placed=False) for name, path in files.items()]


class Member(NamedTuple):
    """A file of an archive: its name and its unpacked size, as the archive says."""

    name: str
    size: int


class SevenZip:
    """A .7z archive of the XML files of a dump."""

    kind = "7z"
    official = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the members that are files of a dump."""
        members = self._members()
        if "Posts" not in members:
            fact = "there is no Posts.xml in the archive"
            raise PorismError(fact, where=str(self.path), fix="name the archive of a dump")
        self._expansion().check(sum(member.size for member in members.values()))
        return [self._part(name, members[name]) for name in FILES if name in members]

    def _expansion(self) -> Expansion:
        return Expansion(self.path.stat().st_size, str(self.path))

    def _part(self, name: str, member: Member) -> Part:
        meter = Meter()
        read = partial(self._read, name, member, meter)
        return Part(member.name, member.size, self.path.stat().st_mtime_ns, read, meter)

    def _members(self) -> dict[str, Member]:
        import py7zr

        try:
            with py7zr.SevenZipFile(self.path) as archive:
                there = {Path(entry.filename).name.lower(): entry for entry in archive.list() if not entry.is_directory}
        except Exception as error:  # damaged headers raise errors of many kinds
            raise self._broken(error) from None
        found = {name: there[file] for name in FILES if (file := f"{name}.xml".lower()) in there}
        return {name: Member(entry.filename, int(entry.uncompressed or 0)) for name, entry in found.items()}

    def _broken(self, error: BaseException, member: str = "") -> PorismError:
        fact = f"the archive cannot be read ({error or type(error).__name__})"
        where = f"{self.path}: {member}" if member else str(self.path)
        return PorismError(fact, where=where, fix="fetch the archive again")

    def _read(self, name: str, member: Member, meter: Meter) -> Iterator[Record]:
        """Read one member from a temporary file without a name, which ends with the process however that ends."""
        with tempfile.TemporaryFile(prefix="porism-") as file:
            if not self._unpack(member, file):
                raise self._broken(ValueError("the member is missing"), member.name)
            file.seek(0)
            yield from read_rows(name, lambda: file, f"{self.path}: {member.name}", placed=False, meter=meter)

    def _unpack(self, member: Member, file: IO[bytes]) -> bool:
        """Write a member of the archive to a file. Return whether it is there."""
        import py7zr

        output = _Output(file, self._expansion())
        try:
            with py7zr.SevenZipFile(self.path) as archive:
                archive.extract(targets=[member.name], factory=output)
        except PorismError:
            raise
        except OSError as error:
            if error.errno is not None:  # of the disk, not of the archive
                fix = "free disk space, or set TMPDIR to a folder on a larger disk"
                raise PorismError(f"cannot be unpacked: {error.strerror}", where=str(self.path), fix=fix) from None
            raise self._broken(error, member.name) from None
        except Exception as error:  # damaged members raise errors of many kinds
            raise self._broken(error, member.name) from None
        return output.written


class _Output:
    """What py7zr writes a member to, within limits: both the factory and the product of py7zr's protocol."""

    def __init__(self, file: IO[bytes], expansion: Expansion) -> None:
        self._file = file
        self._expansion = expansion
        self.written = False

    def create(self, filename: str) -> Any:
        self.written = True
        return self

    def write(self, data: bytes) -> int:
        self._expansion.add(len(data))
        return self._file.write(data)

    def read(self, size: int | None = None) -> bytes:
        """Read back what was written; py7zr does not."""
        return self._file.read(-1 if size is None else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def flush(self) -> None:
        self._file.flush()

    def size(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        """Keep the file open: it is read next."""


SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"  # how such a file begins


def _is_7z(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as stream:
        return stream.read(len(SEVEN_ZIP)) == SEVEN_ZIP


KINDS = {
    "dump": raw.SourceKind("a Stack Exchange dump", lambda path: path.is_dir() and "Posts" in Dump(path).files(), Dump),
    "7z": raw.SourceKind("a Stack Exchange dump in a .7z archive", _is_7z, SevenZip),
}
