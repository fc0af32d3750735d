"""64-bit hashes of texts, and fingerprints of code. They are the same in every process, Python and machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

from xxhash import xxh3_64_digest

from porism.errors import PorismError

_FINGERPRINTED = (".py", ".tsv", ".txt", ".toml", ".json")
# Strings and comments of Python source. Strings must be read too, because they may contain a `#`.
_STRING_OR_COMMENT = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|'
    r"\'\'\'[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*\'\'\'|"
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'
    r"'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"
    r"\#[^\n]*",
    re.DOTALL,
)
# The end of a statement: no bracket, comma or operator follows on the next line.
_ENDS = re.compile(r"[ \t]*(?:\n\s*(?![\s,)\]}+%]|\.\w)|\Z)")


def digest64(text: str) -> bytes:
    """Return the 64-bit hash of a text (XXH3 of its UTF-8 bytes) as 8 bytes."""
    return xxh3_64_digest(text.encode("utf-8", "surrogatepass"))


def combine(digests: Iterable[bytes]) -> bytes:
    """Return one 8-byte hash of a sequence of digests. The order matters; sort the digests where it must not."""
    return xxh3_64_digest(b"".join(digests))


def hash64(text: str) -> int:
    """Return the 64-bit hash of a text as a signed number, which SQLite and numpy's `int64` can store."""
    return int.from_bytes(digest64(text), "big", signed=True)


@lru_cache(maxsize=64)
def fingerprint(modules: tuple[str, ...], libraries: tuple[str, ...] = ()) -> str:
    """Return a digest of the source and tables of modules and packages, and of the versions of libraries.

    Everything in a package counts, also its sub-packages. Comments, docstrings and blank lines do not count, so that
    rewording keeps the fingerprint. The source files count also when their compiled form runs."""
    from importlib.metadata import version  # slow to import, and most commands need no fingerprint

    digest = blake2b(digest_size=16)
    for module in modules:
        for name, text in _sources(module):
            digest.update(f"{name}\0{code_only(text) if name.endswith('.py') else text}\0".encode())
    for library in libraries:
        digest.update(f"{library}\0{version(library)}\0".encode())
    return digest.hexdigest()


def code_only(source: str) -> str:
    """Remove comments, docstrings, blank lines and trailing spaces from Python source."""
    pieces: list[str] = []
    last = 0
    for found in _STRING_OR_COMMENT.finditer(source):
        pieces.append(source[last : found.start()])
        if found[0][0] != "#":
            if _begins_block(pieces) and _ENDS.match(source, found.end()):
                pieces[-1] = pieces[-1].removesuffix("r")
            else:
                pieces.append(found[0])
        last = found.end()
    pieces.append(source[last:])
    lines = [line.rstrip() for line in "".join(pieces).splitlines()]
    return "\n".join([line for line in lines if line])


def _begins_block(pieces: list[str]) -> bool:
    """Check whether the code so far is empty, or ends with a colon and a line break: a docstring may follow."""
    before, _, indent = pieces[-1].rpartition("\n")
    if indent.strip() not in ("", "r"):
        return False
    previous = next((piece.rstrip() for piece in (before, *reversed(pieces[:-1])) if piece.strip()), "")
    return not previous or previous.endswith(":")


def _sources(module: str) -> list[tuple[str, str]]:
    """Return name and text of every source file and table of a module or package, sorted by name."""
    package, _, name = module.rpartition(".")
    single = files(package).joinpath(f"{name}.py") if package else None
    found = sorted(
        _walk(single, f"{module}.py") if single is not None and single.is_file() else _walk(files(module), module)
    )
    if not any(path.endswith(".py") for path, _ in found):
        raise PorismError(f"the source of {module} is missing", fix="install porism again, with its .py files")
    return found


def _walk(entry: Traversable, name: str) -> Iterator[tuple[str, str]]:
    if entry.is_file():
        yield name, entry.read_text(encoding="utf-8")
        return
    for child in entry.iterdir():
        if child.name.endswith(_FINGERPRINTED) or (child.is_dir() and child.name != "__pycache__"):
            yield from _walk(child, f"{name}/{child.name}")
