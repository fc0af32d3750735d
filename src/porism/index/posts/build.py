"""Build the index of posts: rows of terms and attributes in the order of threads, then posting lists.

Worker processes read the threads; this process assigns term ids and writes in order, so that the same collection gives the same bytes.
Memory: the dictionaries (24 to 48 bytes a distinct term) and 8 bytes a thread; nothing else grows with the number of posts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from porism.corpus.store.collection import Collection
from porism.index.concepts.occurrences import ConceptWriter
from porism.index.posts.block import POST_TYPES, Task, ThreadBlock, make_threads
from porism.index.schema import FAMILIES, FIELDS
from porism.index.storage.columns import ArrayWriter, ColumnWriter, OpenFiles, read_array
from porism.index.storage.rows import Rows, RowsWriter
from porism.index.terms.dictionary import DictionaryWriter
from porism.index.terms.embedded import write_frequencies
from porism.index.terms.inversion import write_postings
from porism.parallel import cores, ordered, workers
from porism.progress import Progress

CHUNK = 64  # threads that a worker reads in one task
SMALL = 1_000  # fewer threads are read in one process, before others would have started


class PostsWriter(OpenFiles):
    """Write the rows and attributes of posts into a directory; use it in a `with` statement, then call `finish`."""

    def __init__(self, directory: Path, base: Path | None = None) -> None:
        super().__init__()
        directory.mkdir(parents=True)
        self._directory = directory
        enter = self._stack.enter_context
        self._dictionaries = {family: DictionaryWriter(base and base / family) for family in FAMILIES}
        self._rows = {family: enter(RowsWriter(directory, family, len(FIELDS))) for family in FAMILIES}
        self._attributes = enter(ColumnWriter(directory, POST_TYPES))
        self._signatures = enter(ArrayWriter(directory / "signatures.npy", "<u8"))
        self._threads = enter(ArrayWriter(directory / "threads.npy", "<i8"))
        self._posts = 0
        self._threads.append([0])

    def add(self, block: ThreadBlock) -> None:
        """Append the next threads."""
        for family, rows in block.rows.items():
            self._rows[family].add(rows.final(self._dictionaries[family]))
        for name, values in block.attributes.items():
            self._attributes.append(name, values)
        self._signatures.append(block.signatures)
        self._threads.append(self._posts + np.cumsum(block.sizes))
        self._posts += int(block.sizes.sum())

    def finish(self) -> None:
        """Write dictionaries, posting lists and frequencies, once all rows are written."""
        threads = thread_of_posts(read_array(self._directory / "threads.npy"))
        for family, dictionary in self._dictionaries.items():
            path = self._directory / family
            dictionary.save(path)
            write_postings(Rows(self._directory, family), dictionary.size, path)
            write_frequencies(path, threads)


def thread_of_posts(first: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the row of the thread of every post from where the posts of each thread start."""
    return np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))


def write_posts(
    collection: Collection,
    directory: Path,
    *,
    links: bool,
    progress: Progress,
    codes: Path,
    forms: Path,
    occurrences: Path,
    base: Path | None = None,
) -> int:
    """Write all threads of a collection; return the number of posts. `codes` and `forms` hold the terms of its formulas; what concepts
    are learned from is written to `occurrences`. Unchanged threads are copied from the index at `base`, built with the same `links`."""
    questions = np.fromiter(collection.question_ids(), np.int64)
    number = 1 if len(questions) < SMALL else cores()

    def tasks() -> Iterator[tuple[int, Task]]:
        for start in range(0, len(questions), CHUNK):
            some = questions[start : start + CHUNK]
            yield len(some), Task(collection.path, collection.digest, codes, forms, some, links, base)

    with (
        progress.stage("threads", len(questions)) as advance,
        workers(number) as pool,
        PostsWriter(directory, base) as writer,
        ConceptWriter(occurrences) as concepts,
    ):
        for count, made in ordered(pool, make_threads, tasks(), 2 * number):
            for block in made.blocks:
                writer.add(block)
            concepts.add(made.concepts)
            advance(count)
    with progress.stage("posting lists", None):
        writer.finish()
    return concepts.posts
