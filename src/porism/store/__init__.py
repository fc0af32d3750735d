"""The one door to the data: a store is opened by an address and gives snapshots, which search and pages read, and a writer."""

from __future__ import annotations

from pathlib import Path

from porism.corpus.content import Content
from porism.integrity import Verify


def open_content(address: str | Path, verify: Verify = "quick") -> Content:
    """Open what people read of a collection: by the folder of the collection itself, or of an index of it."""
    from porism.corpus.store.collection import Collection

    return Collection.open(address, verify)
