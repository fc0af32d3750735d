"""Build the index of posts: rows of terms and attributes in the order of threads, then posting lists.

Worker processes read the threads; this process assigns term ids and writes in order, so that the same collection gives the same bytes.
Memory: the dictionaries (24 to 48 bytes a distinct term) and 8 bytes a thread; nothing else grows with the number of posts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.index.concepts.occurrences import ConceptWriter
from porism.index.posts.block import Task, ThreadBlock, make_threads
from porism.index.posts.layout import POST_TYPES, thread_of_posts
from porism.index.schema import FAMILIES, FIELDS
from porism.index.storage.columns import ArrayWriter, ColumnWriter, OpenFiles, read_array
from porism.index.storage.rows import Rows, RowsWriter
from porism.index.terms.dictionary import DictionaryWriter
from porism.index.terms.embedded import write_frequencies
from porism.index.terms.inversion import write_postings
from porism.parallel import cores, ordered, workers
from porism.progress import Progress

Ints = npt.NDArray[np.int64]
CHUNK = 64  # threads that a worker reads in one task
SMALL = 1_000  # fewer threads are read in one process, before others would have started


class PostsWriter(OpenFiles):
    """Write the rows and attributes of posts into a directory; use it in a `with` statement, then call `finish`."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        directory.mkdir(parents=True)
        self._directory = directory
        enter = self._stack.enter_context
        self._dictionaries = {family: DictionaryWriter() for family in FAMILIES}
        self._rows = {family: enter(RowsWriter(directory, family, len(FIELDS))) for family in FAMILIES}
        self._attributes = enter(ColumnWriter(directory, POST_TYPES))
        self._threads = enter(ArrayWriter(directory / "threads.npy", "<i8"))
        self.posts = 0
        self._threads.append([0])

    def add(self, block: ThreadBlock) -> None:
        """Append the next threads."""
        for family, rows in block.rows.items():
            self._rows[family].add(rows.final(self._dictionaries[family]))
        for name, values in block.attributes.items():
            self._attributes.append(name, values)
        self._threads.append(self.posts + np.cumsum(block.sizes))
        self.posts += int(block.sizes.sum())

    def finish(self) -> None:
        """Write dictionaries, posting lists and frequencies, once all rows are written."""
        threads = thread_of_posts(read_array(self._directory / "threads.npy"))
        for family, dictionary in self._dictionaries.items():
            path = self._directory / family
            dictionary.save(path)
            write_postings(Rows(self._directory, family), dictionary.size, path)
            write_frequencies(path, threads)


def write_posts(
    collection: Collection,
    directory: Path,
    *,
    links: bool,
    progress: Progress,
    codes: Path,
    forms: Path,
    occurrences: Path | None,
    questions: Ints | None = None,
) -> int:
    """Write the threads of these questions (default: all) in the order of their ids; return the number of posts.

    `codes` and `forms` hold the terms of the formulas. What concepts are learned from is written to `occurrences`, if given.
    """
    if questions is None:
        questions = np.fromiter(collection.question_ids(), np.int64)
    number = 1 if len(questions) < SMALL else cores()

    def tasks() -> Iterator[tuple[int, Task]]:
        for start in range(0, len(questions), CHUNK):
            chunk = questions[start : start + CHUNK]
            learn = occurrences is not None
            yield len(chunk), Task(collection.path, collection.digest, codes, forms, chunk, links, learn)

    with (
        progress.stage("threads", len(questions)) as advance,
        workers(number) as pool,
        PostsWriter(directory) as writer,
        nullcontext() if occurrences is None else ConceptWriter(occurrences) as concepts,
    ):
        for count, made in ordered(pool, make_threads, tasks(), 2 * number):
            writer.add(made.block)
            if concepts is not None and made.concepts is not None:
                concepts.add(made.concepts)
            advance(count)
    with progress.stage("posting lists", None):
        writer.finish()
    return writer.posts
