"""One generation of a collection, opened: its manifest, the terms, and which version of each document it has.

A reader who follows keeps what it has, and reads the commits since then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import cbor2
import numpy as np
import numpy.typing as npt

from porism.store.opensearch.files import table_folder
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.places import Place
from porism.store.opensearch.schema import KINDS, Kind, commit_key, document_id
from porism.store.opensearch.tables import Counted, SymbolChange, Tables, TermChange

GONE = -1
TOGETHER = 50  # commits in a request


class Commit(NamedTuple):
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
    def unpack(cls, data: bytes) -> Commit:
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

    def is_changed(self, key: Any) -> bool:
        """Return whether a commit wrote or deleted a document."""
        return key in self._of

    def id(self, key: Any) -> str:
        """Return the id of the document of a key; "" for one that was deleted."""
        version = self._of.get(key, 0)
        return "" if version == GONE else document_id(key, version)


class Generation(NamedTuple):
    """A generation: where it is, its manifest, terms, and versions of documents."""

    place: Place
    manifest: StoreManifest
    tables: Tables
    versions: Mapping[Kind, Versions]

    @classmethod
    def open(cls, place: Place, manifest: StoreManifest, before: Generation | None = None) -> Generation:
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
                commit = Commit.unpack(found["fields"]["data"][0])
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
