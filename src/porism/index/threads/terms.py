"""The texts of some threads as terms: what stands in each piece of text, and in which rows it counts for how much.

A piece is a title, a body, a comment, the tags, or the title of a linked question. A thread is seen as a whole, by its title and tags, by
the titles of questions that it is linked with, and by each answer; each view has a row, in which pieces count with weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.formula import parse
from porism.index.analysis.features import features_of_many
from porism.index.analysis.terms import FAMILIES, FORMULA_FAMILIES, TEXT_FAMILIES, codes, stem_terms
from porism.index.analysis.words import FORMULA, stems
from porism.index.formulas.codes import WIDTH, Encoded, FormulaCodes, encode, latex_key
from porism.index.storage.rows import HALVES, RowBlock, joined
from porism.index.threads.gather import ROWS, fold, formula_entries, text_entries
from porism.records import Comment, Thread
from porism.text.html import segments

VIEWS = ("thread", "title", "links", "answer")
# How much a word of each field counts in the view of the whole thread: a title is short and says what the thread is of, and the
# answers of a question, together longer than all else, must not drown it.
TITLE, BODY, TAGS, REMARK, ANSWER, LINKED = 20.0, 5.0, 5.0, 1.0, 1.0, 4.0
COMMENT = 0.5  # of a word in a comment beside one in the answer itself
# A comment that names another question, by its address or as its duplicate.
POINTER = re.compile(r"duplicate|questions/\d+", re.IGNORECASE)

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]
Source = tuple[Numbers, Numbers, Codes]  # the number of each formula, where its codes end, the codes


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


class Piece(NamedTuple):
    """A piece of text: the text, its stems, its terms in each family, and the LaTeX of its formulas."""

    text: str
    stems: list[str]
    terms: dict[str, list[str]]
    formulas: list[str]


def piece(text: str, formulas: list[str]) -> Piece:
    """A text with its formulas cut out."""
    row = stems(text)
    return Piece(text, row, stem_terms(row), formulas)


class Pieces(NamedTuple):
    """The pieces of a thread. Comments are by post; answers in their order."""

    title: Piece
    body: Piece
    tags: Piece
    linked: list[Piece]
    answers: list[Piece]
    comments: dict[int, list[Piece]]

    def written(self) -> Iterator[Piece]:
        """All that people wrote as text."""
        yield from (self.title, self.body, *self.linked, *self.answers)
        for some in self.comments.values():
            yield from some


def pieces_of(thread: Thread, linked_titles: Sequence[str], links: bool) -> Pieces:
    """Read a thread. Without `links` comments that point to other questions are left out."""
    question = thread.question
    comments: dict[int, list[Piece]] = {}
    for comment in thread.comments:
        if links or not _points(comment):
            comments.setdefault(comment.post_id, []).append(piece(*read(comment.body)))
    return Pieces(
        piece(*read(question.title)),
        piece(*read(question.body)),
        piece(tag_text(question.tags), []),
        [piece(*read(title)) for title in linked_titles],
        [piece(*read(answer.body)) for answer in thread.answers],
        comments,
    )


def _points(comment: Comment) -> bool:
    return POINTER.search(comment.body) is not None


class ThreadTerms:
    """Gathers the pieces of threads, then makes the rows of all views at once."""

    def __init__(self) -> None:
        self._terms: dict[str, list[str]] = {family: [] for family in TEXT_FAMILIES}
        self._starts: dict[str, list[int]] = {family: [0] for family in TEXT_FAMILIES}
        self._latex: dict[str, int] = {}
        self._formulas: list[int] = []
        self._formula_starts = [0]
        self._uses: dict[str, list[tuple[int, int, int]]] = {view: [] for view in VIEWS}
        self._rows = dict.fromkeys(VIEWS, 0)

    def add(self, thread: Thread, pieces: Pieces) -> None:
        """Add the next thread."""
        row = self._rows["thread"]
        for view in ("thread", "title", "links"):
            self._rows[view] += 1
        self._use(pieces.title, ("thread", row, TITLE), ("title", row, 1.0))
        self._use(pieces.body, ("thread", row, BODY))
        self._use(pieces.tags, ("thread", row, TAGS), ("title", row, 1.0))
        for one in pieces.linked:
            self._use(one, ("thread", row, LINKED), ("links", row, 1.0))
        for one in pieces.comments.get(thread.question.id, ()):
            self._use(one, ("thread", row, REMARK))
        for post, answer in zip(thread.answers, pieces.answers, strict=True):
            own = self._rows["answer"]
            self._rows["answer"] += 1
            self._use(answer, ("thread", row, ANSWER), ("answer", own, 1.0))
            for one in pieces.comments.get(post.id, ()):
                self._use(one, ("thread", row, ANSWER * COMMENT), ("answer", own, COMMENT))

    def _use(self, one: Piece, *views: tuple[str, int, float]) -> None:
        number = len(self._formula_starts) - 1
        for family, terms in one.terms.items():
            self._terms[family] += terms
            self._starts[family].append(len(self._terms[family]))
        self._formulas += [self._latex.setdefault(latex, len(self._latex)) for latex in one.formulas]
        self._formula_starts.append(len(self._formulas))
        for view, row, weight in views:
            self._uses[view].append((number, row, int(weight * HALVES)))

    def rows(self, known: FormulaCodes) -> dict[tuple[str, str], RowBlock]:
        """The rows of each view and family."""
        text = {family: (np.array(self._starts[family]), codes(terms)) for family, terms in self._terms.items()}
        sources = self._sources(known)
        found: dict[tuple[str, str], RowBlock] = {}
        for view in VIEWS:
            uses = np.array(self._uses[view], np.int64).reshape(-1, 3)
            for family in FAMILIES:
                found[view, family] = self._view(uses, self._rows[view], family, text, sources)
        return found

    def _sources(self, known: FormulaCodes) -> list[Source]:
        """Where the codes of each formula are: with those known already, or worked out now."""
        latex = list(self._latex)
        items = known.items(np.fromiter(map(latex_key, latex), np.uint64, len(latex)))
        missing = np.flatnonzero(items < 0)
        extra = encode_latex([latex[at] for at in missing.tolist()])
        others = np.full(len(items), -1, np.int64)
        others[missing] = np.arange(len(missing))
        ends = np.cumsum(extra.sizes)
        for array in (ends, extra.codes):
            array.setflags(write=False)  # as the mapped ones are: loops are compiled once for both
        formulas = np.array(self._formulas, np.int64)
        return [(items[formulas], known.ends, known.codes), (others[formulas], ends, extra.codes)]

    def _view(
        self, uses: Numbers, rows: int, family: str, text: Mapping[str, tuple[Numbers, Codes]], sources: list[Source]
    ) -> RowBlock:
        """The rows of a view in one family; an entry has room for so many, so larger ones are made in parts."""
        blocks = []
        for first in range(0, max(1, rows), ROWS):
            some = uses[(uses[:, 1] >= first) & (uses[:, 1] < first + ROWS)]
            use = (np.ascontiguousarray(some[:, 0]), some[:, 1] - first, np.ascontiguousarray(some[:, 2]))
            if family in text:
                entries = text_entries(*use, *text[family])
            else:
                place = FORMULA_FAMILIES.index(family)
                starts = np.array(self._formula_starts)
                entries = np.concatenate([formula_entries(*use, starts, *one, place, WIDTH) for one in sources])
            blocks.append(fold(entries, min(ROWS, rows - first)))
        return joined(blocks)


def encode_latex(latex: Sequence[str]) -> Encoded:
    """The codes of formulas that were not worked out before."""
    parsed = [parse(one) for one in latex]
    return encode(latex, features_of_many([(one.layout, one.operators) for one in parsed]) if parsed else [])
