"""The limits of what is read from files of others, also of what is unpacked. An environment variable changes each one:
PORISM_UNPACKED_RATIO=1000."""

from __future__ import annotations

import io
import lzma
import os
import zlib
from typing import IO, Any, NamedTuple

from porism.errors import PorismError


class LimitSetting(NamedTuple):
    """A limit: its value unless the environment sets another, and what it limits."""

    default: int
    meaning: str


LIMITS: dict[str, LimitSetting] = {
    "unpacked_ratio": LimitSetting(
        200,
        "how many times larger than a compressed file (.7z, .gz, .bz2, .xz) its content may be; the first 100 MB are "
        "free",
    ),
    "row_bytes": LimitSetting(1 << 26, "bytes of a row of XML, a line of JSON or of a table; a longer one is left out"),
    "document_bytes": LimitSetting(20_000_000, "bytes of a document in a folder; a larger one is left out"),
    "document_links": LimitSetting(
        1,
        "names that a document in a folder may have (hard links), since others may be outside; one with more is left "
        "out",
    ),
    "rst_characters": LimitSetting(
        2_000_000, "characters of a reStructuredText document, which is slow to read; a longer one is left out"
    ),
    "post_characters": LimitSetting(2_000_000, "characters of the body of a post; a longer one is left out"),
    "comment_characters": LimitSetting(50_000, "characters of a comment; a longer one is left out"),
    "post_tags": LimitSetting(20_000, "HTML tags in the body of a post or in a document; one with more is left out"),
    "tag_depth": LimitSetting(500, "HTML elements inside each other; deeper ones are left out, their text stays"),
}


def limit(name: str) -> int:
    """Return a limit: that of the environment, or the default."""
    text = os.environ.get(variable := f"PORISM_{name.upper()}", "")
    if not text:
        return LIMITS[name].default
    if not text.isdecimal() or not 0 < int(text) < 2**62:
        raise PorismError(f"{text!r} is not a limit", where=variable, fix="set a whole number above 0, or unset it")
    return int(text)


# Errors of unpackers where a compressed file is truncated or damaged; gzip reports a wrong header or checksum as an
# OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, OSError)
FREE_BYTES = 100_000_000  # content of this size is unpacked from any file
BLOCK = 1 << 20


class Expansion:
    """Counts unpacked bytes, and refuses more than a file of its size may have."""

    def __init__(self, packed: int, where: str) -> None:
        self._where = where
        self._ratio = limit("unpacked_ratio")
        self._most = max(FREE_BYTES, packed * self._ratio)
        self._bytes = 0

    def add(self, size: int) -> None:
        """Count bytes that were unpacked."""
        self._bytes += size
        self.check(self._bytes)

    def check(self, size: int) -> None:
        """Refuse content of this many bytes if that is too much."""
        if size > self._most:
            raise PorismError(
                f"unpacks to more than {self._ratio} times its size",
                where=self._where,
                fix="if you trust the file, set PORISM_UNPACKED_RATIO to a higher number",
            )


class UnpackedStream(io.RawIOBase):
    """The content of a compressed file. Reading it reports damage and too much content as PorismError."""

    def __init__(self, stream: Any, packed: int, where: str) -> None:
        self._stream = stream
        self._expansion = Expansion(packed, where)
        self._where = where

    def readable(self) -> bool:
        """Return that the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer."""
        try:
            data = self._stream.read(min(len(buffer), BLOCK))
        except DAMAGED as error:
            raise PorismError(f"cannot be unpacked: {error}", where=self._where, fix="fetch the file again") from None
        self._expansion.add(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the compressed file, too."""
        self._stream.close()
        super().close()


def unpacked(stream: Any, packed: int, where: str) -> IO[bytes]:
    """Return the content of a compressed file of `packed` bytes as a stream within limits."""
    return io.BufferedReader(UnpackedStream(stream, packed, where), BLOCK)
