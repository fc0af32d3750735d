"""Build the index of posts: rows of terms and attributes in the order of threads, then posting lists.

Worker processes read the threads; this process assigns term ids and writes in order, so that the same collection gives the same bytes.
Memory: the dictionaries (14 to 19 bytes a distinct term) and 8 bytes a thread; nothing else grows with the number of posts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS
from porism.corpus.store.collection import Collection
from porism.parallel import Jobs, ordered, workers, worth
from porism.progress import Progress
from porism.store.embedded.concept_learning import ConceptWriter
from porism.store.embedded.posts.block import Task, ThreadBlock, make_threads, open_codes, with_content
from porism.store.embedded.posts.store import POST_TYPES, thread_of_posts
from porism.store.embedded.storage.columns import ArrayWriter, ColumnWriter, OpenFiles, read_array, smallest
from porism.store.embedded.storage.records import RecordsWriter
from porism.store.embedded.storage.rows import Rows, RowsWriter
from porism.store.embedded.terms.dictionary import DictionaryWriter
from porism.store.embedded.terms.embedded import write_frequencies
from porism.store.embedded.terms.postings import write_postings
from porism.store.embedded.workers import open_in_worker

Ints = npt.NDArray[np.int64]
CHUNK = 64  # threads that a worker reads in one task
SMALL = 1_000  # fewer threads are read in one process, before others would have started


class PostsWriter(OpenFiles):
    """Write the records of threads and the attributes of posts into a directory; use it in a `with` statement, then call `finish`.

    The folder `rows` gets the same rows by family, which posting lists and vectors are made from. No reader of the index needs it.
    """

    def __init__(self, directory: Path, rows: Path) -> None:
        super().__init__()
        directory.mkdir(parents=True)
        self._directory = directory
        self._row_folder = rows
        enter = self._stack.enter_context
        self._dictionaries = {family: DictionaryWriter() for family in FAMILIES}
        self._rows = {family: enter(RowsWriter(rows, family, len(FIELDS))) for family in FAMILIES}
        self._records = enter(RecordsWriter(directory))
        self._attributes = enter(ColumnWriter(directory, POST_TYPES))
        self._threads = enter(ArrayWriter(directory / "threads.npy", "<i8"))
        self.posts = 0
        self._threads.append([0])

    def add(self, block: ThreadBlock) -> None:
        """Append the next threads."""
        rows = {family: block.rows[family].final(self._dictionaries[family]) for family in FAMILIES}
        for family, made in rows.items():
            self._rows[family].add(made)
        self._records.add(list(rows.values()), block.sizes)
        for name, values in block.attributes.items():
            self._attributes.append(name, values)
        self._threads.append(self.posts + np.cumsum(block.sizes))
        self.posts += int(block.sizes.sum())

    def finish(self) -> None:
        """Write dictionaries, posting lists, frequencies and lengths, once all rows are written."""
        threads = thread_of_posts(read_array(self._directory / "threads.npy"))
        for family, dictionary in self._dictionaries.items():
            path = self._directory / family
            dictionary.save(path)
            rows = Rows(self._row_folder, family)
            write_postings(rows, dictionary.size, path)
            np.save(f"{path}.lengths.npy", smallest(rows.lengths))
            write_frequencies(path, threads)


def write_posts(
    collection: Collection,
    directory: Path,
    *,
    links: bool,
    progress: Progress,
    codes: Path,
    forms: Path,
    rows: Path,
    occurrences: Path | None,
    questions: Ints | None = None,
    jobs: Jobs = 0,
) -> int:
    """Write the threads of these questions (default: all) in the order of their ids; return the number of posts.

    `codes` and `forms` hold the terms of the formulas. The rows of each family are written to the folder `rows`. What concepts are learned from is written to `occurrences`, if given.
    """
    if questions is None:
        questions = np.fromiter(collection.question_ids(), np.int64)
    content = partial(open_in_worker, collection.path, collection.digest)
    known = partial(open_codes, codes, forms)

    def tasks() -> Iterator[tuple[int, Task]]:
        for start in range(0, len(questions), CHUNK):
            chunk = questions[start : start + CHUNK]
            yield len(chunk), Task(content, known, chunk, links, occurrences is not None)

    with (
        progress.stage("threads", len(questions)) as advance,
        workers(worth(jobs, len(questions) < SMALL)) as pool,
        PostsWriter(directory, rows) as writer,
        nullcontext() if occurrences is None else ConceptWriter(occurrences) as concepts,
    ):
        for count, made in ordered(pool, make_threads, tasks(), with_content):
            writer.add(made.block)
            if concepts is not None and made.concepts is not None:
                concepts.add(made.concepts)
            advance(count)
    with progress.stage("posting lists", None):
        writer.finish()
    return writer.posts
