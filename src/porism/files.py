"""Read plain and compressed files; write files and folders atomically."""

from __future__ import annotations

import bz2
import contextlib
import csv
import errno
import functools
import glob
import gzip
import hashlib
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from porism.errors import PorismError
from porism.limits import unpacked
from porism.locks import is_locked, lock, lock_of, only_writer

UNFINISHED = ".unfinished-"  # in the names of files and directories that are being written
JUST_CREATED = 60.0  # seconds within which a new file may not be locked yet
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
F = TypeVar("F", bound=Callable[..., Any])
# What parsing text of any content can raise.
UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    SyntaxError,
    csv.Error,
)


def open_bytes(path: str | Path) -> IO[bytes]:
    """Open a plain, .gz, .bz2 or .xz file to read bytes; `-` is standard input. Damage is reported, and content within
    limits."""
    if str(path) == "-":
        return sys.stdin.buffer
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    try:
        stream: IO[bytes] = opener(path, "rb")
        return stream if opener is open else unpacked(stream, Path(path).stat().st_size, str(path))
    except FileNotFoundError:
        raise PorismError("no such file", where=str(path), fix="check the path") from None
    except (PermissionError, IsADirectoryError) as error:
        raise PorismError(
            f"cannot be read: {error.strerror}", where=str(path), fix="name a file you may read"
        ) from None


def read_regular(path: Path, limit: int, links: int = sys.maxsize) -> bytes:
    """Return the content of a regular file of at most `limit` bytes and `links` names. Symbolic links, pipes and
    devices are an OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as stream:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if state.st_nlink > links:
            raise OSError(errno.EMLINK, "hard link", str(path))
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes", str(path))
    return content


def make_private(path: Path) -> None:
    """Create a file that only this account can read, if it is missing; from one that exists, take the rights of
    strangers."""
    with open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
        mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
        if mode & 0o007:
            with contextlib.suppress(PermissionError):  # of another account, which decides
                os.fchmod(stream.fileno(), mode & ~0o007)


def open_text(path: str | Path) -> IO[str]:
    """Open such a file to read text: UTF-8, without byte order mark, every line ending in a newline character. Other
    bytes are reported."""
    return Utf8Text(path)


class Utf8Text(io.TextIOWrapper):
    """Text of a file. Bytes that are not UTF-8 are reported as PorismError, with their line."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(open_bytes(path), encoding="utf-8-sig", newline=None)
        self._path = path

    def read(self, size: int | None = -1) -> str:
        """Read characters."""
        try:
            return super().read(size)
        except UnicodeDecodeError:
            raise not_utf8(self._path) from None

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Read a line."""
        try:
            return super().readline(size)
        except UnicodeDecodeError:
            raise not_utf8(self._path) from None

    def __next__(self) -> str:  # type: ignore[override]
        """Return the next line."""
        try:
            return super().__next__()
        except UnicodeDecodeError:
            raise not_utf8(self._path) from None


def lines_of(text: str) -> list[str]:
    """Split a text at line ends (LF or CRLF) only. `str.splitlines` also splits at U+2028 and others, which may be
    inside a cell or a JSON string."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def report_unreadable(fix: str) -> Callable[[F], F]:
    """Make a function that reads a file, its first argument, report content that it cannot parse as PorismError."""

    def reporting(read: F) -> F:
        @functools.wraps(read)
        def reported(*args: Any, **kwargs: Any) -> Any:
            try:
                return read(*args, **kwargs)
            except PorismError:
                raise
            except UNREADABLE as error:
                where = str(args[0] if args else next(iter(kwargs.values()), ""))
                raise PorismError(f"cannot be read: {error}"[:300], where=where, fix=fix) from error

        return cast(F, reported)

    return reporting


