"""A folder of documents: every section of every file is a post (a question with a title and no answers)."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from porism.corpus.post import LEVEL
from porism.corpus.sources.documents.images import SUFFIXES, ImageReader
from porism.corpus.sources.documents.limited import READERS, read_document
from porism.corpus.sources.documents.section import Document
from porism.corpus.sources.raw import Dropped, Part, RawPost, Record, SourceKind
from porism.files import read_regular
from porism.formula.latex.macros import UNEXPANDED
from porism.limits import limit
from porism.locks import require_posix
from porism.text.read import TAG

# Files of people that would be documents, if there were a reader. Other files without a reader are counted together.
UNREAD = frozenset(
    [
        ".pdf", ".doc", ".docx", ".odt", ".rtf", ".epub", ".djvu", ".ps", ".pptx", ".tm", ".lyx", ".typ", ".adoc",
        ".mw", ".nb",
    ]
)  # fmt: skip
NOT_IN_A_TAG = re.compile(r"[^\w#+.-]+")


def documents(path: Path) -> Iterator[Path]:
    """Yield the files that can be read, in order, without hidden ones. Symbolic links are not followed."""
    return (entry for entry in _entries(path) if isinstance(entry, Path))


def _entries(path: Path) -> Iterator[Path | Dropped]:
    """Yield the documents of a folder, and those that are left out because they are not plain files inside it."""
    waiting = [_listed(path)]  # no recursion: folders may be inside each other as deep as their names allow
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif isinstance(entry, Dropped):
            yield entry
        elif entry.is_dir(follow_symlinks=False):
            waiting.append(_listed(Path(entry.path)))
        else:
            yield from _document(entry)


def _listed(path: Path) -> Iterator[os.DirEntry[str] | Dropped]:
    """Yield what is in a folder, in order, without hidden entries."""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        yield Dropped("documents", f"folder cannot be read ({error.strerror})", printable(path))
        return
    yield from (entry for entry in entries if not entry.name.startswith("."))


def _document(entry: os.DirEntry[str]) -> Iterator[Path | Dropped]:
    place = Path(entry.path)
    suffix = place.suffix.lower()
    if entry.is_symlink() and (suffix in READERS or entry.is_dir()):
        yield Dropped("documents", "symbolic link", printable(place))
    elif suffix in READERS:
        reason = _why_not(entry)
        yield Dropped("documents", reason, printable(place)) if reason else place
    elif suffix not in SUFFIXES:
        reason = f"no reader for {suffix}" if suffix in UNREAD else "not documents"
        yield Dropped("other files", reason, printable(place))


def _why_not(entry: os.DirEntry[str]) -> str:
    """Return why a document is left out, or nothing."""
    if not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    try:
        has_others = entry.stat(follow_symlinks=False).st_nlink > limit("document_links")
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if has_others:
        return "hard link"
    place = Path(entry.path)  # Python reads bytes that are not UTF-8 as lone surrogates
    return "" if printable(place) == str(place) else "name is not UTF-8"


def printable(path: Path) -> str:
    """Return a path as text that can be stored and printed, also if its name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Folder:
    """A folder of documents. Post ids are 1, 2, 3, ... in the order of files and sections.

    `only` limits it to some files and folders inside, by their relative paths."""

    kind = "folder"
    official = False

    def __init__(self, path: Path, only: Collection[str] = ()) -> None:
        self.path = path
        self._only = frozenset(only)

    def covers(self, file: str) -> bool:
        """Return whether the source has a say on a file inside the folder."""
        return not self._only or not self._only.isdisjoint(
            map(str, (PurePosixPath(file), *PurePosixPath(file).parents))
        )

    def parts(self) -> Sequence[Part]:
        """Return all files as one part, because ids continue from file to file."""
        require_posix("reading documents of any origin")
        statuses = [file.lstat() for file in documents(self.path)]
        size, age = sum(one.st_size for one in statuses), max((one.st_mtime_ns for one in statuses), default=0)
        return [Part(self.path.name, size, age, self._read)]

    def _read(self) -> Iterator[Record]:
        number = 0
        images = ImageReader(self.path)
        for entry in _entries(self.path):
            place = entry if isinstance(entry, Path) else entry.where
            if self._only and not self.covers(os.path.relpath(place, self.path)):
                continue
            for record in self._file(entry, images) if isinstance(entry, Path) else (entry,):
                if isinstance(record, RawPost):
                    number += 1
                    record = replace(record, id=number, line=0)
                yield record

    def _file(self, file: Path, images: ImageReader) -> Iterator[Record]:
        try:
            content = read_regular(file, limit("document_bytes"), limit("document_links"))
        except OSError as error:
            yield Dropped("documents", f"cannot be read ({error.strerror})", str(file))
            return
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
            document = read_document(file.suffix.lower(), text)
            records = list(self._sections(file, document, images))
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            records = [Dropped("documents", "not UTF-8", f"{file}:{line}")]
        except Exception as error:  # one damaged document must not end a build of thousands
            records = [Dropped("documents", f"cannot be read ({error or type(error).__name__})"[:200], str(file))]
        yield from records

    def _sections(self, file: Path, document: Document, images: ImageReader) -> Iterator[Record]:
        name = document.title or html.escape(file.stem)
        inside = file.relative_to(self.path)
        tags = [*document.tags, *(NOT_IN_A_TAG.sub("-", part) for part in inside.parts[:-1])]
        kept = 0
        for at, section in enumerate(document.sections, 1):
            if not TAG.sub("", section.body).strip():
                continue
            kept += 1
            title = LEVEL.join(dict.fromkeys((name, *section.title.split(LEVEL)))) if section.title else name
            body, pictures = images.illustrate(section.body, file)
            yield from pictures
            yield RawPost(0, "question", None, title, body, "spans", " ".join(tags), line=at, file=inside.as_posix())
        if not kept:
            yield Dropped("documents", "without text", str(file))
        if document.unexpanded:
            yield Dropped("formulas with macros", UNEXPANDED, f"{file}: {document.unexpanded} formulas")


KINDS = {
    "folder": SourceKind(
        "a folder of documents", lambda path: path.is_dir() and next(documents(path), None) is not None, Folder
    )
}
