"""What is done with whole indexes: build them, and add vectors of a model. Here the address says which store does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.parallel import Jobs
from porism.progress import Progress

if TYPE_CHECKING:
    from porism.store.embedded.encoded.adding import AddedVectors
    from porism.store.protocols import Encoder, StoreStatus


def _folder(address: str | Path, what: str) -> Path:
    """Return the folder of an address; other stores refuse in one sentence."""
    if "://" in str(address):
        fix = "name a folder, and copy it to the other store afterwards"
        raise PorismError(f"{what} works on the files of a folder only", where=str(address), fix=fix)
    return Path(address)


def is_index(address: str | Path) -> bool:
    """Return whether there is a finished index at an address."""
    from porism.store.embedded.manifest import NAME

    return (_folder(address, "this") / NAME).is_file()


def build_index(
    content: Content,
    address: str | Path,
    *,
    links: bool = True,
    vectors: bool = True,
    jobs: Jobs = 0,
    progress: Progress | None = None,
    finish: Callable[[Path], object] = lambda work: None,
) -> StoreStatus:
    """Index a collection into a new store, and return what it is; see `porism.store.embedded.build.build_index`."""
    from porism.store.embedded import build
    from porism.store.embedded.store import EmbeddedStore

    place = _folder(address, "building an index")
    build.build_index(content, place, links=links, vectors=vectors, jobs=jobs, progress=progress, finish=finish)
    return EmbeddedStore(place).status()


def load_encoder(place: str | Path, fields: Sequence[str], length: int) -> Encoder:
    """Load a model that will encode the posts of an index."""
    from porism.store.embedded.encoded.adding import chosen_fields
    from porism.store.embedded.encoded.record import IndexEncoder

    return IndexEncoder.new(place, chosen_fields(fields), length)


def add_vectors(address: str | Path, encoder: Encoder, progress: Progress | None = None) -> AddedVectors:
    """Encode the posts of an index and commit their vectors."""
    from porism.store.embedded.encoded import adding
    from porism.store.embedded.encoded.record import IndexEncoder

    assert isinstance(encoder, IndexEncoder), "load_encoder makes it"
    return adding.add_vectors(_folder(address, "encoding"), encoder, progress)


def remove_vectors(address: str | Path) -> None:
    """Remove the vectors of posts from an index."""
    from porism.store.embedded.encoded import adding

    adding.remove_vectors(_folder(address, "encoding"))
