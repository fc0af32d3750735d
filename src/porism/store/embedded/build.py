"""Build an index from a collection: formulas, posts, vectors and concepts in one directory, an index with a single
segment.

Collection and index are read and written as streams. Memory grows by 14 to 19 bytes for each distinct term, 24 for each
distinct formula, 16 for each distinct path key, name and form, and 8 for each thread. Inverting the rows takes up to
180 MB more (`porism.store.embedded.terms.postings`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from porism.corpus.content import Content
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.files import atomic_directory
from porism.parallel import Jobs, local, ordered, workers, worth
from porism.progress import Progress, Silent
from porism.store.embedded.formulas.build import build_formula_index
from porism.store.embedded.learned import learn_concepts, write_vocabulary
from porism.store.embedded.manifest import SEARCH, Manifest, SegmentEntry, write_manifest
from porism.store.embedded.posts.build import SMALL, SegmentFolders, write_posts
from porism.store.embedded.posts.store import VECTOR_FAMILIES
from porism.store.embedded.vectors import write_vectors
from porism.store.protocols import WITH_ALL, IndexOptions


def build_index(
    content: Content | str | Path,
    directory: str | Path,
    options: IndexOptions = WITH_ALL,
    *,
    jobs: Jobs = 0,
    progress: Progress | None = None,
    finish: Callable[[Path], object] = lambda work: None,
) -> Manifest:
    """Index a collection into a new directory.

    `finish` gets the whole index before it has its name, so that a kill leaves all or nothing."""
    collection = Collection.open(content) if isinstance(content, str | Path) else content
    if not isinstance(collection, Collection):  # worker processes open its files, too
        fix = "build a collection in a folder: porism build SOURCE -o COLLECTION"
        raise PorismError("not in a folder, which an index is built from", where=collection.name, fix=fix)
    collection.check_formulas()
    report = progress or Silent()
    target = Path(directory)
    with atomic_directory(target) as work, _report_target(work, target):
        write_segment(collection, work, options, report, jobs)
        place = os.path.relpath(collection.path.resolve(), target.resolve())
        manifest = write_manifest(
            work,
            SEARCH,
            collection.digest,
            options={**options._asdict(), "collection": place},
            counts=collection_counts(collection),
            segments=(SegmentEntry("."),),
        )
        finish(work)
        return manifest


def collection_counts(collection: Collection) -> dict[str, int]:
    """Return what the manifest of an index says of the size of its collection."""
    return {name: collection.count(name) for name in ("posts", "formulas", "visuals")}


def write_segment(collection: Collection, work: Path, options: IndexOptions, report: Progress, jobs: Jobs = 0) -> None:
    """Write an index of a whole collection into a directory: formulas, posts, and what is learned from them."""
    folders = SegmentFolders.of(work)
    with report.stage("formulas", collection.count("visuals")) as advance:
        build_formula_index(collection, folders.formulas, advance, codes=folders.codes, jobs=jobs)
    number = write_posts(collection, folders, options.links, report, jobs=jobs)
    shutil.rmtree(folders.codes)
    families = VECTOR_FAMILIES if options.vectors else ()
    tasks: list[Callable[[], None]] = [
        partial(write_vectors, folders.posts, family, folders.rows) for family in families
    ]
    tasks.append(partial(learn_concepts, folders.occurrences, number, folders.posts))
    with (
        report.stage("vectors and concepts", len(tasks)) as advance,
        workers(worth(local(jobs), number < SMALL)) as pool,
    ):
        for _ in ordered(pool, _call, ((None, task) for task in tasks)):
            advance(1)
    shutil.rmtree(folders.passing)
    write_vocabulary(collection, work)


@contextmanager
def _report_target(work: Path, target: Path) -> Iterator[None]:
    """Report errors in the working directory as errors in the directory that the user named."""
    try:
        yield
    except PorismError as error:
        if not error.where.startswith(str(work)):
            raise
        raise PorismError(error.message, where=str(target), fix=error.fix) from error


def _call(task: Callable[[], None]) -> None:
    task()
