"""A store in an OpenSearch cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from porism.corpus.store.collection import Collection
from porism.integrity import StoredFile, Verification
from porism.progress import Progress, Silent
from porism.store.embedded.build import build_index
from porism.store.opensearch.address import ClusterAddress
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.folders import IndexSource, write_collection
from porism.store.opensearch.generation import Generation
from porism.store.opensearch.lease import Lease
from porism.store.opensearch.load import Loader
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.places import ClusterPlace
from porism.store.opensearch.reading import Documents
from porism.store.opensearch.snapshot import ClusterSnapshot
from porism.store.opensearch.writer import ClusterWriter
from porism.store.protocols import IndexOptions, StoreStatus

MOST_CHANGED = 0.5  # of the threads of a collection that commits may change before it is built anew
RANKING_WAIT = 60.0  # seconds
MOST_COMMITS = 1000  # that a new reader has to read


class ClusterStore:
    """A collection in a cluster. Threads share it; what it has read is kept from generation to generation."""

    def __init__(self, place: ClusterPlace) -> None:
        self.place = place
        self._documents = Documents()
        self._generation: Generation | None = None

    @classmethod
    def open(cls, address: str) -> ClusterStore:
        """Open the store at an address. The cluster is asked when it is used."""
        parsed = ClusterAddress.parse(address)
        return cls(ClusterPlace(Cluster(parsed), parsed.name))

    @property
    def address(self) -> str:
        """The address of the collection."""
        return str(self.place.cluster.address)

    def forget(self) -> None:
        """Forget the documents that were read."""
        self._documents.forget()

    def generation(self) -> Generation:
        """Open the newest generation."""
        manifest = self.place.manifest()
        if self._generation is None or self._generation.manifest != manifest:
            self._generation = Generation.open(self.place, manifest, self._generation)
        return self._generation

    def snapshot(self) -> ClusterSnapshot:
        """Open the newest generation."""
        return ClusterSnapshot(self.address, self.generation(), self._documents)

    def status(self) -> StoreStatus:
        """Return what the newest generation is, by its manifest."""
        manifest = self.place.manifest()
        return StoreStatus(
            manifest.generation,
            str(manifest.facts["digest"]),
            1 + len(manifest.commits),
            self.place.bytes(manifest.build),
            manifest.committed,
            manifest.log_position,
            {name: int(manifest.facts["counts"][name]) for name in ("posts", "formulas", "visuals")},
            ranking=manifest.ranking,
            format=f"format {manifest.format}",
            settings={"links": manifest.links, "vectors": manifest.vectors},
        )

    def version(self) -> object:
        """Return the newest build and the version of its manifest."""
        return self.place.version()

    def files(self) -> list[StoredFile]:
        """Return no files: they are those of the cluster."""
        return []

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Read all records and files, and count the documents."""
        from porism.store.opensearch.verify import verify_collection

        return [verify_collection(self.snapshot(), progress)]

    def writer(self, source: str = "update", wait: float = 0.0) -> ClusterWriter:
        """Return a writer."""
        return ClusterWriter(self, source, wait)

    def record_ranking(self, text: str) -> None:
        """Store the factors of ranking that the collection chose. A writer that is at work ends its commit first."""
        with Lease(self.place).held(RANKING_WAIT):
            stored = self.place.stored_manifest()
            if stored.manifest.ranking != text:
                after = replace(stored.manifest, ranking=text, generation=stored.manifest.generation + 1)
                self.place.put_manifest(after, stored)

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Build the collection anew after many changes, or if everything is asked for: its terms are then normalised by
        the present mean lengths, and what is learned is learned anew."""
        manifest = self.place.manifest()
        if not manifest.commits or not manifest.counts["thread"] or not (everything or needs_build(manifest)):
            return False
        rebuild(self, progress)
        return True


def needs_build(manifest: StoreManifest) -> bool:
    """Return whether a collection has changed so much that it should be built anew."""
    return manifest.changed > MOST_CHANGED * manifest.counts["thread"] or len(manifest.commits) > MOST_COMMITS


def rebuild(store: ClusterStore, progress: Progress | None = None) -> None:
    """Build a collection anew from its content, as another build, which the aliases name then."""
    with Lease(store.place).held(0.0), TemporaryDirectory(prefix="porism-rebuild-") as work:
        manifest, folder = store.place.manifest(), Path(work)
        write_collection(store.snapshot().content, folder / "collection", progress)
        with Collection.open(folder / "collection", "none") as collection:
            build_index(collection, folder / "index", IndexOptions(links=manifest.links, vectors=manifest.vectors))
        source = IndexSource.open(folder / "index", folder / "single")
        Loader(store.place, source, progress or Silent(), name=manifest.name, before=manifest).load()
