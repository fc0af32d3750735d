"""Change a collection in a cluster: put and delete posts, then commit.

A commit adds documents, and then replaces the manifest: a reader sees all of it or nothing. What a writer that died has
left is removed by the next one. Every document is in the translog of its shard's copies before the manifest is, which
names it: an acknowledged commit survives a lost node.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from porism.corpus.sources.raw import Dropped, Source
from porism.corpus.store.collection import Collection
from porism.corpus.update.changes import Changes, PendingChanges
from porism.corpus.update.delta import Delta, DeltaWriter
from porism.corpus.update.sources import compare_source
from porism.errors import PorismError
from porism.store.opensearch.changes import Change, FirstSegment, FirstTerms, NewSegment, Prepared
from porism.store.opensearch.closure import ClosureParts, open_closure
from porism.store.opensearch.documents import binary, line
from porism.store.opensearch.folders import write_collection
from porism.store.opensearch.generation import table_folder
from porism.store.opensearch.lease import Lease
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.places import ClusterPlace, StoredManifest
from porism.store.opensearch.schema import KINDS, commit_key
from porism.store.protocols import LogPosition

if TYPE_CHECKING:
    from porism.store.opensearch.store import ClusterStore

DELTA, CLOSURE = "delta", "closure"


class ClusterWriter(PendingChanges):
    """Changes a collection in a cluster. Use it in a `with` statement; changes that are not committed are dropped."""

    def __init__(self, store: ClusterStore, source: str, wait: float) -> None:
        super().__init__()
        self._store = store
        self._place: ClusterPlace = store.place
        self.source = source
        self._wait = wait
        self._lease = Lease(self._place)

    def __enter__(self) -> ClusterWriter:
        self._lease.acquire(self._wait)
        try:
            self._stored: StoredManifest = self._place.stored_manifest()
        except BaseException:
            self._lease.release()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        self._lease.release()

    @property
    def _manifest(self) -> StoreManifest:
        return self._stored.manifest

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the store has."""
        return self._manifest.log_position

    def compare(self, source: Source, delete_many: bool = False) -> list[Dropped]:
        """Prepare the changes that bring the store to the state of a source; return what of the source is left out. The
        rows of the collection are read into a temporary folder for it."""
        with TemporaryDirectory(prefix="porism-compare-") as work:
            write_collection(self._store.snapshot().content, Path(work) / "collection")
            with Collection.open(Path(work) / "collection", "none") as collection:
                self.changes, self.source, dropped = compare_source(collection, source, delete_many)
        return dropped

    def commit(self, position: LogPosition | None = None) -> Delta:
        """Make the changes visible to snapshots that are opened from now on; return what changed."""
        changes, self.changes = self.changes, Changes()
        with TemporaryDirectory(prefix="porism-commit-") as work:
            delta = self._commit(Path(work), changes, position)
        return delta

    def _commit(self, work: Path, changes: Changes, position: LogPosition | None) -> Delta:
        snapshot = self._store.snapshot()
        if snapshot.generation.manifest != self._manifest:
            raise self._overtaken()
        with open_closure(work / CLOSURE, snapshot.content, self._manifest) as known:
            assert isinstance(known.parts, ClosureParts), "open_closure makes it"
            known.parts.need(changes)
            writer = DeltaWriter(known, changes, self.source)
            delta = writer.apply()
            after = self._manifest if position is None else self._manifest.at_position(position)
            if not delta:
                if position is not None:
                    self._replace(after)
                return delta
            known.parts.titles(one[1] for one in changes.links)  # before its checksum is taken
            writer.write(work / DELTA)
        with Collection.open(work / DELTA, "none") as changed:
            segment = self._segment(work, changed, delta)
            prepared = Change(snapshot, changed, delta, segment).prepare()
            self._send(prepared)
            own = prepared.manifest if position is None else prepared.manifest.at_position(position)
            self._replace(replace(own, committed=time.time()))
        return delta

    def _segment(self, work: Path, changed: Collection, delta: Delta) -> NewSegment | None:
        if not delta.threads and not delta.new_visuals:
            return None
        folder = table_folder(self._place, self._manifest)
        vectors = self._store.snapshot().learned.vectors if self._manifest.vectors else {}
        first = FirstSegment(FirstTerms(folder), vectors)
        return NewSegment.write(work / "segment", changed, delta, self._manifest, first)

    def _send(self, prepared: Prepared) -> None:
        """Write the documents of a commit, and make them visible to searches, which leave them out until the manifest
        names them."""
        cluster, build = self._place.cluster, self._manifest.build
        generation = prepared.manifest.generation
        self._remove_left(generation)
        data = binary(prepared.commit.pack())
        commit = line(commit_key(generation), 0, {"table": "commit", "block": generation, "data": data})
        lines = {**prepared.lines, "rows": [*prepared.lines.get("rows", ()), commit]}
        for kind, own in lines.items():
            self._lease.check()
            cluster.bulk(self._place.index(kind, build), own)
        self._place.refresh(build)

    def _remove_left(self, generation: int) -> None:
        """Remove what a writer that died has left of this generation; its ids might not be those of this commit."""
        place = self._place
        indexes = [place.index(kind, self._manifest.build) for kind in KINDS]
        query = {"query": {"range": {"from": {"gte": generation}}}}
        place.refresh(self._manifest.build)
        while (
            place.cluster.search(",".join(indexes), {**query, "size": 1, "_source": False}).get("hits", {}).get("hits")
        ):
            self._lease.check()
            params = {"refresh": "true", "conflicts": "proceed"}
            place.cluster.request("POST", f"/{','.join(indexes)}/_delete_by_query", query, params)
            place.refresh(self._manifest.build)

    def _replace(self, manifest: StoreManifest) -> None:
        """Replace the manifest: the point from which readers see the change."""
        self._lease.check()
        if not self._place.put_manifest(manifest, self._stored):
            raise self._overtaken()
        self._stored = self._place.stored_manifest()

    def _overtaken(self) -> PorismError:
        fact = "another writer has changed the collection meanwhile"
        return PorismError(fact, where=self._store.address, fix="make the changes again")
