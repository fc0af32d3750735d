"""Unpack compressed data within limits: a small file that expands to far more than its size is refused, and damage is reported."""

from __future__ import annotations

import io
import lzma
import zlib
from typing import IO, Any

from porism.errors import PorismError
from porism.limits import limit

# Errors of unpackers where a compressed file is truncated or damaged; gzip reports a wrong header or checksum as an OSError.
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
