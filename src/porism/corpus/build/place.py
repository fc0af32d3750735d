"""The second stage of a build: thread by thread, fields are cleaned, formulas numbered and put in place.

The order of ids is the lab's: threads in the order of questions; in a thread the title, the question, its comments, then each
answer with its comments; in a field as `extract` says.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from porism.corpus.build.base import top
from porism.corpus.build.expressions import Numbers
from porism.corpus.build.fields import Field, make_field
from porism.corpus.build.given import INSERT_FOUND, known_latex, note, progress, top_id
from porism.corpus.build.ledger import Ledger
from porism.corpus.build.missing import Missing
from porism.corpus.sources.raw import TITLE_FORM, Form
from porism.corpus.sources.revisions import removed_formulas
from porism.corpus.store.schema import FORMULA_KINDS
from porism.parallel import Pool, ordered
from porism.text.html import place

THREADS = 100
TITLE, QUESTION, ANSWER, COMMENT = range(len(FORMULA_KINDS))

POST_COLUMNS = (
    "seq, id, kind, parent_id, accepted_id, score, created, owner_id, views, closed, tags, file, title, body, form"
)
COMMENT_COLUMNS = "id, post_id, score, created, owner_id, body, form"
# What is placed, some rows at a time. NOT INDEXED: by an index of the source all its rows would be read and sorted for each batch.
QUESTIONS = f"SELECT {POST_COLUMNS} FROM posts NOT INDEXED WHERE source = ? AND kind = 'question'"
LATE_ANSWERS = f"""SELECT {POST_COLUMNS} FROM posts NOT INDEXED WHERE source = ? AND kind = 'answer' AND NOT EXISTS
    (SELECT 1 FROM posts o WHERE o.source = posts.source AND o.id = posts.parent_id AND o.kind = 'question')"""
LATE_COMMENTS = f"""SELECT seq, {COMMENT_COLUMNS} FROM comments NOT INDEXED WHERE source = ? AND NOT EXISTS
    (SELECT 1 FROM posts o WHERE o.source = comments.source AND o.id = comments.post_id)"""
NEXT = f" AND seq > ? ORDER BY seq LIMIT {THREADS}"
INSERT_POST = f"INSERT OR REPLACE INTO posts VALUES({', '.join('?' * 14)})"
INSERT_COMMENT = "INSERT OR REPLACE INTO comments VALUES(?, ?, ?, ?, ?, ?)"

# Where a row of posts has its parent, a row of comments (after seq) its post.
PARENT = POST_COLUMNS.split(", ").index("parent_id")
COMMENTED = 1 + COMMENT_COLUMNS.split(", ").index("post_id")

RawRow = Sequence[Any]
Task = tuple[list[tuple[str, Form]], bool]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some threads: their rows as (what, thread, columns..) in the order of ids, and how far they bring a stage."""

    stage: str
    rows: list[RawRow]
    last: int


def make_fields(task: Task) -> list[Field]:
    """What a worker does: all fields of a batch."""
    texts, compat = task
    return [make_field(text, form, compat) for text, form in texts]


