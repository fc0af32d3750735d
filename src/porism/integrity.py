"""Checksums of stored files: written when a file is complete, verified when it is opened and by `porism store verify`.

They detect damage by disks, copies and programs, not forgery: whoever can write the files can write new checksums. The
checksum is XXH3 with 128 bits, which is faster than any disk."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xxhash import xxh3_128

from porism.errors import PorismError
from porism.files import litter

LOG = logging.getLogger("porism.web")
BLOCK = 1 << 18
# What is read when something is opened with verify="quick": the smallest files, up to this many bytes, in a few
# hundredths of a second.
QUICK_BYTES = 32_000_000
Verify = Literal["quick", "all", "none"]
VERIFY: tuple[Verify, ...] = ("quick", "all", "none")
WRONG = "is damaged: its checksum is wrong"
_SEAL = re.compile(rb'"checksum": "([0-9a-f]*)"')


@dataclass(frozen=True, slots=True)
class FileChecksum:
    """The size of a file in bytes and the checksum of its bytes."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of stored data that differs from what was written: its name, what is wrong, and what to run."""

    part: str
    fact: str
    fix: str

    def __str__(self) -> str:
        return f"{self.part} {self.fact}\n  fix: {self.fix}"


class DamageError(PorismError):
    """Stored data is damaged."""

    @classmethod
    def of(cls, damage: Damage) -> DamageError:
        """Return the error that reports a damaged part."""
        return cls(damage.fact, where=damage.part, fix=damage.fix)


def checksum_file(path: Path, advance: Callable[[int], None] = lambda _: None) -> str:
    """Return the checksum of a file; `advance` gets the number of bytes of each block that was read."""
    total = xxh3_128()
    block = memoryview(bytearray(BLOCK))  # one block for all: allocating new ones takes as long as reading
    with open(path, "rb", buffering=0) as stream:
        while size := stream.readinto(block):
            total.update(block[:size])
            advance(size)
    return total.hexdigest()


def describe_file(path: Path) -> FileChecksum:
    """Return the size and the checksum of a complete file."""
    return FileChecksum(path.stat().st_size, checksum_file(path))


