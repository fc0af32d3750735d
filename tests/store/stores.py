"""Stores for tests: an embedded one without posts, and one in memory with the sample."""

from __future__ import annotations

from pathlib import Path

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost
from porism.corpus.store.collection import Collection
from porism.store.embedded.build import build_index
from porism.store.embedded.store import EmbeddedStore
from porism.store.memory.store import MemoryStore, RecordsSource

SAMPLE = Path(__file__).resolve().parents[2] / "sample"
FIRST = RawPost(1, "question", None, "First", "<p>A post that is deleted.</p>", "html")


def empty_embedded_store(folder: Path) -> EmbeddedStore:
    """Return an embedded store without posts: an index of one post, which is deleted."""
    build([RecordsSource([FIRST], Path("site"))], folder / "collection", jobs=1)
    with Collection.open(folder / "collection") as collection:
        build_index(collection, folder / "index")
    store = EmbeddedStore(folder / "index")
    with store.writer() as writer:
        writer.delete([FIRST.id])
        writer.commit()
    return store


def sample_in_memory() -> MemoryStore:
    """Return the sample in memory."""
    source = open_source(SAMPLE / "dump")
    return MemoryStore.of((record for part in source.parts() for record in part.read()), "sample")
