"""The manifest of an index: its kind, format, the digest of its collection, options, and its files with sizes and
checksums.

The manifest is written last, so a directory without one is unfinished. Opening an index checks kind, format,
collection, the manifest's own checksum and the size of every file; `porism.integrity` verifies the checksums of the
files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from porism.errors import PorismError
from porism.files import atomic_file
from porism.hashing import fingerprint
from porism.integrity import WRONG, DamageError, FileChecksum, describe_file, read_sealed, seal
from porism.store.protocols import LogPosition

FORMAT = 7
NAME = "manifest.json"
RANKING = "ranking"  # the option with the factors of ranking that the collection chose
SEARCH = "search"  # the kind of an index of posts and formulas
# Everything that shapes the terms of a post, a formula or a query: modules and tables, and the libraries they call.
SHAPES_TERMS = (  # all of `text` but typed mathematics and pages, which make no terms
    *("porism.formula", "porism.analysis", "porism.text.find", "porism.text.markup", "porism.text.read"),
    *("porism.text.segment", "porism.text.words"),
)
LIBRARIES = ("math-core", "latex2mathml", "PyStemmer", "xxhash")
REBUILD = "build the index again: porism index COLLECTION -o {}"


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment of an index: its folder, relative to the index, and the file of its deletions, if any."""

    name: str
    deletions: str = ""


@dataclass(frozen=True, slots=True)
class Retired:
    """A folder or file that the index no longer uses, and when it was replaced: seconds since the machine started,
    which no clock changes.

    What was replaced before the last start (or by an earlier version, which stored seconds since 1970) has no readers
    any more."""

    name: str
    time: float

    def is_young(self, now: float, grace: float) -> bool:
        """Return whether it was replaced less than `grace` seconds before `now`, since this start of the machine."""
        return 0 <= now - self.time < grace


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index is, and which files it has. The manifest of a whole index names its segments, too."""

    kind: str
    collection: str
    format: int = FORMAT
    terms: str = ""  # fingerprint of everything that shapes its terms
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, FileChecksum] = field(default_factory=dict)
    generation: int = 0  # grows with every change
    segments: tuple[SegmentEntry, ...] = ()
    retired: tuple[Retired, ...] = ()

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the index has; changes and position are committed together."""
        return LogPosition(str(self.options.get("log", "")), int(self.options.get("log_sequence", 0)))

    def at_position(self, position: LogPosition) -> Manifest:
        """Return the manifest with another position of the change log."""
        return replace(self, options={**self.options, "log": position.log, "log_sequence": position.sequence})


def write_manifest(
    directory: Path,
    kind: str,
    collection: str,
    *,
    options: Mapping[str, str | int | float | bool] | None = None,
    counts: Mapping[str, int] | None = None,
    segments: tuple[SegmentEntry, ...] = (),
) -> Manifest:
    """Write the manifest of the files in a directory: the last step of building an index."""
    files = {
        str(path.relative_to(directory)): describe_file(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path != directory / NAME and not path.name.endswith(".lock")
    }
    shaped = (terms_fingerprint(), dict(options or {}), dict(counts or {}), files)
    manifest = Manifest(kind, collection, FORMAT, *shaped, segments=segments)
    save_manifest(directory, manifest)
    return manifest


def save_manifest(directory: Path, manifest: Manifest) -> None:
    """Write a manifest in place of the one before: readers see the old one or the new one."""
    with atomic_file(directory / NAME) as out:
        out.write(seal(asdict(manifest)))


def read_manifest(directory: Path, kind: str, *, collection: str | None = None) -> Manifest:
    """Read the manifest of an index, unless it is unfinished, truncated, or of another version, kind or collection."""
    manifest = _parse(directory)
    rebuild = REBUILD.format(directory)
    if manifest.format > FORMAT:
        raise PorismError(
            f"index format {manifest.format} is newer than this version of Porism reads ({FORMAT})",
            where=str(directory),
            fix=f"update Porism, or {rebuild}",
        )
    if manifest.format < FORMAT or manifest.terms != terms_fingerprint():
        raise PorismError("was built by another version of Porism", where=str(directory), fix=rebuild)
    if manifest.kind != kind:
        raise PorismError(f"an index of {manifest.kind}, not of {kind}", where=str(directory), fix=rebuild)
    if collection is not None and manifest.collection != collection:
        raise PorismError(
            f"was built from another collection ({manifest.collection[:12]}, not {collection[:12]})",
            where=str(directory),
            fix=rebuild,
        )
    for name, part in manifest.files.items():
        path = directory / name
        size = path.stat().st_size if path.is_file() else None
        if size != part.size:
            fact = "is missing" if size is None else f"has {size} bytes and should have {part.size}"
            raise DamageError(f"{name} {fact}", where=str(directory), fix=rebuild)
    return manifest


def terms_fingerprint() -> str:
    """Return the fingerprint of what makes terms; with another one, a search would silently miss documents."""
    return fingerprint(SHAPES_TERMS, LIBRARIES)


def _parse(directory: Path) -> Manifest:
    path = directory / NAME
    rebuild = REBUILD.format(directory)
    if not directory.exists():
        fix = f"check the path, or build the index: porism index COLLECTION -o {directory}"
        raise PorismError("no such folder", where=str(directory), fix=fix)
    if not path.is_file():
        raise PorismError("not a Porism index (no manifest.json)", where=str(directory), fix=rebuild)
    raw, intact = read_sealed(path, rebuild)
    try:
        if raw["kind"] == "collection":
            fix = f"index it: porism index {directory} -o {directory}-index"
            raise PorismError("a collection, not an index", where=str(directory), fix=fix)
        if raw["format"] != FORMAT:  # other formats may have other keys
            return Manifest(str(raw["kind"]), str(raw["collection"]), int(raw["format"]))
        if not intact:
            raise DamageError(WRONG, where=str(path), fix=rebuild)
        files = {name: FileChecksum(**part) for name, part in raw.pop("files").items()}
        segments = tuple(SegmentEntry(**entry) for entry in raw.pop("segments"))
        retired = tuple(Retired(**entry) for entry in raw.pop("retired"))
        return Manifest(**raw, files=files, segments=segments, retired=retired)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamageError("is not a manifest that can be read", where=str(path), fix=rebuild) from None