def seal(document: Mapping[str, object]) -> str:
    """Return a document as JSON that holds the checksum of its own text in the key `checksum`."""
    text = json.dumps({**document, "checksum": ""}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    data = text.encode("utf-8")
    if len(_SEAL.findall(data)) != 1:
        raise ValueError("the document has a key `checksum` of its own")
    return _SEAL.sub(f'"checksum": "{xxh3_128(data).hexdigest()}"'.encode(), data).decode("utf-8")


class Sealed(NamedTuple):
    """A document that `seal` made, without its checksum, and whether every byte of the file is as it was written."""

    document: dict[str, Any]
    intact: bool


def read_sealed(path: Path, fix: str) -> Sealed:
    """Read a document that `seal` made. What is not JSON at all is an error."""
    try:
        data = path.read_bytes()
        document = json.loads(data.decode("utf-8"))
    except OSError as error:
        raise DamageError(f"cannot be read: {error.strerror}", where=str(path), fix=fix) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise DamageError("is damaged: it is not an object of JSON", where=str(path), fix=fix)
    found = _SEAL.findall(data)
    own = xxh3_128(_SEAL.sub(b'"checksum": ""', data)).hexdigest().encode()
    # Documents of earlier versions have no checksum. A damaged key `checksum` is a key that no reader knows.
    intact = "checksum" not in document or found == [own]
    document.pop("checksum", None)
    return Sealed(document, intact)


def damaged_files(
    directory: Path, files: Mapping[str, FileChecksum], fix: str, advance: Callable[[int], None] = lambda _: None
) -> Iterator[Damage]:
    """Read files and yield those that are not as they were written."""
    for name, expected in files.items():
        if fact := _difference(directory / name, expected, advance):
            yield Damage(str(directory / name), fact, fix)


def _difference(path: Path, expected: FileChecksum, advance: Callable[[int], None]) -> str:
    try:
        size = path.stat().st_size
        if size != expected.size:
            return f"has {size:,} bytes and should have {expected.size:,}"
        if len(expected.digest) != xxh3_128().digest_size * 2:  # of a version that wrote other digests
            return ""
        return "" if checksum_file(path, advance) == expected.digest else WRONG
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def smallest(files: Mapping[str, FileChecksum], limit: int = QUICK_BYTES) -> dict[str, FileChecksum]:
    """Return the smallest files, as many as have at most `limit` bytes together."""
    chosen: dict[str, FileChecksum] = {}
    for name, file in sorted(files.items(), key=lambda item: (item[1].size, item[0])):
        limit -= file.size
        if limit < 0:
            break
        chosen[name] = file
    return chosen


def check_opened(directory: Path, files: Mapping[str, FileChecksum], fix: str, verify: Verify) -> None:
    """Verify files that are about to be opened: all, the smallest, or none. The first damaged one is an error."""
    chosen: Mapping[str, FileChecksum] = {"quick": smallest(files), "all": files, "none": {}}[verify]
    raise_first(damaged_files(directory, chosen, fix))


def raise_first(damages: Iterable[Damage]) -> None:
    """Raise the first damage as an error, if there is any."""
    for damage in damages:
        raise DamageError.of(damage)


@dataclass(frozen=True, slots=True)
class Verification:
    """What `porism store verify` found: how many files (of a journal: rows) and bytes it read, damages, and remarks."""

    path: str
    kind: str
    files: int
    bytes: int
    damages: tuple[Damage, ...] = ()
    remarks: tuple[str, ...] = ()
    unit: str = "files"


class StoredFile(NamedTuple):
    """A file of an index or of its collection, as it was written, and what to run if it is damaged."""

    folder: Path
    name: str
    expected: FileChecksum
    fix: str


def leftovers(path: Path) -> list[str]:
    """Return what killed processes left beside a folder, and how to remove it."""
    left = [f"{work} was left by a killed process: rm -r {work}" for work in litter(path.parent)]
    partial = path.parent / f".{path.name}.partial"
    if partial.is_dir():
        left.append(f"{partial} is a stopped build: run its command again to continue it, or rm -r {partial}")
    return left


class FileWatch:
    """Notices files of a served index that another program truncates or writes: complete files never change.

    Sizes and times are compared at each look. A file that looks changed is read, and compared with its checksum. A file
    that was removed or replaced is no damage: this process has opened the one before.
    """

    def __init__(self, files: Callable[[], Iterable[StoredFile]]) -> None:
        """`files` returns those of the newest commit."""
        self._files = files
        self._states: dict[StoredFile, _State | None] = {}
        self._damages: dict[StoredFile, Damage] = {}

    def restart(self) -> None:
        """Watch the files of the newest commit; those that an earlier one had keep their state."""
        files = tuple(self._files())
        self._states = {file: self._states.get(file) or _state(file) for file in files}
        self._damages = {file: damage for file, damage in self._damages.items() if file in self._states}

    def damages(self) -> tuple[Damage, ...]:
        """Look at the files; return what is damaged now. A file that is again as it was written is well."""
        for file, before in self._states.items():
            now = _state(file)
            if before is None or now is None or now.inode != before.inode or now == before:
                continue
            self._states[file] = now
            self._damages.pop(file, None)
            if damage := next(damaged_files(file.folder, {file.name: file.expected}, file.fix), None):
                LOG.error("not served any more: %s", damage)
                self._damages[file] = damage
        return tuple(self._damages.values())

    def check(self) -> None:
        """Look at the files; a damaged one is an error."""
        raise_first(self.damages())


class _State(NamedTuple):
    """What tells without reading a file whether it has changed."""

    inode: int
    size: int
    written: int


def _state(file: StoredFile) -> _State | None:
    try:
        found = os.stat(file.folder / file.name)
    except OSError:
        return None
    return _State(found.st_ino, found.st_size, found.st_mtime_ns)
