"""Threads become rows of terms and postings: one document a thread, seen as a whole, by its title, and by each answer.

A thread is searched (postings), then its answers are told apart by the rows of the views: the whole thread, its title and tags, the titles
of questions that it is linked with, and the answer alone. Worker processes read the threads; here what they made is written in order, so
that the same collection gives the same bytes. Memory does not grow with the number of posts, but for 8 bytes a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.index.analysis.terms import FAMILIES
from porism.index.concepts.pairs import ConceptWriter
from porism.index.postings import Postings, PostingsWriter
from porism.index.storage.columns import ArrayWriter, read_array
from porism.index.storage.lexicon import Lexicon, LexiconWriter
from porism.index.storage.rows import Rows, RowsWriter
from porism.index.threads.block import Task, ThreadBlock, joined_blocks, make_threads
from porism.index.threads.gather import term_texts
from porism.index.threads.terms import VIEWS
from porism.parallel import cores, ordered, workers
from porism.progress import Progress

CHUNK = 64  # threads that a worker reads in one go
SMALL = 1_000  # fewer threads are read sooner in one process than processes start
WORDS = "words.tsv"


class PostsWriter:
    """Writes the rows and postings of threads into a directory; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._stack = ExitStack()
        enter = self._stack.enter_context
        self._rows = {
            (view, family): enter(RowsWriter(directory, f"{view}.{family}")) for view in VIEWS for family in FAMILIES
        }
        self._tags = enter(RowsWriter(directory, "tags"))
        self._questions = enter(ArrayWriter(directory / "questions.npy", "<i8", 4))
        self._answers = enter(ArrayWriter(directory / "answers.npy", "<i8", 5))
        self._signatures = enter(ArrayWriter(directory / "signatures.npy", "<u8"))
        self._postings = enter(PostingsWriter(directory / "postings", FAMILIES))
        self._threads = 0

    def add(self, block: ThreadBlock) -> None:
        """Add the next threads."""
        for key, rows in block.rows.items():
            self._rows[key].add(rows)
        self._tags.add(block.tags)
        self._questions.append(block.questions)
        self._answers.append(block.answers + np.array((0, self._threads, 0, 0, 0)))
        self._signatures.append(block.signatures)
        texts = [term_texts(block.rows["thread", family]) for family in FAMILIES]
        for number, terms in enumerate(zip(*texts, strict=True), self._threads):
            self._postings.add(number, dict(zip(FAMILIES, terms, strict=True)))
        self._threads += len(block.questions)

    def __enter__(self) -> PostsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def write_posts(
    collection: Collection,
    directory: Path,
    *,
    links: bool,
    progress: Progress,
    codes: Path,
    forms: Path,
    pairs: Path,
    base: Path | None = None,
) -> int:
    """Write all threads of a collection; how many posts that were. `codes` and `forms` hold the terms of its formulas; what concepts are
    learned from goes to `pairs`. Threads that the posts at `base` (written with the same `links`) hold unchanged are taken over."""
    questions = np.fromiter(collection.question_ids(), np.int64)
    number = 1 if len(questions) < SMALL else cores()

    def tasks() -> Iterator[tuple[int, Task]]:
        for start in range(0, len(questions), CHUNK):
            some = questions[start : start + CHUNK]
            yield len(some), Task(collection.path, collection.digest, codes, forms, some, links, base)

    with (
        progress.stage("threads", len(questions)) as advance,
        workers(number) as pool,
        PostsWriter(directory) as writer,
        LexiconWriter(directory / WORDS) as lexicon,
        ConceptWriter(pairs) as concepts,
    ):
        for count, made in ordered(pool, make_threads, tasks(), 2 * number):
            writer.add(joined_blocks(made.blocks))
            lexicon.add(made.words)
            concepts.add(made.concepts)
            advance(count)
    return concepts.posts


class Posts:
    """Reads what `write_posts` wrote."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.rows = {(view, family): Rows(directory, f"{view}.{family}") for view in VIEWS for family in FAMILIES}
        self.tags = Rows(directory, "tags")
        self.postings = Postings.open(directory / "postings")
        questions, answers = read_array(directory / "questions.npy"), read_array(directory / "answers.npy")
        self.question_ids, self.answers_of, self.question_years, self.question_votes = questions.T
        self.answer_ids, self.parents, self.answer_years, self.answer_votes, self._accepted = answers.T
        self.first_answer = np.concatenate(([0], np.cumsum(self.answers_of)))[:-1]
        self._lexicon = Lexicon(directory / WORDS)

    @cached_property
    def accepted(self) -> npt.NDArray[np.bool_]:
        """Which answers the asker accepted."""
        accepted: npt.NDArray[np.bool_] = self._accepted.astype(bool)
        return accepted

    @cached_property
    def solved(self) -> npt.NDArray[np.bool_]:
        """Which questions have an accepted answer."""
        solved = np.zeros(len(self.question_ids), bool)
        solved[self.parents[self.accepted]] = True
        return solved

    def name(self, number: int) -> str:
        """The word that a code stands for."""
        return self._lexicon.word(number)

    def document_frequency(self, family: str, number: int) -> int:
        """How many threads have a term."""
        return self.postings.document_frequency(family, f"{number:x}")
