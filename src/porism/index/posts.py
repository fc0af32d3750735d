"""Threads become rows of terms and postings: one document a thread, seen as a whole, by its title, and by each answer.

A thread is searched (postings), then its answers are told apart by the rows of the views: the whole thread, its title and tags, the titles
of questions that it is linked with, and the answer alone.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.corpus.collection import Collection
from porism.corpus.html import segments
from porism.corpus.progress import Progress
from porism.index.postings import Postings, PostingsWriter
from porism.index.rows import Rows, RowsWriter
from porism.index.terms import FAMILIES, Counts, add, code, count_terms, empty_counts, text_terms
from porism.index.words import FORMULA
from porism.records import Comment, Post, Thread

VIEWS = ("thread", "title", "links", "answer")
# How much a word of each field counts in the view of the whole thread: a title is short and says what the thread is of, and the
# answers of a question, together longer than all else, must not drown it.
TITLE, BODY, TAGS, REMARK, ANSWER, LINKED = 20.0, 5.0, 5.0, 1.0, 1.0, 4.0
COMMENT = 0.5  # of a word in a comment beside one in the answer itself
MOST = 40  # times a term is posted for one thread; beyond, a weight no longer grows
# A comment that names another question, by its address or as its duplicate.
POINTER = re.compile(r"duplicate|questions/\d+", re.IGNORECASE)


def read(html: str) -> tuple[str, list[str]]:
    """The text of a post with a mark at each formula, and the formulas' LaTeX."""
    text: list[str] = []
    formulas: list[str] = []
    for segment in segments(html):
        if segment.formula_id:
            formulas.append(segment.text)
            text.append(f" {FORMULA} ")
        else:
            text.append(segment.text)
    return "".join(text), formulas


def tag_text(tags: tuple[str, ...]) -> str:
    """Tags as words: `real-analysis` is two."""
    return f" {FORMULA} ".join(tag.replace("-", " ") for tag in tags)


class PostsWriter:
    """Writes the rows and postings of threads into a directory."""

    def __init__(self, directory: Path, links: bool) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._links = links
        self._stack = contextlib.ExitStack()
        self._rows = {
            (view, family): self._stack.enter_context(RowsWriter(directory, f"{view}.{family}"))
            for view in VIEWS
            for family in FAMILIES
        }
        self._tags = self._stack.enter_context(RowsWriter(directory, "tags"))
        self._postings = self._stack.enter_context(PostingsWriter(directory / "postings", FAMILIES))
        self._questions: list[tuple[int, int, int, int]] = []
        self._answers: list[tuple[int, int, int, int, int]] = []
        self._names: dict[int, str] = {}
        self._signatures: list[int] = []

    def __enter__(self) -> PostsWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]
        if error[0] is None:
            np.save(self._directory / "questions.npy", np.array(self._questions, np.int64).reshape(-1, 4))
            np.save(self._directory / "answers.npy", np.array(self._answers, np.int64).reshape(-1, 5))
            np.save(self._directory / "signatures.npy", np.array(self._signatures, np.uint64))
            names = "".join(f"{number}\t{self._names[number]}\n" for number in sorted(self._names))
            (self._directory / "words.tsv").write_text(names, "utf-8")

    def take(self, known: Posts, row: int, signature: int) -> None:
        """Add the next thread as other posts hold it."""
        number = len(self._questions)
        first, size = int(known.first_answer[row]), int(known.answers_of[row])
        for (view, family), writer in self._rows.items():
            for each in range(first, first + size) if view == "answer" else (row,):
                writer.copy(known.rows[view, family], each)
        self._tags.copy(known.tags, row)
        for answer, _, year, votes, accepted in known.answers[first : first + size].tolist():
            self._answers.append((answer, number, year, votes, accepted))
        question, answers, year, votes = known.questions[row].tolist()
        self._questions.append((question, answers, year, votes))
        self._signatures.append(signature)
        tokens = {}
        for family in FAMILIES:
            codes, counts = known.rows["thread", family].row(row)
            if family == "words":
                self._names.update((code_, known.name(code_)) for code_ in codes.tolist())
            tokens[family] = _tokens(dict(zip(codes.tolist(), counts.tolist(), strict=True)))
        self._postings.add(number, tokens)

    def add(self, thread: Thread, linked_titles: list[str], signature: int) -> None:
        """Add the next thread."""
        number = len(self._questions)
        self._signatures.append(signature)
        question = thread.question
        whole, title, linked = empty_counts(), empty_counts(), empty_counts()
        self._count(question.title, (TITLE, whole), (1.0, title))
        self._count(question.body, (BODY, whole))
        tags = count_terms(text_terms(tag_text(question.tags)), ())
        add(tags, TAGS, whole)
        add(tags, 1.0, title)
        for other in linked_titles:
            self._count(other, (LINKED, whole), (1.0, linked))
        comments: dict[int, list[Comment]] = {}
        for comment in thread.comments:
            if self._links or not POINTER.search(comment.body):
                comments.setdefault(comment.post_id, []).append(comment)
        for comment in comments.get(question.id, ()):
            self._count(comment.body, (REMARK, whole))
        for answer in thread.answers:
            own = empty_counts()
            self._count(answer.body, (1.0, own))
            for comment in comments.get(answer.id, ()):
                self._count(comment.body, (COMMENT, own))
            add(own, ANSWER, whole)
            for family in FAMILIES:
                self._rows["answer", family].add(own[family])
            self._answers.append((answer.id, number, *_facts(answer), int(answer.id == question.accepted_id)))
        self._questions.append((question.id, len(thread.answers), *_facts(question)))
        self._tags.add({code(tag): 1.0 for tag in question.tags})
        for view, counts in (("thread", whole), ("title", title), ("links", linked)):
            for family in FAMILIES:
                self._rows[view, family].add(counts[family])
        self._postings.add(number, {family: _tokens(whole[family]) for family in FAMILIES})

    def _count(self, html: str, *into: tuple[float, Counts]) -> None:
        text, formulas = read(html)
        terms = text_terms(text)
        self._names.update((code(term), term) for term in terms["words"])
        counts = count_terms(terms, formulas)
        for weight, total in into:
            add(counts, weight, total)


