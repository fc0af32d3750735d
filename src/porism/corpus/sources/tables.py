"""Tables with a header, tab-separated, quoted as csv or not at all, and a table of formulas without posts as a
source."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from porism.corpus.sources.raw import Dropped, Part, RawFormula, Record, RowError, SourceKind, keep, whole_number
from porism.errors import PorismError
from porism.files import open_bytes, open_text
from porism.limits import limit

# Some cells of the lab's files are longer than the default limit of 128 KiB.
csv.field_size_limit(1 << 25)


@dataclass(slots=True)
class Row:
    """A row with its file and line."""

    path: Path
    line: int
    columns: dict[str, int]
    cells: list[str]

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
        return whole_number(self[name], name)

    def optional_number(self, name: str) -> int | None:
        """Return a cell that is a whole number or empty."""
        return self.number(name) if self.get(name) else None

    def choice(self, name: str, allowed: Sequence[str]) -> Any:
        """Return a cell that must be one of the allowed words."""
        if self[name] not in allowed:
            raise RowError(f"{name} is {self[name][:40]!r}, not one of {', '.join(allowed)}")
        return self[name]


def header(path: Path) -> list[str]:
    """Return the names of the columns."""
    with open_text(path) as stream:
        return stream.readline().rstrip("\r\n").split("\t")


@contextmanager
def utf8_text(path: str | Path) -> Iterator[IO[str]]:
    """Open a file to read text. While it is read, report what is not UTF-8, and rows that are not a table's."""
    with open_text(path) as stream:
        try:
            yield stream
        except csv.Error as error:
            raise PorismError(f"not a table: {error}", where=str(path), fix="fetch the file again") from None


def read_table(path: Path, needed: Sequence[str], *, quoted: bool) -> Iterator[Row]:
    """Yield the rows of a table; the first row that cannot be read is an error with its line."""
    for row in rows_of_table(path, needed, quoted=quoted):
        if isinstance(row, Dropped):
            raise PorismError(row.why, where=row.where, fix="correct the row")
        yield row


def table_records(
    path: Path, needed: Sequence[str], make: Callable[[Row], Record | None], what: str, *, quoted: bool
) -> Iterator[Record]:
    """Yield what `make` makes of rows; one that cannot be read is dropped with the reason, and reading goes on."""
    for row in rows_of_table(path, needed, quoted=quoted):
        if isinstance(row, Dropped):
            yield Dropped(what, row.why, row.where)
        elif (record := keep(what, row.where, partial(make, row))) is not None:
            yield record


def rows_of_table(path: Path, needed: Sequence[str], *, quoted: bool) -> Iterator[Row | Dropped]:
    """Yield the rows of a table, and those that cannot be read; a file without the needed columns is an error."""
    with open_bytes(path) as stream:
        lines = LimitedLines(stream)
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        names = _next(reader) or []
        if isinstance(names, str):
            raise PorismError(f"not a table: {names}", where=f"{path}:1", fix="fetch the file again")
        if absent := [name for name in needed if name not in names]:
            fact = f"the header has no column {', '.join(absent)}"
            raise PorismError(fact, where=f"{path}:1", fix="add the header line")
        columns = {name: at for at, name in enumerate(names)}
        while (cells := _next(reader)) is not None:
            shape = "" if len(cells) == len(names) else f"has {len(cells)} cells, the header {len(names)}"
            reason = lines.fault or (cells if isinstance(cells, str) else shape)
            lines.fault = ""
            row = Row(path, lines.number, columns, list(cells))
            yield Dropped("", reason, row.where) if reason else row


def _next(reader: Iterator[list[str]]) -> list[str] | str | None:
    """Return the next row, why it cannot be read, or None at the end."""
    try:
        return next(reader, None)
    except csv.Error as error:
        return str(error)


class LimitedLines:
    """The lines of a file. `number` is that of the last one, `fault` what was wrong since it was last cleared."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._largest = limit("row_bytes")
        self._rest: list[str] = []  # lines that end with a carriage return alone, in reverse order
        self.number = 0
        self.fault = ""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._rest:
            self.number += 1
            return self._rest.pop()
        line = self._stream.readline(self._largest)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) == self._largest and not line.endswith(b"\n"):
            self.fault = f"line of more than {self._largest:,} bytes"
            while (rest := self._stream.readline(self._largest)) and not rest.endswith(b"\n"):
                pass
            return "\n"
        try:
            text = line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            self.fault = "not UTF-8"
            text = line.decode("utf-8", "replace")
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            *self._rest, text = reversed([f"{part}\n" for part in text.rstrip("\n").split("\r")])
        return text


class FormulaList:
    """A TSV of formulas. Column `id` becomes the formula's id, `visual_id` its visual id; the post id is 0."""

    kind = "formulas"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns = header(path)
        self.official = "id" in self.columns

    def parts(self) -> Sequence[Part]:
        """Return the one file."""
        return [Part.of(self.path, self._read)]

    def _read(self) -> Iterator[Record]:
        first = "id" if "id" in self.columns else "visual_id"
        return table_records(self.path, (first, "latex"), self._record, "formulas", quoted=False)

    def _record(self, row: Row) -> Record:
        mathml = row.get("mathml") or None
        if not row["latex"].strip() and mathml is None:
            raise RowError("empty")
        return RawFormula(
            id=row.number("id") if self.official else 0,
            post_id=0,
            thread_id=0,
            kind="question",
            latex=row["latex"],
            visual_id=row.optional_number("visual_id"),
            mathml=mathml,
            content=row.get("content") or None,
        )


def _is_formula_list(path: Path) -> bool:
    if not path.is_file() or not {".tsv", ".txt"} & set(path.suffixes):
        return False
    columns = FormulaList(path).columns
    return "latex" in columns and ("id" in columns or "visual_id" in columns)


KINDS = {"formulas": SourceKind("a table of formulas", _is_formula_list, FormulaList)}
