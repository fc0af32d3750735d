"""Pictures of documents: files of the folder that a document shows are kept with the collection, under the digest of
their content.

Only files inside the folder are read, without following symbolic links, and only pictures by their content: PNG, JPEG,
GIF, WebP, and SVG without scripts and without references to other files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from porism.corpus.sources.raw import Dropped, RawImage
from porism.files import read_regular
from porism.limits import limit
from porism.text.markup import unescape

LARGEST_IMAGE = 5_000_000
MOST_BYTES = 1_000_000_000  # of all pictures of one folder
FOLDER = "images"  # a body shows the picture "images/<digest>.png"
# Tried in this order where LaTeX names a file without one.
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")
SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpg"),
    (re.compile(rb"GIF8[79]a"), "gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "webp"),
)
# What was read is never read again in another way: comments could be divided in as many ways as there are numbers.
SVG = re.compile(
    rb"\s*+(?:<\?xml[^<>]*+>\s*+)?(?:<!--(?:[^-]|-(?!->))*+-->\s*+)*+(?:<!DOCTYPE\s++svg[^<>\[]*+>\s*+)?<svg[\s>]"
)
# What an SVG must not have: scripts, handlers of events, foreign content, entities, and addresses other than those of
# its own elements.
UNSAFE = re.compile(
    rb"<\s*+(?:\w+:)?(?:script|foreignObject|iframe|object|embed|handler|a)\b"
    rb"|\son\w++\s*+=|<!ENTITY|<\?xml-stylesheet|@import"
    rb"|(?:href|src)\s*+=\s*+[\"']?+\s*+(?!#|data:image/(?:png|jpe?g|gif|webp);)[^\s\"'>]|url\(\s*+[\"']?+(?!#)",
    re.IGNORECASE,
)
PICTURE = re.compile(r'<img\b[^<>]*?\ssrc="([^"<>]*)"')
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|#")


class Illustrated(NamedTuple):
    """A body whose pictures are those of the collection, and the records of the pictures that are new or left out."""

    body: str
    records: list[RawImage | Dropped]


class ImageReader:
    """Reads the pictures that the documents of a folder show; each picture once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: set[str] = set()
        self._bytes = 0

    def illustrate(self, body: str, file: Path) -> Illustrated:
        """Replace the relative addresses of pictures in a body by those of the collection."""
        records: list[RawImage | Dropped] = []

        def put(found: re.Match[str]) -> str:
            address = unescape(found[1])
            if not address or ADDRESS.match(address):
                return found[0]
            try:
                image = self._read(address, file)
            except OSError as error:
                records.append(Dropped("pictures", error.strerror or "cannot be read", f"{file}: {address[:200]}"))
                return found[0]
            if image.name not in self._kept:
                self._kept.add(image.name)
                self._bytes += len(image.data)
                records.append(image)
            return f'{found[0][: found.start(1) - found.start()]}{FOLDER}/{image.name}"'

        return Illustrated(PICTURE.sub(put, body), records)

    def _read(self, address: str, file: Path) -> RawImage:
        """Return the picture at an address relative to a document; an OSError says why there is none."""
        path = unquote(re.split(r"[?#]", address, maxsplit=1)[0])
        for candidate in self._candidates(path, file):
            content = read_regular(candidate, LARGEST_IMAGE, limit("document_links"))
            kind = image_kind(content)
            if not kind:
                raise OSError(None, "not a picture that pages can show")
            if self._bytes + len(content) > MOST_BYTES:
                raise OSError(None, f"more than {MOST_BYTES:,} bytes of pictures")
            return RawImage(f"{hashlib.sha256(content).hexdigest()}.{kind}", content)
        raise OSError(None, "no such file in the folder")

    def _candidates(self, path: str, file: Path) -> Iterator[Path]:
        """Yield the files that an address can mean: below the folder, not hidden, behind no symbolic link."""
        root = Path(os.path.realpath(self.folder))
        inside = os.path.normpath(PurePosixPath(file.relative_to(self.folder).parent) / path)
        if "\0" in path or any(part.startswith(".") for part in Path(inside).parts if part != "."):
            return
        for suffix in ("", *SUFFIXES) if not Path(inside).suffix else ("",):
            place = root / f"{inside}{suffix}"
            if os.path.realpath(place) == str(place) and place.is_file():
                yield place


def image_kind(content: bytes) -> str:
    """Return png, jpg, gif, webp or (if it is safe) svg by the content of a file; nothing for any other."""
    for signature, kind in SIGNATURES:
        if signature.match(content):
            return kind
    return "svg" if SVG.match(content) and not UNSAFE.search(content) else ""
