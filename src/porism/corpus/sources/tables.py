"""Tables with a header: tab-separated, quoted as csv or not at all."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from porism.corpus.sources.raw import DAMAGED
from porism.errors import PorismError
from porism.files import open_bytes, open_text

# Some cells of the lab's files are longer than the default limit of 128 KiB.
csv.field_size_limit(2**31 - 1)


class Row:
    """A row with its file and line."""

    __slots__ = ("cells", "columns", "line", "path")

    def __init__(self, path: Path, line: int, columns: dict[str, int], cells: list[str]) -> None:
        self.path = path
        self.line = line
        self.columns = columns
        self.cells = cells

    @property
    def where(self) -> str:
        """Return file:line."""
        return f"{self.path}:{self.line}"

    def __getitem__(self, name: str) -> str:
        return self.cells[self.columns[name]]

    def get(self, name: str) -> str:
        """Return a cell, or "" where the table has no such column."""
        return self.cells[self.columns[name]] if name in self.columns else ""

    def number(self, name: str) -> int:
        """Return a cell that must be a whole number."""
        text = self[name]
        try:
            return int(text)
        except ValueError:
            raise PorismError(f"{name} is {text!r}, not a number", where=self.where, fix="correct the file") from None

    def optional_number(self, name: str) -> int | None:
        """Return a cell that is a whole number or empty."""
        return self.number(name) if self.get(name) else None

    def choice(self, name: str, allowed: Sequence[str]) -> Any:
        """Return a cell that must be one of the allowed words."""
        if self[name] not in allowed:
            message = f"{name} is {self[name]!r}, not one of {', '.join(allowed)}"
            raise PorismError(message, where=self.where, fix="correct the file")
        return self[name]


def header(path: Path) -> list[str]:
    """Return the names of the columns."""
    with open_text(path) as stream:
        try:
            return stream.readline().rstrip("\r\n").split("\t")
        except UnicodeDecodeError:
            raise not_utf8(path) from None
        except DAMAGED as error:
            raise PorismError(f"cannot be unpacked: {error}", where=str(path), fix="fetch the file again") from None


@contextmanager
def utf8_text(path: str | Path) -> Iterator[IO[str]]:
    """Open a file to read text. While it is read, report text that is not UTF-8, and rows that are not those of a table."""
    with open_text(path) as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            raise not_utf8(Path(path)) from None
        except csv.Error as error:
            raise PorismError(f"not a table: {error}", where=str(path), fix="fetch the file again") from None


def not_utf8(path: Path) -> PorismError:
    """Return the error for a file in another encoding, at its first line that is not UTF-8."""
    with open_bytes(path) as stream:
        line = next((at for at, text in enumerate(stream, 1) if not _decodes(text)), 1)
    return PorismError("is not UTF-8", where=f"{path}:{line}", fix="convert the file to UTF-8")


def _decodes(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def read_table(path: Path, needed: Sequence[str], *, quoted: bool) -> Iterator[Row]:
    """Yield the rows of a table; a missing column or a row of another length is an error with its line."""
    with open_text(path) as stream:
        reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        try:
            names = next(reader, [])
            if absent := [name for name in needed if name not in names]:
                raise PorismError(
                    f"the header has no column {', '.join(absent)}", where=f"{path}:1", fix="add the header line"
                )
            columns = {name: at for at, name in enumerate(names)}
            for cells in reader:
                if len(cells) != len(names):
                    message = f"has {len(cells)} cells, the header {len(names)}"
                    raise PorismError(message, where=f"{path}:{reader.line_num}", fix="correct the row")
                yield Row(path, reader.line_num, columns, cells)
        except UnicodeDecodeError:
            raise not_utf8(path) from None
        except DAMAGED as error:
            place = f"{path}:{reader.line_num + 1}"
            raise PorismError(f"cannot be unpacked: {error}", where=place, fix="fetch the file again") from None
        except csv.Error as error:
            raise PorismError(str(error), where=f"{path}:{reader.line_num}", fix="correct the row") from None
