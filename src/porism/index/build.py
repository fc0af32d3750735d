"""A collection becomes an index: formulas, threads, vectors and concepts in one directory that never changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from porism.corpus.collection import Collection
from porism.corpus.progress import Progress, Silent
from porism.errors import PorismError
from porism.files import atomic_directory
from porism.index.concepts import write_concepts
from porism.index.formulas import build_formula_index
from porism.index.manifest import Manifest, read_manifest, write_manifest
from porism.index.posts import write_posts
from porism.index.vectors import FAMILIES, write_vectors

KIND = "search"


def build_index(
    collection: Collection,
    directory: str | Path,
    *,
    links: bool = True,
    progress: Progress | None = None,
    base: str | Path | None = None,
) -> Manifest:
    """Index a collection into a new directory. Without `links` neither the link list, nor linked titles, nor comments that point to
    other questions are indexed. `base` is an index of the collection before something was added: what did not change is taken over,
    and readers of the base go on undisturbed."""
    watch = progress or Silent()
    target = Path(directory)
    known = None if base is None else Path(base)
    if known is not None and read_manifest(known, KIND).options["links"] != links:
        raise PorismError("was built with another choice of links", where=str(known), fix="index the whole collection")
    with atomic_directory(target) as work:
        with watch.stage("formulas", collection.count("visuals")) as advance:
            build_formula_index(collection, work / "formulas", advance, base=known and known / "formulas")
        write_posts(collection, work / "posts", links=links, progress=watch, base=known and known / "posts")
        for family in FAMILIES:
            _staged(watch, f"vectors of {family}", lambda family=family: write_vectors(work / "posts", family))  # type: ignore[misc]
        _staged(watch, "concepts", lambda: write_concepts(collection, work / "posts"))
        place = os.path.relpath(collection.path.resolve(), target.resolve())
        counts = {name: collection.count(name) for name in ("posts", "formulas", "visuals")}
        return write_manifest(
            work, KIND, collection.digest, options={"links": links, "collection": place}, counts=counts
        )


def _staged(watch: Progress, name: str, work: Callable[[], object]) -> None:
    """A stage of one step."""
    with watch.stage(name, 1) as advance:
        work()
        advance(1)
