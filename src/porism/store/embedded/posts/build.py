"""Build the index of posts: workers make blocks of threads, this process appends them, then inverts the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.pieces import Pieces, split_thread
from porism.analysis.schema import FAMILIES, FIELDS
from porism.corpus.content import Content, VisualUse
from porism.corpus.post import Post, Thread
from porism.corpus.store.collection import Collection
from porism.corpus.store.excerpt import expression_rows, expressions_of, open_excerpt, thread_rows
from porism.parallel import Jobs, ordered, workers, worth
from porism.progress import Progress
from porism.store.embedded.concept_learning import ConceptBlock, ConceptCollector, ConceptWriter
from porism.store.embedded.formulas.build import open_in_worker
from porism.store.embedded.formulas.codes import FORMS, MISSING, CodesExcerpt, FormulaCodes, KnownCodes
from porism.store.embedded.posts.occurrences import FieldFormulas, Occurrences
from porism.store.embedded.posts.store import POST_TYPES, thread_of_posts
from porism.store.embedded.storage.columns import ArrayWriter, ColumnWriter, OpenFiles, read_array, smallest
from porism.store.embedded.storage.records import RecordsWriter
from porism.store.embedded.storage.rows import Rows, RowsWriter
from porism.store.embedded.terms.dictionary import DictionaryWriter, LocalRows
from porism.store.embedded.terms.embedded import write_frequencies
from porism.store.embedded.terms.postings import write_postings

Ints = npt.NDArray[np.int64]


class ThreadTask(NamedTuple):
    """A task of a worker: questions of a collection. `codes` are the terms of its formulas; `learn` requests the
    occurrences that concepts are learned from."""

    collection: Callable[[], Collection]
    codes: Callable[[], KnownCodes]
    questions: Ints
    links: bool
    learn: bool


class ThreadBlock(NamedTuple):
    """Threads: the number of posts of each, attributes of posts, and rows by family."""

    sizes: Ints
    attributes: dict[str, npt.NDArray[np.int64]]
    rows: dict[str, LocalRows]


class ThreadResult(NamedTuple):
    """The result of a task: a block, and what concepts are learned from."""

    block: ThreadBlock
    concepts: ConceptBlock | None


def make_threads(task: ThreadTask) -> ThreadResult:
    """Do one task."""
    collection, known = task.collection(), task.codes()
    concepts = ConceptCollector()
    threads = _Threads()
    read = collection.threads_by_id(task.questions.tolist())
    posts = [post.id for thread in read.values() for post in (thread.question, *thread.answers)]
    uses = collection.visuals_by_post(posts)
    linked = [link.other_id for thread in read.values() for link in thread.links] if task.links else []
    titles = collection.titles_by_id(linked)
    for number in task.questions.tolist():
        thread = read[number]
        own = [title for link in thread.links if (title := titles.get(link.other_id))]
        pieces = split_thread(thread, own, task.links)
        threads.add(thread, pieces, _visuals(thread, uses))
        if task.learn:
            concepts.add(thread, pieces)
    return ThreadResult(threads.block(known, collection), concepts.block(known) if task.learn else None)


def with_content(task: ThreadTask) -> ThreadTask:
    """Return a task that holds the threads and the terms it reads."""
    collection, known = task.collection(), task.codes()
    assert isinstance(known, FormulaCodes)
    rows = thread_rows(collection, task.questions.tolist(), task.links)
    expressions = np.array(sorted(expressions_of(rows)), np.int64)
    rows |= expression_rows(collection, expressions[known.items(expressions) == MISSING].tolist())
    return task._replace(
        collection=partial(open_excerpt, rows), codes=partial(CodesExcerpt.opened, known.excerpt(expressions))
    )


class _Threads:
    """Threads whose terms are computed."""

    def __init__(self) -> None:
        self._occurrences = Occurrences()
        self._sizes: list[int] = []
        self._posts: list[tuple[int, int, int, int]] = []  # in the order of POST_TYPES

    def add(self, thread: Thread, pieces: Pieces, visuals: list[FieldFormulas]) -> None:
        """Add the next thread."""
        accepted = thread.question.accepted_id
        has_accepted = any(answer.id == accepted for answer in thread.answers)
        self._occurrences.add(thread, pieces, visuals)
        self._sizes.append(1 + len(thread.answers))
        self._posts.append(_attributes(thread.question, has_accepted))
        self._posts += [_attributes(answer, answer.id == accepted) for answer in thread.answers]

    def block(self, known: KnownCodes, content: Content) -> ThreadBlock:
        """Return the block of all threads."""
        columns = np.array(self._posts, np.int64).T
        attributes = dict(zip(POST_TYPES, columns, strict=True))
        return ThreadBlock(np.array(self._sizes, np.int64), attributes, self._occurrences.rows(known, content))


def _attributes(post: Post, accepted: bool) -> tuple[int, int, int, int]:
    """Return id, year (0: not known), votes and accepted."""
    year = int(post.created[:4]) if post.created[:4].isdigit() else 0
    return post.id, year, post.score, int(accepted)


def _visuals(thread: Thread, uses: Mapping[int, Sequence[VisualUse]]) -> list[FieldFormulas]:
    """Return where formulas occur in the posts of a thread."""
    found: list[FieldFormulas] = []
    for position, post in enumerate((thread.question, *thread.answers)):
        for kind, same in groupby(uses.get(post.id, ()), itemgetter(0)):
            field = f"{post.kind}_comments" if kind == "comment" else kind
            found.append(FieldFormulas(position, field, [use.visual_id for use in same]))
    return found


@lru_cache(1)
def open_codes(codes: Path, forms: Path) -> FormulaCodes:
    """Open the terms of formulas, or return them if they are open already. Each build has its own folder `codes`."""
    return FormulaCodes(codes, forms)


CHUNK = 64  # threads that a worker reads in one task
SMALL = 1_000  # fewer threads are read in one process, before others would have started


class PostsWriter(OpenFiles):
    """Write the records of threads and the attributes of posts into a directory; use it in a `with` statement, then
    call `finish`.

    The folder `rows` gets the same rows by family, which posting lists and vectors are made from. No reader of the
    index needs it."""

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


class SegmentFolders(NamedTuple):
    """The folders of a segment that is written: formulas, posts, and what one stage leaves for the next."""

    formulas: Path
    posts: Path
    passing: Path
    codes: Path  # of the terms of formulas
    rows: Path  # of posts, by family
    occurrences: Path  # that concepts are learned from

    @classmethod
    def of(cls, work: Path) -> SegmentFolders:
        """Return the folders inside of one."""
        passing = work / "passing"
        return cls(work / "formulas", work / "posts", passing, passing / "codes", passing / "rows", passing / "names")


def write_posts(
    collection: Collection,
    folders: SegmentFolders,
    links: bool,
    progress: Progress,
    questions: Ints | None = None,
    jobs: Jobs = 0,
) -> int:
    """Write the threads of these questions in the order of their ids; return the number of posts.

    Without `questions` all threads are written, and the occurrences that concepts are learned from."""
    learn = questions is None
    if questions is None:
        questions = np.fromiter(collection.question_ids(), np.int64)
    content = partial(open_in_worker, collection.path, collection.digest)
    known = partial(open_codes, folders.codes, folders.formulas / FORMS)

    def tasks() -> Iterator[tuple[int, ThreadTask]]:
        for start in range(0, len(questions), CHUNK):
            chunk = questions[start : start + CHUNK]
            yield len(chunk), ThreadTask(content, known, chunk, links, learn)

    with (
        progress.stage("threads", len(questions)) as advance,
        workers(worth(jobs, len(questions) < SMALL)) as pool,
        PostsWriter(folders.posts, folders.rows) as writer,
        ConceptWriter(folders.occurrences) if learn else nullcontext() as concepts,
    ):
        for count, made in ordered(pool, make_threads, tasks(), with_content):
            writer.add(made.block)
            if concepts is not None and made.concepts is not None:
                concepts.add(made.concepts)
            advance(count)
    with progress.stage("posting lists", None):
        writer.finish()
    return writer.posts
