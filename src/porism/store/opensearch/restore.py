"""Bring a collection from a cluster back into a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from porism.corpus.build.finish import add_indexes
from porism.corpus.store.schema import DATABASE, MANIFEST, TABLES
from porism.files import atomic_directory, atomic_file
from porism.integrity import describe_file, seal
from porism.progress import Progress, Silent
from porism.store.opensearch.blocks import EXPRESSIONS, FORMULAS, TITLES, USERS, VISUALS, Row, Table
from porism.store.opensearch.content import ClusterContent

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
                    _insert(store, own.name, [row])
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
