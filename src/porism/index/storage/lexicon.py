"""Which word a code stands for: a table sorted by code, written with little memory and read without loading it."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO

BUCKETS = 64  # of codes, by their first bits: one is sorted at a time
_SHIFT = 26  # of 32 bits, that leaves 64 buckets
_FRESH = 500_000  # codes that are remembered as written


class LexiconWriter:
    """Takes words with their codes, many times; of two words with one code the first stays. Use it in a `with` statement."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack = ExitStack()
        self._parts = [path.with_name(f"{path.name}.{number:02}") for number in range(BUCKETS)]
        self._files: list[IO[str]] = [
            self._stack.enter_context(part.open("w", encoding="utf-8", newline="")) for part in self._parts
        ]
        self._written: set[int] = set()

    def add(self, words: Iterable[tuple[int, str]]) -> None:
        """Add words."""
        for code, word in words:
            if code not in self._written:
                if len(self._written) >= _FRESH:
                    self._written.clear()
                self._written.add(code)
                self._files[code >> _SHIFT].write(f"{code}\t{word}\n")

    def __enter__(self) -> LexiconWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        if kind is None:
            with self._path.open("w", encoding="utf-8", newline="") as out:
                for part in self._parts:
                    out.writelines(f"{code}\t{word}\n" for code, word in _sorted(part))
        for part in self._parts:
            part.unlink()


def _sorted(path: Path) -> Iterator[tuple[int, str]]:
    held: dict[int, str] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for line in lines:
            code, _, word = line.rstrip("\n").partition("\t")
            held.setdefault(int(code), word)
    yield from sorted(held.items())


class Lexicon:
    """Finds words in the file by halving it; nothing is held."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            self._bytes: bytes | mmap.mmap = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    def word(self, code: int) -> str:
        """The word of a code; empty if there is none."""
        low, high = 0, len(self._bytes)
        while low < high:
            middle = (low + high) // 2
            start = self._bytes.rfind(b"\n", low, middle) + 1 or low
            end = self._bytes.find(b"\n", start)
            found, _, word = self._bytes[start:end].partition(b"\t")
            if int(found) == code:
                return word.decode("utf-8")
            if int(found) < code:
                low = end + 1
            else:
                high = start
        return ""