def _facts(post: Post) -> tuple[int, int]:
    """The year a post was written in (0: not known) and its votes."""
    return int(post.created[:4]) if post.created[:4].isdigit() else 0, post.score


def _tokens(counts: Mapping[int, float]) -> str:
    """Codes in hexadecimal, each as often as it counts."""
    return "".join(f"{number:x} " * min(MOST, math.ceil(times)) for number, times in sorted(counts.items()))


def write_posts(
    collection: Collection, directory: Path, *, links: bool, progress: Progress, base: Path | None = None
) -> None:
    """Write all threads of a collection. Threads that the posts at `base` (written with the same `links`) hold unchanged are taken over."""
    known = Posts(base) if base is not None else None
    rows = {} if known is None else {one: row for row, one in enumerate(known.signatures.tolist())}
    with progress.stage("threads", None) as advance, PostsWriter(directory, links) as writer:
        for thread in collection.threads():
            titles = _linked_titles(collection, thread) if links else []
            signature = _signature(thread, titles)
            if known is not None and signature in rows:
                writer.take(known, rows[signature], signature)
            else:
                writer.add(thread, titles, signature)
            advance(1)


def _signature(thread: Thread, titles: list[str]) -> int:
    """A number that changes with anything in a thread."""
    text = repr((thread, titles)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def _linked_titles(collection: Collection, thread: Thread) -> list[str]:
    titles = (collection.title(link.other_id) for link in thread.links)
    return [title for title in titles if title]


class Posts:
    """Reads what `write_posts` wrote."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.rows = {(view, family): Rows(directory, f"{view}.{family}") for view in VIEWS for family in FAMILIES}
        self.tags = Rows(directory, "tags")
        self.postings = Postings.open(directory / "postings")
        self.questions: npt.NDArray[np.int64] = np.load(directory / "questions.npy")
        self.answers: npt.NDArray[np.int64] = np.load(directory / "answers.npy")
        self.signatures: npt.NDArray[np.uint64] = np.load(directory / "signatures.npy")
        self.question_ids, self.answers_of, self.question_years, self.question_votes = self.questions.T
        self.answer_ids, self.parents, self.answer_years, self.answer_votes, accepted = self.answers.T
        self.accepted = accepted.astype(bool)
        self.solved = np.isin(np.arange(len(self.question_ids)), self.parents[self.accepted])
        self.first_answer = np.concatenate(([0], np.cumsum(self.answers_of)))[:-1]
        self._names: dict[int, str] | None = None

    def name(self, number: int) -> str:
        """The word that a code stands for."""
        if self._names is None:
            self._names = dict(_named(self.directory / "words.tsv"))
        return self._names.get(number, "")

    def document_frequency(self, family: str, number: int) -> int:
        """How many threads have a term."""
        return self.postings.document_frequency(family, f"{number:x}")


def _named(path: Path) -> Iterator[tuple[int, str]]:
    for line in path.read_text("utf-8").splitlines():
        number, _, word = line.partition("\t")
        yield int(number), word
