"""An embedded index as the source of a copy, and a collection in a cluster as the source of a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.build.finish import add_indexes
from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import DATABASE, MANIFEST, TABLES
from porism.files import atomic_directory, atomic_file
from porism.integrity import describe_file, seal
from porism.progress import Progress, Silent
from porism.store.embedded.build import build_index
from porism.store.embedded.formulas.store import EmbeddedFormulas
from porism.store.embedded.manifest import RANKING, SEARCH, Manifest, read_manifest, save_manifest
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.writer import open_collection_of
from porism.store.embedded.store import EmbeddedStore
from porism.store.opensearch.content import ClusterContent
from porism.store.opensearch.rows import EXPRESSIONS, FORMULAS, OUTSIDE, TITLES, USERS, VISUALS, Row, Table
from porism.store.opensearch.snapshot import ClusterSnapshot
from porism.store.protocols import IndexOptions


class IndexSource(NamedTuple):
    """An embedded index with a single segment."""

    path: Path
    manifest: Manifest
    collection: Collection
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas

    @classmethod
    def open(cls, path: Path, work: Path) -> IndexSource:
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
    def _open(cls, path: Path, manifest: Manifest, options: Mapping[str, Any]) -> IndexSource:
        collection = open_collection_of(path, manifest)
        vectors = bool(manifest.options.get("vectors", True))
        posts = EmbeddedPosts(path / "posts", vectors=vectors)
        return cls(
            path, replace(manifest, options=options), collection, posts, EmbeddedFormulas.open(path / "formulas")
        )


BLOCKED: tuple[Table, ...] = (EXPRESSIONS, VISUALS, FORMULAS, USERS, TITLES)


def write_collection(content: ClusterContent, folder: Path, progress: Progress | None = None) -> None:
    """Write the content of a collection into a new folder, as a build writes it. Rows are read as streams."""
    report = progress or Silent()
    with atomic_directory(folder) as work:
        store = sqlite3.connect(work / DATABASE, isolation_level=None)
        store.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")
        store.executescript(TABLES)
        with report.stage("posts", content.count("posts")) as advance:
            for post in content.post_rows():
                _insert(store, "posts", [post.rows.post])
                for table in ("comments", "links", "votes"):
                    _insert(store, table, getattr(post.rows, table))
                advance(1)
        for own in BLOCKED:
            with report.stage(own.name) as advance:
                for row in content.rows_of(own):
                    _insert(store, own.name, [row[:OUTSIDE]])
                    advance(1)
        _insert(store, "tags", content.tags())
        _insert(store, "images", content.all_images())
        add_indexes(store)
        store.close()
        files = {DATABASE: asdict(describe_file(work / DATABASE))}
        with atomic_file(work / MANIFEST) as out:
            out.write(seal({**content.facts, "files": files}))


def _insert(store: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    found = [tuple(row) for row in rows]
    if found:
        store.executemany(f"INSERT INTO {table} VALUES({', '.join('?' * len(found[0]))})", found)


def copy_to_folder(snapshot: ClusterSnapshot, folder: Path, progress: Progress | None = None) -> None:
    """Copy a collection into a new folder, with the collection inside. Its terms are those of the posts, and what is
    learned is learned anew, as by an index from scratch."""
    manifest = snapshot.generation.manifest
    place = folder.with_name(f"{folder.name}.collection")
    write_collection(snapshot.content, place, progress)
    with Collection.open(place, "none") as collection:
        build_index(collection, folder, IndexOptions(links=manifest.links, vectors=manifest.vectors), progress=progress)
    store = EmbeddedStore(folder)
    store.record_ranking(manifest.ranking)
    if manifest.log:
        save_manifest(folder, read_manifest(folder, SEARCH).at_position(manifest.log_position))
