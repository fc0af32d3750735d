"""A block: some threads as rows of terms, words and concepts. Made in worker processes, which read the collection themselves."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.index.analysis.terms import FAMILIES, code, codes
from porism.index.concepts.pairs import ConceptBlock, ConceptReader
from porism.index.formulas.codes import FormulaCodes
from porism.index.storage.columns import read_array
from porism.index.storage.rows import RowBlock, Rows, joined
from porism.index.threads.terms import VIEWS, Pieces, ThreadTerms, pieces_of
from porism.index.worker import opened
from porism.records import Post, Thread

REMEMBERED = 500_000  # words that a worker has told already

Numbers = npt.NDArray[np.int64]


class Task(NamedTuple):
    """What a worker is to do: which questions of which collection, with the codes of formulas (a folder that is made anew for each
    build), from which posts to take over what did not change."""

    collection: Path
    digest: str
    codes: Path
    forms: Path
    questions: Numbers
    links: bool
    base: Path | None


class ThreadBlock(NamedTuple):
    """Threads: facts of questions and answers (a thread's number counts from the block's first), a number that changes with anything in
    a thread, and rows by view and family."""

    questions: Numbers  # id, answers, year, votes
    answers: Numbers  # id, thread, year, votes, accepted
    signatures: npt.NDArray[np.uint64]
    rows: dict[tuple[str, str], RowBlock]
    tags: RowBlock


class Made(NamedTuple):
    """What a worker made of a task: blocks in order, new words with their codes, what concepts are learned from."""

    blocks: list[ThreadBlock]
    words: list[tuple[int, str]]
    concepts: ConceptBlock


def make_threads(task: Task) -> Made:
    """The work of one task. Threads that a base has go over as they are, in blocks of their own."""
    collection, known = opened(task.collection, task.digest), _formulas(task.codes, task.forms)
    base = None if task.base is None else _base(task.base, task.codes)
    blocks: list[ThreadBlock] = []
    words: dict[str, None] = {}
    concepts = ConceptReader()
    new = _New()
    for number in task.questions.tolist():
        thread = collection.thread(number)
        titles = _linked_titles(collection, thread) if task.links else []
        signature = _signature(thread, titles)
        pieces = pieces_of(thread, titles, task.links)
        for one in pieces.written():
            words.update(dict.fromkeys(one.terms["words"]))
        concepts.add(thread, pieces)
        row = None if base is None else base.row(signature)
        if base is not None and row is not None:
            blocks += new.blocks(known)
            new = _New()
            blocks.append(base.block(row))
        else:
            new.add(thread, pieces, signature)
    blocks += new.blocks(known)
    return Made(blocks, _untold(list(words), _told(task.codes)), concepts.block(known))


class _New:
    """Threads that are worked out."""

    def __init__(self) -> None:
        self._terms = ThreadTerms()
        self._questions: list[tuple[int, ...]] = []
        self._answers: list[tuple[int, ...]] = []
        self._signatures: list[int] = []
        self._tags: list[list[int]] = []

    def add(self, thread: Thread, pieces: Pieces, signature: int) -> None:
        """Add the next thread."""
        question, number = thread.question, len(self._questions)
        self._terms.add(thread, pieces)
        self._questions.append((question.id, len(thread.answers), *_facts(question)))
        for answer in thread.answers:
            self._answers.append((answer.id, number, *_facts(answer), int(answer.id == question.accepted_id)))
        self._signatures.append(signature)
        self._tags.append(sorted({code(tag) for tag in question.tags}))

    def blocks(self, known: FormulaCodes) -> list[ThreadBlock]:
        """One block, or none where no thread was added."""
        if not self._questions:
            return []
        sizes = np.array([len(tags) for tags in self._tags], np.int64)
        flat = np.array([tag for tags in self._tags for tag in tags], np.uint32)
        tags = RowBlock(flat, np.full(len(flat), 2, np.uint16), sizes, sizes.astype(np.float32))
        questions = np.array(self._questions, np.int64).reshape(-1, 4)
        answers = np.array(self._answers, np.int64).reshape(-1, 5)
        return [ThreadBlock(questions, answers, np.array(self._signatures, np.uint64), self._terms.rows(known), tags)]


def _facts(post: Post) -> tuple[int, int]:
    """The year a post was written in (0: not known) and its votes."""
    return int(post.created[:4]) if post.created[:4].isdigit() else 0, post.score


def _signature(thread: Thread, titles: list[str]) -> int:
    text = repr((thread, titles)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def _linked_titles(collection: Collection, thread: Thread) -> list[str]:
    titles = (collection.title(link.other_id) for link in thread.links)
    return [title for title in titles if title]


class Base:
    """Posts written before, from which threads are taken over."""

    def __init__(self, directory: Path) -> None:
        self._rows = {(view, family): Rows(directory, f"{view}.{family}") for view in VIEWS for family in FAMILIES}
        self._tags = Rows(directory, "tags")
        self._questions: Numbers = read_array(directory / "questions.npy")
        self._answers: Numbers = read_array(directory / "answers.npy")
        self._signatures: npt.NDArray[np.uint64] = np.load(directory / "signatures.npy")
        self._order = np.argsort(self._signatures, kind="stable")
        self._first = np.concatenate(([0], np.cumsum(self._questions[:, 1])))

    def row(self, signature: int) -> int | None:
        """Where a thread of this signature stands."""
        wanted = np.uint64(signature)
        at = int(np.searchsorted(self._signatures, wanted, sorter=self._order))
        if at == len(self._order) or self._signatures[self._order[at]] != wanted:
            return None
        return int(self._order[at])

    def block(self, row: int) -> ThreadBlock:
        """One thread as it is."""
        first, end = int(self._first[row]), int(self._first[row + 1])
        rows = {
            key: rows.block(first, end) if key[0] == "answer" else rows.block(row, row + 1)
            for key, rows in self._rows.items()
        }
        answers = np.array(self._answers[first:end])
        answers[:, 1] = 0
        signatures = self._signatures[row : row + 1]
        return ThreadBlock(self._questions[row : row + 1], answers, signatures, rows, self._tags.block(row, row + 1))


def joined_blocks(blocks: list[ThreadBlock]) -> ThreadBlock:
    """Blocks one after another as one."""
    if len(blocks) == 1:
        return blocks[0]
    before = np.cumsum([0, *(len(one.questions) for one in blocks[:-1])])
    answers = [one.answers + np.array((0, number, 0, 0, 0)) for one, number in zip(blocks, before, strict=True)]
    return ThreadBlock(
        np.concatenate([one.questions for one in blocks]),
        np.concatenate(answers),
        np.concatenate([one.signatures for one in blocks]),
        {key: joined([one.rows[key] for one in blocks]) for key in blocks[0].rows},
        joined([one.tags for one in blocks]),
    )


def _untold(words: list[str], told: set[str]) -> list[tuple[int, str]]:
    """Those words that this process has not told of late, with their codes."""
    fresh = [word for word in words if word not in told]
    if len(told) + len(fresh) > REMEMBERED:
        told.clear()
    told.update(fresh)
    return list(zip(codes(fresh).tolist(), fresh, strict=True))


# What a process keeps from task to task; `codes` names the build.


@lru_cache(1)
def _told(codes: Path) -> set[str]:
    return set()


@lru_cache(1)
def _formulas(codes: Path, forms: Path) -> FormulaCodes:
    return FormulaCodes(codes, forms)


@lru_cache(1)
def _base(path: Path, codes: Path) -> Base:
    return Base(path)
