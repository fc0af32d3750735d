"""A store in an OpenSearch cluster."""

from __future__ import annotations

from dataclasses import replace

from porism.integrity import StoredFile, Verification
from porism.progress import Progress
from porism.store.opensearch.address import ClusterAddress
from porism.store.opensearch.cache import Documents, new_caches
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.generation import Generation
from porism.store.opensearch.places import Place
from porism.store.opensearch.snapshot import ClusterSnapshot
from porism.store.protocols import StoreStatus


class ClusterStore:
    """A collection in a cluster. Threads share it; what it has read is kept from generation to generation."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._documents = Documents(new_caches())
        self._generation: Generation | None = None

    @classmethod
    def open(cls, address: str) -> ClusterStore:
        """Open the store at an address. The cluster is asked when it is used."""
        parsed = ClusterAddress.parse(address)
        return cls(Place(Cluster(parsed), parsed.name))

    @property
    def address(self) -> str:
        """The address of the collection."""
        return str(self.place.cluster.address)

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
        """Return nothing yet."""
        return []

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Do nothing yet."""
        return False


UNUSED = replace
