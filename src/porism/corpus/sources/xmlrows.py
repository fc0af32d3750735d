"""Rows of a dump's XML: `<row .../>` elements with all data in attributes, streamed, with their lines.

The parser is expat, which needs little memory. A document type, which could bring entity bombs and external entities,
is refused before anything is expanded. A row that is not well-formed or too large is reported, and reading goes on with
the next one: in XML a `<` cannot be part of an attribute, so that `<row` always starts a row. A file that ends early is
refused as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple
from xml.parsers import expat

from porism.corpus.sources.raw import Meter
from porism.errors import PorismError
from porism.limits import limit

BLOCK = 1 << 20
PIECE = 1 << 12  # of a block, after a bad row
MOST_BAD = 10_000  # bad rows in succession

Attributes = dict[str, str]
_ROW = re.compile(rb"<row[\s/>]")


class XmlRow(NamedTuple):
    """A row: its line and its attributes."""

    line: int
    attributes: Attributes


class BadRow(NamedTuple):
    """A row that cannot be read: its line and the reason."""

    line: int
    reason: str


def rows(
    open_file: Callable[[], IO[bytes]], where: str, meter: Meter | None = None, largest: int = 0
) -> Iterator[XmlRow | BadRow]:
    """Yield each row. A file that ends early, has no row that can be read, or has a document type is an error."""
    reader, meter = _RowParser(where, largest or limit("row_bytes")), meter or Meter()
    with open_file() as stream:
        try:
            while block := meter.read(stream, BLOCK):
                yield from reader.feed(block)
            reader.end()
        except OSError as error:
            place = f"{where}:{reader.line}"
            raise PorismError(f"cannot be read: {error}", where=place, fix="fetch the file again") from None


class _RowParser:
    """Parses blocks of a file, and starts again behind a row that is not well-formed.

    `held` are the bytes since the last good row started, `first_line` is the line of the first of them."""

    def __init__(self, where: str, largest: int) -> None:
        self._where = where
        self._largest = largest
        self._root = ""
        self._encoding: str | None = None
        self._good = self._bad_since_good = 0
        self._first_fault: PorismError | None = None
        self._skipping = False  # for the next row, since the end of a bad one
        self._held = b""
        self._first_line = 1
        self._start()

    def _start(self) -> None:
        """Start a parser whose input begins with what is held."""
        self._rows: list[XmlRow] = []
        self._last = 0  # where the last good row starts in the input of the parser
        self._trimmed = 0  # bytes of that input that are not held any more
        self._lines_before = self._first_line - 1
        self._parser = expat.ParserCreate(self._encoding)
        if self._root:
            self._parser.Parse(f"<{self._root}>".encode(), False)
            self._trimmed = len(self._root) + 2
        self._parser.StartElementHandler = self._element
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.XmlDeclHandler = self._declaration

    def _element(self, name: str, attributes: Attributes) -> None:
        if not self._root:
            self._root = name
        if name == "row":
            self._last = self._parser.CurrentByteIndex
            self._rows.append(XmlRow(self.line, attributes))

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        self._encoding = encoding

    def _doctype(self, *_: object) -> None:
        fact, fix = (
            "has a document type declaration, which is refused",
            "dumps have none; remove it if you trust the file",
        )
        raise PorismError(fact, where=f"{self._where}:{self.line}", fix=fix)

    @property
    def line(self) -> int:
        """The line that is being read."""
        return self._lines_before + self._parser.CurrentLineNumber

    def feed(self, block: bytes) -> Iterator[XmlRow | BadRow]:
        """Parse a block and yield its rows.

        What follows a bad row is parsed in small pieces at first: otherwise a block of many bad rows would be parsed
        again for each of them."""
        at, size = 0, BLOCK
        while at < len(block):
            piece = block[at : at + size]
            at, size = at + len(piece), min(2 * size, BLOCK)
            if self._skipping:
                self._held += piece
            reason = "" if self._skipping else self._parse(piece)
            yield from self._rows
            self._rows.clear()
            if reason:
                self._bad_since_good += 1
                if self._bad_since_good > MOST_BAD:
                    fact, place = f"more than {MOST_BAD:,} rows in succession cannot be read", self._first_line
                    raise PorismError(fact, where=f"{self._where}:{place}", fix="fetch the file again")
                yield BadRow(self._first_line, reason)
            if (self._skipping or reason) and self._skip():
                if len(self._held) > at:  # the row began in the block before
                    block, at = self._held + block[at:], 0
                else:
                    at -= len(self._held)
                self._held, size = b"", PIECE
                self._start()

    def _parse(self, block: bytes) -> str:
        """Parse a block. Return why the row behind the last good one cannot be read, or ""."""
        self._held += block
        reason = ""
        try:
            self._parser.Parse(block, False)
        except expat.ExpatError as error:
            fault = _fault(error, self._where, self._lines_before)
            self._first_fault = self._first_fault or fault
            if not self._root or self._root == "row":
                raise fault from None
            reason = "not well-formed XML"
        except (LookupError, ValueError) as error:  # of Python's codecs
            where, fix = f"{self._where}:{self.line}", "convert the file to UTF-8"
            raise PorismError(f"in an encoding that cannot be read: {error}", where=where, fix=fix) from None
        self._good += len(self._rows)
        if self._rows:
            self._bad_since_good = 0
        if (before := self._last - self._trimmed) > 0:  # bytes before the last good row
            self._held = self._held[before:]
            self._trimmed += before
            self._first_line = self._rows[-1].line if self._rows else self._first_line
        unfinished = len(self._held) + self._trimmed - max(self._parser.CurrentByteIndex, 0)
        if not reason and unfinished > self._largest:
            reason = f"row of more than {self._largest:,} bytes"
        if reason:
            self._forget_good_rows()
        return reason

    def _forget_good_rows(self) -> None:
        """Let what is held begin with the bad row, the last one that starts before the fault; else with the fault."""
        fault = min(max(self._parser.CurrentByteIndex - self._trimmed, 0), len(self._held))
        first = 1 if self._last else 0  # what is held begins with the last good row, if there is any
        starts = [found.start() for found in _ROW.finditer(self._held, first, fault + len("<row"))]
        cut = max((start for start in starts if start < fault), default=fault)
        self._first_line += self._held.count(b"\n", 0, cut)
        self._held = self._held[cut:]

    def _skip(self) -> bool:
        """Skip the bad row that is held. Return whether the next row or the end of the document was found."""
        ending = re.compile(rb"<row[\s/>]|</" + re.escape(self._root.encode()) + rb"\s*>")
        bad_row = 1 if not self._skipping and _ROW.match(self._held) else 0
        found = ending.search(self._held, bad_row)
        # The end of what is held may be the beginning of a row.
        cut = found.start() if found else max(len(self._held) - len(self._root) - 8, bad_row)
        self._first_line += self._held.count(b"\n", 0, cut)
        self._held = self._held[cut:]
        self._skipping = found is None
        return found is not None

    def end(self) -> None:
        """End the document. Refuse a file that ends early, or in which no row can be read."""
        if self._skipping or (self._first_fault is not None and not self._good):
            fix = "fetch the file again; it is truncated"
            raise self._first_fault or PorismError("the file ends in the middle", where=self._where, fix=fix)
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            # Rows before the fault are good, but a build must not use part of a file.
            raise _fault(error, self._where, self._lines_before) from None


def _fault(error: expat.ExpatError, where: str, lines_before: int) -> PorismError:
    reason, errors = expat.ErrorString(error.code), expat.errors
    fact, fix = f"not well-formed XML: {reason}", "fetch the file again"
    if reason in (errors.XML_ERROR_NO_ELEMENTS, errors.XML_ERROR_UNCLOSED_TOKEN):
        fact, fix = "the file ends in the middle", "fetch the file again; it is truncated"
    elif reason == errors.XML_ERROR_INVALID_TOKEN:
        fact = f"not well-formed XML or not in its declared encoding (column {error.offset + 1})"
        fix = "fetch the file again, or convert it to UTF-8"
    elif reason in (errors.XML_ERROR_INCORRECT_ENCODING, errors.XML_ERROR_UNKNOWN_ENCODING):
        fix = "fetch the file again, or convert it to UTF-8"
    return PorismError(fact, where=f"{where}:{lines_before + error.lineno}", fix=fix)