def not_utf8(path: str | Path) -> PorismError:
    """Return the error for a file in another encoding, at its first line that is not UTF-8."""
    where = str(path)
    if where != "-":
        with open_bytes(path) as stream:
            where = f"{path}:{next((at for at, text in enumerate(stream, 1) if not _decodes(text)), 1)}"
    return PorismError("not UTF-8", where=where, fix="convert the file to UTF-8")


def _decodes(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@contextlib.contextmanager
def atomic_file(path: str | Path, mode: int = 0o644) -> Iterator[IO[str]]:
    """Write text to a temporary file beside `path`, then rename it: readers see the whole file or none."""
    target = Path(path)
    try:
        with unfinished_file(target) as work, io.TextIOWrapper(work, encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
            os.chmod(work.name, mode)
            os.replace(work.name, target)
    except OSError as error:
        raise disk_error(error, target) from error


@contextlib.contextmanager
def unfinished_file(target: Path) -> Iterator[IO[bytes]]:
    """Yield a new file beside `target`, to be renamed to it; after the block nothing is left under the file's first
    name.

    It is locked as long as it is open. What killed processes have left of the same target is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in _unfinished(target.parent, target.name):
        if left.is_file() and _is_abandoned(left):
            left.unlink(missing_ok=True)
    prefix = f".{target.name}{UNFINISHED}"
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=prefix, delete=False) as work:
        try:
            lock(cast(IO[bytes], work))
            yield cast(IO[bytes], work)
        finally:
            Path(work.name).unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_directory(path: str | Path) -> Iterator[Path]:
    """Yield a temporary directory beside `path` and rename it to `path` at the end; `path` must not exist yet.

    One process at a time writes a target. What killed processes have left beside it is removed."""
    target = Path(path)
    if target.exists():
        raise already_exists(target)
    try:
        with only_writer(target):
            if target.exists():  # another process finished it a moment ago
                raise already_exists(target)
            for left in _unfinished(target.parent, target.name):  # nobody writes it: this process has the lock
                shutil.rmtree(left, ignore_errors=True)
            remove_litter(target.parent)
            work = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}{UNFINISHED}"))
            try:
                yield work
                os.chmod(work, 0o755)
                os.replace(work, target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise disk_error(error, target) from error


def litter(folder: Path) -> list[Path]:
    """Return what killed processes have left in a folder: unfinished files and directories that no process writes any
    more."""
    return [work for work in _unfinished(folder) if _is_abandoned(work)]


def remove_litter(folder: Path) -> None:
    """Remove what killed processes have left in a folder."""
    for work in litter(folder):
        if work.is_dir():
            shutil.rmtree(work, ignore_errors=True)
        else:
            work.unlink(missing_ok=True)


def _unfinished(folder: Path, name: str = "") -> list[Path]:
    """Return the unfinished files and directories in a folder, of one target or of all."""
    there = sorted(folder.glob(f".{glob.escape(name) or '?*'}{UNFINISHED}*"))
    return [path for path in there if not path.is_symlink()]


def _is_abandoned(work: Path) -> bool:
    """Return whether no process writes an unfinished file or directory any more. Files are locked a moment after they
    are created."""
    if work.is_dir():
        return not is_locked(lock_of(work.parent / work.name[1 : work.name.rindex(UNFINISHED)]))
    try:
        # A time of the future is left over from a clock that was set back.
        return abs(time.time() - work.stat().st_mtime) > JUST_CREATED and not is_locked(work)
    except OSError:
        return False


def already_exists(target: Path) -> PorismError:
    """Return the error for a target that must not exist yet."""
    return PorismError("already exists", where=str(target), fix=f"remove it (rm -r {target}) or choose another name")


def disk_error(error: OSError, path: Path) -> PorismError:
    """Turn an error of the operating system into a PorismError with a remedy."""
    return PorismError(
        f"cannot be written: {error.strerror or error}", where=str(path), fix="free disk space or choose another place"
    )


def sync_folder(folder: Path) -> None:
    """Wait until the names of the files in a folder are on disk, where the system opens folders."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest_file(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, read in blocks."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
