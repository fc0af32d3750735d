"""A folder of documents: every section of every file is a post (a question with a title and no answers)."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from porism.corpus.sources.documents.latex import read_latex
from porism.corpus.sources.documents.markdown import read_markdown
from porism.corpus.sources.documents.notebook import read_notebook
from porism.corpus.sources.documents.page import read_page
from porism.corpus.sources.documents.section import Document
from porism.corpus.sources.raw import Dropped, Part, RawPost, Record
from porism.text.sanitize import TAG

READERS: dict[str, Callable[[str], Document]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".tex": read_latex,
    ".ltx": read_latex,
    ".html": read_page,
    ".htm": read_page,
    ".xhtml": read_page,
    ".ipynb": read_notebook,
}
LARGEST = 20_000_000
NOT_IN_A_TAG = re.compile(r"[^\w#+.-]+")


def documents(path: Path) -> Iterator[Path]:
    """Yield the files that can be read, in order, without hidden ones."""
    for entry in sorted(path.rglob("*")):
        inside = entry.relative_to(path).parts
        if entry.suffix.lower() in READERS and entry.is_file() and not any(part.startswith(".") for part in inside):
            yield entry


class Folder:
    """A folder of documents. Post ids are 1, 2, 3, ... in the order of files and sections."""

    kind = "folder"
    official = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return all files as one part, because ids continue from file to file."""
        statuses = [file.stat() for file in documents(self.path)]
        size, age = sum(one.st_size for one in statuses), max((one.st_mtime_ns for one in statuses), default=0)
        return [Part(self.path.name, size, age, self._read)]

    def _read(self) -> Iterator[Record]:
        number = 0
        for file in documents(self.path):
            for record in self._file(file):
                if isinstance(record, RawPost):
                    number += 1
                    yield RawPost(
                        number, "question", None, record.title, record.body, "spans", record.tags, file=record.file
                    )
                else:
                    yield record

    def _file(self, file: Path) -> Iterator[Record]:
        if file.stat().st_size > LARGEST:
            yield Dropped("documents", f"larger than {LARGEST:,} bytes", str(file))
            return
        try:
            document = READERS[file.suffix.lower()](file.read_text("utf-8-sig"))
        except UnicodeDecodeError as error:
            line = file.read_bytes()[: error.start].count(b"\n") + 1
            yield Dropped("documents", "not UTF-8", f"{file}:{line}")
            return
        except (ValueError, AttributeError, RecursionError) as error:
            yield Dropped("documents", f"cannot be read ({error or type(error).__name__})", str(file))
            return
        yield from self._sections(file, document)

    def _sections(self, file: Path, document: Document) -> Iterator[Record]:
        name = document.title or html.escape(file.stem)
        inside = file.relative_to(self.path)
        tags = [*document.tags, *(NOT_IN_A_TAG.sub("-", part) for part in inside.parts[:-1])]
        kept = 0
        for at, section in enumerate(document.sections, 1):
            if not TAG.sub("", section.body).strip():
                continue
            kept += 1
            title = f"{name}: {section.title}" if section.title and section.title != name else name
            yield RawPost(
                0, "question", None, title, section.body, "spans", " ".join(tags), line=at, file=inside.as_posix()
            )
        if not kept:
            yield Dropped("documents", "without text", str(file))
