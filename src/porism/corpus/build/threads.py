"""The second stage of a build: thread by thread, fields are segmented and their formulas numbered.

The order of ids is the lab's: threads in the order of questions; in a thread the title, the question, its comments,
then each answer with its comments; in a field as `porism.text.find` numbers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar

from porism.corpus.build import work
from porism.corpus.build.expressions import Workspace
from porism.corpus.build.fields import Field, RawField, field_remarks, make_fields, removed_formulas
from porism.corpus.build.official import FormulaPlace, NumberedFormula, OfficialIds
from porism.corpus.build.work import COMMENT, TITLE, CommentRow, FoundFormula, PostRow
from porism.corpus.sources.raw import TITLE_FORM, Form, RawPost
from porism.corpus.store.schema import CollectionComment, CollectionPost
from porism.parallel import Pool, ordered
from porism.text.segment import Text

THREADS = 200  # of a batch
ROWS = 10  # that are read together: the largest are 2 million characters
BATCH_TEXT = 2_000_000  # characters of a batch, of which several wait for workers
BODY_KIND = {"question": work.QUESTION, "answer": work.ANSWER}

# What is segmented, some rows at a time. NOT INDEXED: an index of the source would read and sort all its rows for each
# batch.
QUESTIONS = f"SELECT {work.columns(PostRow)} FROM posts NOT INDEXED WHERE source = ? AND kind = 'question'"
LATE_ANSWERS = f"""SELECT {work.columns(PostRow)} FROM posts NOT INDEXED WHERE source = ? AND kind = 'answer'
    AND NOT EXISTS
    (SELECT 1 FROM posts o WHERE o.source = posts.source AND o.id = posts.parent_id AND o.kind = 'question')"""
LATE_COMMENTS = f"""SELECT {work.columns(CommentRow)} FROM comments NOT INDEXED WHERE source = ? AND NOT EXISTS
    (SELECT 1 FROM posts o WHERE o.source = comments.source AND o.id = comments.post_id)"""
NEXT = f" AND seq > ? ORDER BY seq LIMIT {ROWS}"
ANSWERS = (
    f"SELECT {work.columns(PostRow)} FROM posts WHERE source = ? AND parent_id = ? AND kind = 'answer' ORDER BY seq"
)
COMMENTS = f"SELECT {work.columns(CommentRow)} FROM comments WHERE source = ? AND post_id = ? ORDER BY seq"
INSERT_FOUND = work.insert("found", FoundFormula)
INSERT_POST, INSERT_COMMENT = work.replace("posts", CollectionPost), work.replace("comments", CollectionComment)
BASE_THREAD = "SELECT thread_id FROM base_posts WHERE id = ?"


class ThreadItem(NamedTuple):
    """A post or a comment, and the thread that it goes to."""

    thread_id: int
    row: PostRow | CommentRow


@dataclass(frozen=True, slots=True)
class Batch:
    """Posts and comments in the order of ids, and how far they bring a stage."""

    stage: str
    items: list[ThreadItem]
    last: int


class SourceIds(NamedTuple):
    """A source and its ids: `shift` is added where those of several sources could clash."""

    number: int
    name: str
    shift: int


Item = TypeVar("Item", PostRow, CommentRow)


def stored_post(
    row: PostRow | RawPost, thread: int, source: str, title: str, body: str, shift: int = 0
) -> CollectionPost:
    """Return a post of a source as the collection stores it; `shift` is added to its ids."""

    def shifted(identifier: int | None) -> int | None:
        return None if identifier is None else identifier + shift

    return CollectionPost(
        id=row.id + shift,
        kind=row.kind,
        thread_id=thread,
        parent_id=shifted(row.parent_id),
        accepted_id=shifted(row.accepted_id),
        score=row.score,
        created=row.created,
        owner_id=shifted(row.owner_id),
        views=row.views,
        closed=row.closed,
        tags=row.tags,
        source=f"{source}/{row.file}" if row.file else source,
        title=title,
        body=body,
    )


class Segmenter:
    """Segments the threads of one source."""

    def __init__(self, space: Workspace, official: OfficialIds, source: SourceIds) -> None:
        self.work, self.store, self.compat = space.work, space.store, space.compat
        self.expressions = space.expressions
        self.ledger = space.ledger
        self.added_to = space.added_to
        self.official = official
        self.source = source.number
        self.name = source.name
        self.shift = source.shift
        self.following = max(official.first_own_id or 1, work.top_id(self.work) + 1)
        # What the current batch adds.
        self.found: list[FoundFormula] = []
        self.posts: list[CollectionPost] = []
        self.comments: list[CollectionComment] = []
        self.has_revisions = work.number(
            self.work, "SELECT EXISTS(SELECT 1 FROM revisions WHERE source = ?)", self.source
        )

    def run(self, pool: Pool | None, advance: Callable[[int], None]) -> None:
        """Segment what an earlier build left: all threads, then what belongs to threads that are added to."""
        batches = self._batches("threads", PostRow, QUESTIONS, self._thread)
        if self.added_to:
            answers = self._batches("late answers", PostRow, LATE_ANSWERS, self._late_answer)
            comments = self._batches("late comments", CommentRow, LATE_COMMENTS, self._late_comment)
            batches = chain(batches, answers, comments)
        tasks = ((batch, self._fields(batch)) for batch in batches)
        for batch, fields in ordered(pool, partial(make_fields, compat=self.compat), tasks):
            self._write(batch, fields)
            work.note(self.work, batch.stage, batch.last)
            self.ledger.save()
            # The store first: if the build dies between the two, the batch is segmented again with the same ids.
            self.store.commit()
            self.work.commit()
            advance(sum(isinstance(item.row, PostRow) for item in batch.items))

    def _batches(
        self, name: str, kind: type[Item], query: str, gather: Callable[[Item], Iterator[ThreadItem]]
    ) -> Iterator[Batch]:
        """Yield rows in the order of `seq`, each with the posts and comments that belong to it."""
        stage = f"{name} {self.source}"
        after = work.progress(self.work, stage)
        items: list[ThreadItem] = []
        threads = characters = 0
        while found := work.rows(self.work, kind, query + NEXT, self.source, after):
            for row in found:
                own = list(gather(row))
                items += own
                after, threads = row.seq, threads + 1
                characters += sum(len(item.row.body) for item in own)
                # Text is limited as well as the number of threads, so that memory stays flat where posts are large.
                if threads == THREADS or characters > BATCH_TEXT:
                    yield Batch(stage, items, after)
                    items, threads, characters = [], 0, 0
        if items:
            yield Batch(stage, items, after)

    def _thread(self, question: PostRow) -> Iterator[ThreadItem]:
        for post in (question, *work.rows(self.work, PostRow, ANSWERS, self.source, question.id)):
            yield from self._with_comments(post, question.id + self.shift)

    def _with_comments(self, post: PostRow, thread: int) -> Iterator[ThreadItem]:
        yield ThreadItem(thread, post)
        for comment in work.rows(self.work, CommentRow, COMMENTS, self.source, post.id):
            yield ThreadItem(thread, comment)

    def _late_answer(self, answer: PostRow) -> Iterator[ThreadItem]:
        return self._with_comments(answer, self._base_thread(answer.parent_id or 0))

    def _late_comment(self, comment: CommentRow) -> Iterator[ThreadItem]:
        yield ThreadItem(self._base_thread(comment.post_id), comment)

    def _base_thread(self, post: int) -> int:
        """Return the thread of a post of the collection that is added to."""
        return work.number(self.work, BASE_THREAD, post + self.shift)

    def _fields(self, batch: Batch) -> list[RawField]:
        fields: list[RawField] = []

        def add(text: str, form: Form, *place: int) -> None:
            fields.append(RawField(self.official.with_spans(text, self.source, *place), form))

        for item in batch.items:
            row = item.row
            if isinstance(row, PostRow):
                add(row.title, TITLE_FORM[row.form], row.id, TITLE)
                add(row.body, row.form, row.id, BODY_KIND[row.kind])
            else:
                add(row.body, row.form, row.post_id, COMMENT, row.id)
        return fields

    def _write(self, batch: Batch, fields: Sequence[Field]) -> None:
        """Number the formulas of a batch, and write it."""
        self.official.read_batch([field.text for field in fields])
        following = iter(fields)
        for thread, row in batch.items:
            if isinstance(row, PostRow):
                self._post(thread, row, next(following), next(following))
            else:
                self._comment(thread, row, next(following))
        self.store.executemany(INSERT_POST, self.posts)
        self.store.executemany(INSERT_COMMENT, self.comments)
        self.work.executemany(INSERT_FOUND, self.found)
        self.official.write_batch()
        for rows_of_batch in (self.posts, self.comments, self.found):
            rows_of_batch.clear()

    def _post(self, thread: int, row: PostRow, title: Field, body: Field) -> None:
        in_title, in_body = (FormulaPlace(row.id + self.shift, thread, kind) for kind in (TITLE, BODY_KIND[row.kind]))
        texts = self._text(title, in_title).stored, self._text(body, in_body).stored
        if self.has_revisions:
            present = {formula.text for field in (title, body) for formula in field.text.formulas}
            for removed in removed_formulas(self.work, self.source, row.id, present, self.compat):
                self._add(removed.latex, in_title if removed.field == "title" else in_body, issue="d")
        self.posts.append(stored_post(row, thread, self.name, *texts, self.shift))

    def _comment(self, thread: int, row: CommentRow, field: Field) -> None:
        comment, post = row.id + self.shift, row.post_id + self.shift
        body = self._text(field, FormulaPlace(post, thread, COMMENT, comment))
        owner = None if row.owner_id is None else row.owner_id + self.shift
        self.comments.append(CollectionComment(comment, post, row.score, row.created, owner, body.stored))

    def _text(self, field: Field, place: FormulaPlace) -> Text:
        """Number the formulas of a field."""
        for remark in field_remarks(field, f"post {place.post_id}"):
            self.ledger.drop(remark.what, remark.why, remark.where)
        formulas = field.text.formulas
        for at in field.order:
            formulas[at] = self.official.numbered(formulas[at], place, self._add)
        for latex in field.lost:
            self._add(latex, place, issue="d")
        return field.text.with_formulas(formulas) if formulas else field.text

    def _add(self, latex: str, place: FormulaPlace, official: int = 0, *, issue: str = "") -> NumberedFormula:
        """Add a formula with its official id or, for 0, the next one."""
        formula_id = official
        if not official:
            formula_id, self.following = self.following, self.following + 1
        expression = self.expressions.intern(latex)
        self.found.append(FoundFormula(formula_id, *place, expression, issue=issue))
        return NumberedFormula(formula_id, expression, latex)
