"""Copy a collection from a cluster back into a folder."""

from __future__ import annotations

from pathlib import Path

from porism.corpus.store.collection import Collection
from porism.progress import Progress
from porism.store.embedded.build import build_index
from porism.store.embedded.manifest import SEARCH, read_manifest, save_manifest
from porism.store.embedded.store import EmbeddedStore
from porism.store.opensearch.restore import write_collection
from porism.store.opensearch.store import ClusterStore
from porism.store.protocols import IndexOptions


def copy_to_folder(address: str, folder: Path, progress: Progress | None = None) -> None:
    """Copy a collection into a new folder, with the collection inside. Its terms are those of the posts, and what is
    learned is learned anew, as by an index from scratch."""
    snapshot = ClusterStore.open(address).snapshot()
    manifest = snapshot.generation.manifest
    place = folder.with_name(f"{folder.name}.collection")
    write_collection(snapshot.content, place, progress)
    with Collection.open(place, "none") as collection:
        build_index(collection, folder, IndexOptions(links=manifest.links, vectors=manifest.vectors), progress=progress)
    store = EmbeddedStore(folder)
    store.record_ranking(manifest.ranking)
    if manifest.log:
        save_manifest(folder, read_manifest(folder, SEARCH).at_position(manifest.log_position))
