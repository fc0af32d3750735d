"""A collection as a worker process sees it: opened once in each."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from porism.corpus.store.collection import Collection


@lru_cache(1)
def opened(path: Path, digest: str) -> Collection:
    """The collection of this digest at a path; the one asked for last stays open."""
    return Collection.open(path)
