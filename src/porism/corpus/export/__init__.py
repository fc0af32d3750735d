"""Exports of a collection: the lab's files, stand-off annotations, JSON lines, Parquet, TREC text, pages."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from porism.corpus.store.collection import Collection
from porism.files import atomic_directory

# Each format is a module with a function `export(collection, folder)`.
FORMATS = {
    "lab": "the lab's files: Posts and the other XML files, three folders of formula tables, visual ids",
    "annotations": "texts, and formulas as stand-off annotations with character offsets",
    "jsonl": "posts and formulas as JSON lines",
    "parquet": "posts, comments and formulas as Parquet",
    "trec": "posts as TREC text",
    "pages": "a static HTML page for each thread",
}


def export(collection: Collection, target: str | Path, form: str) -> None:
    """Write a collection in a format into a new folder, completely or not at all."""
    write: Callable[[Collection, Path], None] = import_module(f"porism.corpus.export.{form}").export
    with atomic_directory(target) as folder:
        write(collection, folder)
