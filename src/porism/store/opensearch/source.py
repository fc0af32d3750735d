"""The embedded index that is copied into a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.store.collection import Collection
from porism.store.embedded.build import build_index
from porism.store.embedded.formulas.store import EmbeddedFormulas
from porism.store.embedded.manifest import RANKING, SEARCH, Manifest, read_manifest
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.writer import open_collection_of
from porism.store.protocols import IndexOptions


class Source(NamedTuple):
    """An embedded index with a single segment."""

    path: Path
    manifest: Manifest
    collection: Collection
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas

    @classmethod
    def open(cls, path: Path, work: Path) -> Source:
        """Open an index. One that has changed since it was built is built anew into the folder `work`, so that it has
        one segment."""
        manifest = read_manifest(path, SEARCH)
        if len(manifest.segments) > 1 or manifest.segments[0].deletions or manifest.segments[0].name != ".":
            links, vectors = (bool(manifest.options.get(name, True)) for name in ("links", "vectors"))
            with open_collection_of(path, manifest) as collection:
                build_index(collection, work / "index", IndexOptions(links=links, vectors=vectors))
            path = work / "index"
            kept = {name: value for name, value in manifest.options.items() if name in (RANKING, "log", "log_sequence")}
            built = read_manifest(path, SEARCH)
            return cls._open(path, built, {**built.options, **kept})
        return cls._open(path, manifest, manifest.options)

    @classmethod
    def _open(cls, path: Path, manifest: Manifest, options: Mapping[str, Any]) -> Source:
        collection = open_collection_of(path, manifest)
        vectors = bool(manifest.options.get("vectors", True))
        posts = EmbeddedPosts(path / "posts", vectors=vectors)
        return cls(
            path, replace(manifest, options=options), collection, posts, EmbeddedFormulas.open(path / "formulas")
        )
