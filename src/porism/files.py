"""Reading and writing files: compressed or plain, whole or not at all."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from porism.errors import PorismError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_bytes(path: str | Path) -> IO[bytes]:
    """The bytes of a plain, .gz, .bz2 or .xz file; `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.buffer
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    try:
        stream: IO[bytes] = opener(path, "rb")
        return stream
    except FileNotFoundError:
        raise PorismError("no such file", where=str(path), fix="check the path") from None
    except (PermissionError, IsADirectoryError) as error:
        raise PorismError(
            f"cannot be read: {error.strerror}", where=str(path), fix="name a file you may read"
        ) from None


def open_text(path: str | Path) -> IO[str]:
    """The text of such a file: UTF-8, a byte order mark dropped, line ends as they are read by Python."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline=None)


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[IO[str]]:
    """Write text beside `path`, then rename: the file is whole or not there."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError as error:
        raise disk_error(error, target) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


@contextlib.contextmanager
def atomic_directory(path: str | Path) -> Iterator[Path]:
    """A new directory, filled beside its place and renamed into it; an existing one is an error."""
    target = Path(path)
    if target.exists():
        raise PorismError("is already there", where=str(target), fix=f"remove it or name another: rm -r {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield work
        os.chmod(work, 0o755)
        os.replace(work, target)
    except OSError as error:
        raise disk_error(error, target) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def disk_error(error: OSError, path: Path) -> PorismError:
    """The same fact in words that say what to do."""
    return PorismError(
        f"cannot be written: {error.strerror or error}", where=str(path), fix="free some space or name another place"
    )


def digest_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
