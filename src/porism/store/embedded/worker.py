"""The collection in a worker process, which opens it once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from porism.corpus.store.collection import Collection


@lru_cache(1)
def open_in_worker(path: Path, digest: str) -> Collection:
    """Open a collection, or return it if it is open already. The digest distinguishes collections that had the same path."""
    return Collection.open(path)
