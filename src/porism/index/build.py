"""A collection becomes an index: formulas, threads, vectors and concepts in one directory that never changes.

Everything is read and written as a stream. What grows in memory is told where it does: 24 bytes for each distinct formula while it is
sorted, 16 for each distinct path, term, name and form that is counted, 8 for each thread. The engine of the postings takes 256 MB, and as
much as the terms of 10,000 threads that wait for it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.files import atomic_directory
from porism.index.concepts.learning import learn_concepts
from porism.index.formulas.build import FORMS, build_formula_index
from porism.index.manifest import Manifest, read_manifest, write_manifest
from porism.index.posts.build import SMALL, write_posts
from porism.index.vectors.lsa import VECTOR_FAMILIES, write_vectors
from porism.parallel import cores, ordered, workers
from porism.progress import Progress, Silent

KIND = "search"


def build_index(
    collection: Collection,
    directory: str | Path,
    *,
    links: bool = True,
    vectors: bool = True,
    progress: Progress | None = None,
    base: str | Path | None = None,
) -> Manifest:
    """Index a collection into a new directory. Without `links` neither the link list, nor linked titles, nor comments that point to
    other questions are indexed; without `vectors` none are learned. `base` is an index of the collection before something was added:
    what did not change is taken over, and readers of the base go on undisturbed."""
    watch = progress or Silent()
    target = Path(directory)
    known = None if base is None else Path(base)
    if known is not None and read_manifest(known, KIND).options["links"] != links:
        raise PorismError("was built with another choice of links", where=str(known), fix="index the whole collection")
    with atomic_directory(target) as work, _named(work, target):
        passing = work / "passing"  # what one stage leaves for the next
        formulas, posts, codes, pairs = work / "formulas", work / "posts", passing / "codes", passing / "pairs"
        with watch.stage("formulas", collection.count("visuals")) as advance:
            build_formula_index(collection, formulas, advance, base=known and known / "formulas", codes=codes)
        number = write_posts(
            collection,
            posts,
            links=links,
            progress=watch,
            codes=codes,
            forms=formulas / FORMS,
            pairs=pairs,
            base=known and known / "posts",
        )
        shutil.rmtree(codes)
        _learn(watch, posts, pairs, number, VECTOR_FAMILIES if vectors else ())
        shutil.rmtree(passing)
        place = os.path.relpath(collection.path.resolve(), target.resolve())
        counts = {name: collection.count(name) for name in ("posts", "formulas", "visuals")}
        return write_manifest(
            work,
            KIND,
            collection.digest,
            options={"links": links, "vectors": vectors, "collection": place},
            counts=counts,
        )


@contextmanager
def _named(work: Path, target: Path) -> Iterator[None]:
    """Problems inside the folder that is being filled are told of the one that was asked for."""
    try:
        yield
    except PorismError as error:
        if not error.where.startswith(str(work)):
            raise
        raise PorismError(error.message, where=str(target), fix=error.fix) from error


def _learn(watch: Progress, posts: Path, pairs: Path, number: int, families: Sequence[str]) -> None:
    """Vectors of these families, and concepts, side by side where that is worth it."""
    tasks: list[Callable[[], None]] = [partial(write_vectors, posts, family) for family in families]
    tasks.append(partial(learn_concepts, pairs, number, posts))
    few = 1 if number < SMALL else cores()
    with watch.stage("vectors and concepts", len(tasks)) as advance, workers(few) as pool:
        for _ in ordered(pool, _call, ((None, task) for task in tasks), len(tasks)):
            advance(1)


def _call(task: Callable[[], None]) -> None:
    task()
