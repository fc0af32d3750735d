"""Rows of a dump's XML: `<row .../>` elements with all data in attributes, streamed, with their lines.

The parser is expat: it has no limit on the size of an attribute and needs little memory. A document type, which could bring entity
bombs and external entities, is refused before anything is expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO
from xml.parsers import expat

from porism.corpus.sources.raw import DAMAGED, Meter
from porism.errors import PorismError

BLOCK = 1 << 20

Attributes = dict[str, str]


def rows(
    open_file: Callable[[], IO[bytes]], where: str, meter: Meter | None = None
) -> Iterator[tuple[int, Attributes]]:
    """Yield each row with its line number. A file that ends early, is not XML or has a document type is an error."""
    pending: list[tuple[int, Attributes]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: Attributes) -> None:
        if name == "row":
            pending.append((parser.CurrentLineNumber, attributes))

    def doctype(*_: object) -> None:
        fix = "dumps have none; remove it if you trust the file"
        raise PorismError(
            "has a document type declaration, which is refused", where=f"{where}:{parser.CurrentLineNumber}", fix=fix
        )

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    with (meter or Meter()).watch(open_file()) as read:
        try:
            while block := read(BLOCK):
                parser.Parse(block, False)
                yield from pending
                pending.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            # Rows before the fault are good, but a build must not use part of a file.
            raise _fault(error, where) from None
        except (OSError, *DAMAGED) as error:
            place = f"{where}:{parser.CurrentLineNumber}"
            raise PorismError(f"cannot be read: {error}", where=place, fix="fetch the file again") from None
    yield from pending


def _fault(error: expat.ExpatError, where: str) -> PorismError:
    reason = expat.ErrorString(error.code)
    place = f"{where}:{error.lineno}"
    if reason in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN):
        return PorismError("the file ends in the middle", where=place, fix="fetch the file again; it is truncated")
    if reason == expat.errors.XML_ERROR_INVALID_TOKEN:
        message = f"is not well-formed XML or not in its declared encoding (column {error.offset + 1})"
        return PorismError(message, where=place, fix="fetch the file again, or convert it to UTF-8")
    return PorismError(
        f"is not well-formed XML: {reason}",
        where=place,
        fix="fetch the file again, or convert it to UTF-8"
        if reason in (expat.errors.XML_ERROR_INCORRECT_ENCODING, expat.errors.XML_ERROR_UNKNOWN_ENCODING)
        else "fetch the file again",
    )
