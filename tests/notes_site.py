"""A small index of one note, for tests of servers that need no more."""

from __future__ import annotations

from pathlib import Path

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.store.embedded.build import build_index
from porism.store.protocols import IndexOptions


def make_notes_index(folder: Path, text: str = "# Cubes\n\nThe sum $x^3+y^3$.\n") -> Path:
    """Make a folder `notes` with one note, its collection and its index; return the index."""
    (folder / "notes").mkdir()
    (folder / "notes" / "one.md").write_text(text, "utf-8")
    collection = build([open_source(folder / "notes", "")], folder / "collection", jobs=1)
    build_index(collection, folder / "index", IndexOptions(vectors=False))
    return folder / "index"
