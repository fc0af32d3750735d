"""A block: threads as rows of terms, attributes of posts, and occurrences of names and formulas. Worker processes make blocks; they open the
collection themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.pieces import Pieces, split_thread
from porism.corpus.content import Content
from porism.corpus.content import VisualUse as KindOfUse
from porism.corpus.post import Post, Thread
from porism.corpus.store.collection import Collection
from porism.corpus.store.excerpt import expression_rows, expressions_of, open_excerpt, thread_rows
from porism.store.embedded.concept_learning import ConceptBlock, ConceptCollector
from porism.store.embedded.formulas.codes import MISSING, CodesExcerpt, FormulaCodes, KnownCodes
from porism.store.embedded.posts.occurrences import Occurrences, VisualUse
from porism.store.embedded.posts.store import POST_TYPES
from porism.store.embedded.workers import LocalRows

Ints = npt.NDArray[np.int64]


class Task(NamedTuple):
    """A task of a worker: questions of a collection. `codes` are the terms of its formulas; `learn` requests the occurrences that concepts
    are learned from."""

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


def make_threads(task: Task) -> ThreadResult:
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


def with_content(task: Task) -> Task:
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

    def add(self, thread: Thread, pieces: Pieces, visuals: list[VisualUse]) -> None:
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


def _visuals(thread: Thread, uses: Mapping[int, Sequence[KindOfUse]]) -> list[VisualUse]:
    """Return where formulas occur in the posts of a thread."""
    found: list[VisualUse] = []
    for position, post in enumerate((thread.question, *thread.answers)):
        for kind, same in groupby(uses.get(post.id, ()), itemgetter(0)):
            field = f"{post.kind}_comments" if kind == "comment" else kind
            found.append(VisualUse(position, field, [use.visual_id for use in same]))
    return found


@lru_cache(1)
def open_codes(codes: Path, forms: Path) -> FormulaCodes:
    """Open the terms of formulas, or return them if they are open already. Each build has its own folder `codes`."""
    return FormulaCodes(codes, forms)
