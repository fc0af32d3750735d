"""One generation of a collection, opened: its manifest, its files on this machine, the terms, and which version of each
document it has.

The term tables are read from the cluster once and then mapped. A reader who follows keeps what it has, and reads the
commits since then.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cbor2
import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.files import disk_error
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.places import ClusterPlace
from porism.store.opensearch.schema import KINDS, Kind, commit_key, document_id, file_key
from porism.store.opensearch.tables import Counted, SymbolChange, Tables, TermChange

FOLDER = "PORISM_CACHE"
KEPT = 2  # builds of a collection whose files are kept
TOGETHER = 8  # blocks of 2 MB in a request


def cache_folder() -> Path:
    """Return the folder of caches: PORISM_CACHE, or that of the user."""
    home = os.environ.get(FOLDER) or os.environ.get("XDG_CACHE_HOME")
    return Path(home) if home else Path.home() / ".cache"


def table_folder(place: ClusterPlace, manifest: StoreManifest) -> Path:
    """Return the folder with the files of a build, read from the cluster if they are not here yet."""
    files = {name: one.digest for name, one in sorted(manifest.files.items())}
    key = hashlib.sha256(repr(files).encode()).hexdigest()[:16]
    root = cache_folder() / "porism" / "stores"
    folder = root / f"{place.name}-{key}"
    try:
        if not folder.is_dir():
            root.mkdir(parents=True, exist_ok=True)
            _remove_old(root, place.name)
            work = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=root))
            try:
                read_files(place, manifest, work)
                work.rename(folder)
            except OSError:
                if not folder.is_dir():  # another process has read them at the same time
                    raise
            finally:
                shutil.rmtree(work, ignore_errors=True)
        os.utime(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
    return folder


def read_files(place: ClusterPlace, manifest: StoreManifest, work: Path) -> None:
    """Read the files of a build into a folder, and compare them with their checksums."""
    index = place.index("rows", manifest.build)
    for name, file in manifest.files.items():
        keys = [file_key(name, block) for block in range(file.blocks)]
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with path.open("wb") as out:
            for at in range(0, len(keys), TOGETHER):
                for found in place.cluster.mget(index, keys[at : at + TOGETHER], ["data"]):
                    data = found["fields"]["data"][0] if found.get("found") else b""
                    digest.update(data)
                    out.write(data)
        if digest.hexdigest() != file.digest:
            fix = f"copy the collection again: porism store copy FOLDER {place.cluster.address}"
            raise PorismError(f"the file {name} is damaged in the cluster", where=str(place.cluster.address), fix=fix)


def _remove_old(root: Path, name: str) -> None:
    """Remove the files of older builds. Who has mapped them goes on reading them."""
    folders = sorted(root.glob(f"{name}-{'[0-9a-f]' * 16}"), key=lambda path: path.stat().st_mtime)
    for folder in folders[: max(0, len(folders) - KEPT + 1)]:
        shutil.rmtree(folder, ignore_errors=True)


GONE = -1
TOGETHER = 50  # commits in a request


class CommitRecord(NamedTuple):
    """What a commit changed: documents that it replaced or deleted and those that it wrote, by their keys, and terms
    and symbols."""

    generation: int
    gone: Mapping[Kind, Sequence[Any]]
    put: Mapping[Kind, Sequence[Any]]
    terms: Mapping[str, Mapping[str, TermChange]]
    symbols: SymbolChange

    def pack(self) -> bytes:
        """Return the commit as bytes."""
        terms = {
            group: {
                family: [one.hashes.tobytes(), list(one.texts), _packed(one.documents)] for family, one in own.items()
            }
            for group, own in self.terms.items()
        }
        labels, keys, new, gone = self.symbols
        symbols = [
            {name: list(counts) for name, counts in labels.items()},
            _packed(keys),
            new.tobytes(),
            gone.tobytes(),
        ]
        return cbor2.dumps([self.generation, dict(self.gone), dict(self.put), terms, symbols])

    @classmethod
    def unpack(cls, data: bytes) -> CommitRecord:
        """Return the commit of bytes."""
        generation, gone, put, terms, (labels, keys, new, old) = cbor2.loads(data)
        changes = {
            group: {
                family: TermChange(np.frombuffer(hashes, np.uint64), texts, _unpacked(documents))
                for family, (hashes, texts, documents) in own.items()
            }
            for group, own in terms.items()
        }
        pairs = {name: (counts[0], counts[1]) for name, counts in labels.items()}
        return cls(generation, gone, put, changes, SymbolChange(pairs, _unpacked(keys), _ints(new), _ints(old)))


def _ints(data: bytes) -> npt.NDArray[np.int64]:
    return np.frombuffer(data, np.int64)


def _packed(counted: Counted) -> list[bytes]:
    return [np.asarray(one, np.int64).tobytes() for one in counted]


def _unpacked(data: Sequence[bytes]) -> Counted:
    return Counted(*map(_ints, data))


class Versions:
    """Which version of each document of an index a generation has, and the ids of those that it no longer has."""

    def __init__(self) -> None:
        self._of: dict[Any, int] = {}
        self.dead: list[str] = []

    def changed(self, gone: Iterable[Any], put: Iterable[Any], generation: int) -> Versions:
        """Return the versions after a commit."""
        made = Versions()
        made._of, made.dead = dict(self._of), list(self.dead)
        for key in gone:
            made.dead.append(document_id(key, made._of.get(key, 0)))
            made._of[key] = GONE
        for key in put:
            made._of[key] = generation
        return made

    def all(self, keys: Sequence[Any]) -> Sequence[Any]:
        """Return what distinguishes the versions of documents: keys, with the generation where a commit wrote it; None
        for one that was deleted."""
        if not self._of:
            return keys
        found = ((key, self._of.get(key, 0)) for key in keys)
        return [None if version == GONE else (key, version) if version else key for key, version in found]

    @property
    def changed_keys(self) -> Collection[Any]:
        """The keys of documents that a commit wrote or deleted."""
        return self._of.keys()

    def id(self, key: Any) -> str:
        """Return the id of the document of a key; "" for one that was deleted."""
        version = self._of.get(key, 0)
        return "" if version == GONE else document_id(key, version)


class Generation(NamedTuple):
    """A generation: where it is, its manifest, terms, and versions of documents."""

    place: ClusterPlace
    manifest: StoreManifest
    tables: Tables
    versions: Mapping[Kind, Versions]

    @classmethod
    def open(cls, place: ClusterPlace, manifest: StoreManifest, before: Generation | None = None) -> Generation:
        """Open a generation, given one that was opened before."""
        if before is not None and before.manifest.build == manifest.build:
            known = before.manifest.commits
            if manifest.commits[: len(known)] == known:
                return before._followed(manifest, manifest.commits[len(known) :])
        first = cls(place, manifest, Tables.open(table_folder(place, manifest)), {kind: Versions() for kind in KINDS})
        return first._followed(manifest, manifest.commits)

    def _followed(self, manifest: StoreManifest, commits: Sequence[int]) -> Generation:
        tables, versions = self.tables, dict(self.versions)
        for at in range(0, len(commits), TOGETHER):
            keys = [commit_key(number) for number in commits[at : at + TOGETHER]]
            for found in self.place.cluster.mget(self.place.index("rows", manifest.build), keys, ["data"]):
                commit = CommitRecord.unpack(found["fields"]["data"][0])
                tables = tables.changed(commit.terms, commit.symbols)
                versions = {
                    kind: own.changed(commit.gone.get(kind, ()), commit.put.get(kind, ()), commit.generation)
                    for kind, own in versions.items()
                }
        return Generation(self.place, manifest, tables, versions)

    def index_name(self, kind: Kind) -> str:
        """Return the name of an index."""
        return self.place.index(kind, self.manifest.build)

    def hidden(self, kind: Kind) -> list[dict[str, Any]]:
        """Return the queries of documents that this generation does not have: later ones, and those that were replaced
        or deleted."""
        found: list[dict[str, Any]] = [{"range": {"from": {"gt": self.manifest.generation}}}]
        if dead := self.versions[kind].dead:
            found.append({"ids": {"values": dead}})
        return found
