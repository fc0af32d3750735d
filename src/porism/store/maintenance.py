"""What is done with whole indexes: build, copy, add vectors of a model. The address says which store does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.parallel import Jobs
from porism.progress import Progress
from porism.store import is_folder, open_store
from porism.store.protocols import WITH_ALL, IndexOptions

if TYPE_CHECKING:
    from porism.store.embedded.encoding import AddedVectors
    from porism.store.opensearch.earlier import Repository
    from porism.store.opensearch.places import ClusterPlace
    from porism.store.protocols import Encoder, StoreStatus


def _folder(address: str | Path, what: str) -> Path:
    """Return the folder of an address; other stores refuse in one sentence."""
    if "://" in str(address):
        fix = "name a folder, and copy it to the other store afterwards"
        raise PorismError(f"{what} works on the files of a folder only", where=str(address), fix=fix)
    return Path(address)


def is_index(address: str | Path) -> bool:
    """Return whether there is a finished index at an address."""
    if not is_folder(address):
        return _cluster_place(str(address)).current() is not None
    from porism.store.embedded.manifest import NAME

    return (Path(address) / NAME).is_file()


def build_index(
    content: Content,
    address: str | Path,
    options: IndexOptions = WITH_ALL,
    *,
    jobs: Jobs = 0,
    progress: Progress | None = None,
    finish: Callable[[Path], object] = lambda work: None,
) -> StoreStatus:
    """Index a collection into a new store, and return what it is; see `porism.store.embedded.build.build_index`.

    For a cluster the index is built in a temporary folder (TMPDIR) first, which takes its size on this machine.
    """
    from porism.store.embedded.build import build_index as build

    with TemporaryDirectory(prefix="porism-index-") as work:
        place = Path(address) if is_folder(address) else Path(work) / "index"
        build(content, place, options, jobs=jobs, progress=progress, finish=finish)
        if not is_folder(address):
            copy_store(place, address, progress)
    return open_store(address).status()


def copy_store(source: str | Path, target: str | Path, progress: Progress | None = None, shards: int = 1) -> None:
    """Copy an index from a folder into a cluster, or back. A copy into a cluster that was killed goes on."""
    if is_folder(source) and not is_folder(target):
        from porism.store.opensearch import load

        load.copy_store(source, str(target), progress, shards)
    elif is_folder(target) and not is_folder(source):
        from porism.store.opensearch import folders, open_cluster

        folders.copy_to_folder(open_cluster(str(source)).snapshot(), Path(target), progress)
    else:
        fix = "name a folder and the address of a cluster, in either order"
        raise PorismError("a copy is made between a folder and a cluster", where=f"{source} {target}", fix=fix)


def verify_copy(address: str, source: str | Path, progress: Progress | None = None) -> list[str]:
    """Compare a copy in a cluster with the index in a folder: counts, format, fingerprint, digest of all records and
    posts. Return differences."""
    from porism.store.opensearch import verify

    return verify.differences(address, source, progress)


def rollback(address: str) -> int:
    """Let a collection in a cluster be its build before the present one; return the number of that build."""
    from porism.store.opensearch import earlier

    return earlier.rollback(_cluster_place(address))


def snapshot_repository(address: str, name: str) -> Repository:
    """Return a snapshot repository of the cluster of a collection."""
    from porism.store.opensearch.earlier import Repository

    return Repository(_cluster_place(address), name)


def _cluster_place(address: str) -> ClusterPlace:
    """Return where a collection is in a cluster."""
    if not address.startswith("opensearch"):
        fix = "name the address of a cluster: opensearch://host:9200/name"
        raise PorismError("no collection in a cluster", where=address, fix=fix)
    from porism.store.opensearch import open_cluster

    return open_cluster(address).place


def load_encoder(place: str | Path, fields: Sequence[str], length: int) -> Encoder:
    """Load a model that will encode the posts of an index."""
    from porism.store.embedded.encoded import IndexEncoder

    return IndexEncoder.new(place, fields, length)


def add_vectors(address: str | Path, encoder: Encoder, progress: Progress | None = None) -> AddedVectors:
    """Encode the posts of an index and commit their vectors."""
    from porism.store.embedded import encoding
    from porism.store.embedded.encoded import IndexEncoder

    assert isinstance(encoder, IndexEncoder), "load_encoder makes it"
    return encoding.add_vectors(_folder(address, "encoding"), encoder, progress)


def remove_vectors(address: str | Path) -> None:
    """Remove the vectors of posts from an index."""
    from porism.store.embedded import encoding

    encoding.remove_vectors(_folder(address, "encoding"))