class Placer:
    """Places the threads of one source; `shift` is added to its ids where sources could clash."""

    def __init__(
        self,
        work: sqlite3.Connection,
        store: sqlite3.Connection,
        numbers: Numbers,
        ledger: Ledger,
        source: int,
        name: str,
        shift: int,
    ) -> None:
        self.work = work
        self.store = store
        self.numbers = numbers
        self.ledger = ledger
        self.source = source
        self.name = name
        self.shift = shift
        self.added_to = max(top(work, "ids"), top(work, "formulas")) > 0
        self.found: list[RawRow] = []
        # Official ids that stand in spans only, met in this batch: the same id may stand in several places.
        self.met: dict[int, str] = {}
        self.missing = Missing(work, source)
        query = "SELECT EXISTS(SELECT 1 FROM revisions WHERE source = ?)"
        self.has_revisions = bool(work.execute(query, (source,)).fetchone()[0])

    def run(self, pool: Pool | None, window: int, compat: bool, advance: Callable[[int], None]) -> None:
        """Place all threads, from where an earlier build stopped, then what belongs to threads of the collection that is added to."""
        self.following = top_id(self.work) + 1
        batches = chain(self._threads(), self._late_answers(), self._late_comments())
        tasks = ((batch, (self._texts(batch, compat), compat)) for batch in batches)
        for batch, fields in ordered(pool, make_fields, tasks, window):
            self._write(batch, iter(fields), compat)
            self.work.executemany(INSERT_FOUND, self.found)
            self.found.clear()
            self.met.clear()
            note(self.work, batch.stage, batch.last)
            self.ledger.save()
            # The store first: if the build dies between the two, the batch is placed again with the same ids.
            self.store.commit()
            self.work.commit()
            advance(sum(row[0] == "post" for row in batch.rows))

    def _batches(self, name: str, query: str, gather: Callable[[RawRow], Iterator[RawRow]]) -> Iterator[Batch]:
        """Rows in the order of `seq`, their first column, each with all that goes with it."""
        stage = f"{name} {self.source}"
        after = progress(self.work, stage)
        while rows := self.work.execute(query + NEXT, (self.source, after)).fetchall():
            after = rows[-1][0]
            yield Batch(stage, [each for row in rows for each in gather(row)], after)

    def _threads(self) -> Iterator[Batch]:
        return self._batches("threads", QUESTIONS, self._thread)

    def _thread(self, question: RawRow) -> Iterator[RawRow]:
        thread = question[1] + self.shift
        for post in (question, *self._answers(question[1])):
            yield from self._with_comments(post, thread)

    def _with_comments(self, post: RawRow, thread: int) -> Iterator[RawRow]:
        yield ("post", thread, *post)
        for comment in self._comments(post[1]):
            yield ("comment", thread, *comment)

    def _late_answers(self) -> Iterator[Batch]:
        gather = partial(self._with_base_thread, PARENT, self._with_comments)
        return self._batches("late answers", LATE_ANSWERS, gather) if self.added_to else iter(())

    def _late_comments(self) -> Iterator[Batch]:
        gather = partial(self._with_base_thread, COMMENTED, lambda row, thread: iter([("comment", thread, *row[1:])]))
        return self._batches("late comments", LATE_COMMENTS, gather) if self.added_to else iter(())

    def _with_base_thread(
        self, column: int, gather: Callable[[RawRow, int], Iterator[RawRow]], row: RawRow
    ) -> Iterator[RawRow]:
        """What belongs to a post of the collection that is added to goes into that post's thread."""
        query = "SELECT thread_id FROM base_posts WHERE id = ?"
        return gather(row, self.work.execute(query, (row[column] + self.shift,)).fetchone()[0])

    def _answers(self, question: int) -> list[RawRow]:
        query = f"SELECT {POST_COLUMNS} FROM posts WHERE source = ? AND parent_id = ? AND kind = 'answer' ORDER BY seq"
        return self.work.execute(query, (self.source, question)).fetchall()

    def _comments(self, post: int) -> list[RawRow]:
        query = f"SELECT {COMMENT_COLUMNS} FROM comments WHERE source = ? AND post_id = ? ORDER BY seq"
        return self.work.execute(query, (self.source, post)).fetchall()

    def _texts(self, batch: Batch, compat: bool) -> list[tuple[str, Form]]:
        texts: list[tuple[str, Form]] = []
        for row in batch.rows:
            body, form = row[-2], row[-1]
            if row[0] == "post":
                kind = QUESTION if row[4] == "question" else ANSWER
                texts.append((self.missing.insert(row[-3], row[3], TITLE, None, compat), TITLE_FORM[form]))
                texts.append((self.missing.insert(body, row[3], kind, None, compat), form))
            else:
                texts.append((self.missing.insert(body, row[3], COMMENT, row[2], compat), form))
        return texts

    def _write(self, batch: Batch, fields: Iterator[Field], compat: bool) -> None:
        for kind, thread, *row in batch.rows:
            if kind == "post":
                self._post(row, fields, thread, compat)
            else:
                self._comment(row, next(fields), thread)

    def _post(self, row: RawRow, fields: Iterator[Field], thread: int, compat: bool) -> None:
        _, number, kind, parent, accepted, score, created, owner, views, closed, tags, file, *_ = row
        post = number + self.shift
        is_question = kind == "question"
        title_field, body_field = next(fields), next(fields)
        title = self._field(title_field, post, thread, TITLE, None)
        body = self._field(body_field, post, thread, QUESTION if is_question else ANSWER, None)
        if self.has_revisions:
            present = {*title_field.latex, *body_field.latex}
            for latex, in_title in removed_formulas(self.work, self.source, number, present, compat):
                where = TITLE if in_title else QUESTION if is_question else ANSWER
                self._number(latex, post, thread, where, None, "d")
        ids = (self._shifted(parent), self._shifted(accepted))
        rest = (
            score,
            created,
            self._shifted(owner),
            views,
            closed,
            tags,
            f"{self.name}/{file}" if file else self.name,
            title,
            body,
        )
        self.store.execute(INSERT_POST, (post, kind, thread, *ids, *rest))

    def _comment(self, row: RawRow, field: Field, thread: int) -> None:
        number, post, score, created, owner, *_ = row
        comment, post = number + self.shift, post + self.shift
        body = self._field(field, post, thread, COMMENT, comment)
        self.store.execute(INSERT_COMMENT, (comment, post, score, created, self._shifted(owner), body))

    def _shifted(self, number: int | None) -> int | None:
        return None if number is None else number + self.shift

    def _field(self, field: Field, post: int, thread: int, kind: int, comment: int | None) -> str:
        """Number the formulas of a field and put them in place."""
        given = [number for number in field.ids if number]
        known = {**self._known(given), **self.met} if given else {}
        latex = list(field.latex)
        ids = list(field.ids)
        for at, number in enumerate(ids):
            if number in known:
                latex[at] = known[number]
            else:
                ids[at] = self._number(latex[at], post, thread, kind, comment, "", number)
                if number:
                    self.met[number] = known[number] = latex[at]
            if number:
                self.work.execute("INSERT OR IGNORE INTO placed VALUES(?, ?)", (number, comment))
        for lost in field.lost:
            self._number(lost, post, thread, kind, comment, "d")
        return place(field.text, latex, ids, field.displayed) if ids else field.text

    def _known(self, ids: list[int]) -> dict[int, str]:
        known = known_latex(self.work, ids)
        missing = [number for number in ids if number not in known]
        if missing and self.added_to:
            known.update(known_latex(self.store, missing, ("formulas", "expressions")))
        return known

    def _number(
        self, latex: str, post: int, thread: int, kind: int, comment: int | None, issue: str, number: int = 0
    ) -> int:
        if not number:
            number, self.following = self.following, self.following + 1
        expression = self.numbers.number(latex)
        self.found.append((number, post, thread, kind, comment, expression, None, None, issue))
        return number
