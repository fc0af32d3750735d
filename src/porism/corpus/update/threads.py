"""Threads before and after a change: their rows, and how changes are applied to them.

Fields that stay the same keep the ids of their formulas. New fields are segmented as a build segments them, and
numbered in the same order."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from porism.corpus.build.expressions import expression_key
from porism.corpus.build.fields import RawField, field_remarks, make_field_of_any_text
from porism.corpus.build.official import FormulaPlace
from porism.corpus.build.parsing import SourceExpression, StoredExpression, parse_all
from porism.corpus.build.threads import BODY_KIND, stored_post
from porism.corpus.build.work import COMMENT, TITLE, FoundFormula, columns
from porism.corpus.content import VoteCount
from porism.corpus.post import Link
from porism.corpus.sources.raw import OWN_IDS, TITLE_FORM, Dropped, RawComment, RawPost
from porism.corpus.store.parts import Parts
from porism.corpus.store.schema import CollectionComment, CollectionPost
from porism.corpus.update.changes import Changes
from porism.deadline import ProcessorLimitExceeded, processor_limit
from porism.text.segment import Text

BY_KEY = f"SELECT {columns(StoredExpression)} FROM expressions WHERE key = ? ORDER BY id"
BY_ID = f"SELECT {columns(StoredExpression)} FROM expressions WHERE id = ?"


def highest(parts: Parts, column: str, table: str) -> int:
    """Return the highest value of a column over all parts, also in removed rows, so that no id is used twice."""
    query = f"SELECT max({column}) FROM main.{table}"
    return max((one.one(query)[0] or 0) for one in parts.stores)


class Expressions:
    """The expressions of a new part: those that its formulas use, known or new."""

    def __init__(self, parts: Parts, official: bool) -> None:
        """Continue the ids of the parts; where there are official visual ids, new ones start above them."""
        self._parts = parts
        self.used: dict[int, StoredExpression] = {}
        self._by_key: dict[str, int] = {}
        self._visual_of_key: dict[int, int] = {}
        self.first_new = 1 + highest(parts, "id", "expressions")
        self._next = self.first_new
        visual = 1 + max(highest(parts, "visual_id", "formulas"), highest(parts, "id", "visuals"))
        self._next_visual = max(visual, OWN_IDS if official else 1)

    def intern(self, latex: Sequence[str]) -> list[int]:
        """Return the ids of expressions, new ids for new ones, in order."""
        new = [text for text in dict.fromkeys(latex) if text not in self._by_key]
        for text, trees in zip(new, parse_all([SourceExpression(text, None, None) for text in new]), strict=True):
            same = list(map(StoredExpression._make, self._parts.newest_rows(BY_KEY, (trees.key,))))
            known = next((one for one in same if expression_key(one.latex, one.mathml) == text), None)
            if known is None:
                visual = self._visual_of_key.get(trees.key) or (same[0].visual_id if same else None)
                if visual is None:
                    visual, self._next_visual = self._next_visual, self._next_visual + 1
                self._visual_of_key[trees.key] = visual
                packed = (trees.packed, trees.path, trees.problem, trees.key)
                known = StoredExpression(self._next, text, None, None, *packed, visual)
                self._next += 1
            self._by_key[text] = known.id
            self.used[known.id] = known
        return [self._by_key[text] for text in latex]

    def use(self, number: int) -> StoredExpression:
        """Return an expression by its id, which the part then holds."""
        if number not in self.used:
            self.used[number] = StoredExpression._make(self._parts.one(BY_ID, (number,)))
        return self.used[number]

    @property
    def last(self) -> int:
        """The highest expression id."""
        return self._next - 1

    def write(self, store: sqlite3.Connection) -> None:
        """Write the expressions that are used."""
        marks = ", ".join("?" * len(StoredExpression._fields))
        store.executemany(f"INSERT INTO expressions VALUES({marks})", [self.used[one] for one in sorted(self.used)])


# Processor time that a change may take, and for each character of its body; an ordinary one takes a tenth of that.
CHANGE_SECONDS, SECONDS_OF_CHARACTER = 5.0, 20e-6

POSTS = f"SELECT {columns(CollectionPost)} FROM posts WHERE thread_id = ? ORDER BY id"
COMMENTS = f"SELECT {columns(CollectionComment)} FROM comments WHERE post_id = ? ORDER BY id"
FORMULAS = f"SELECT {columns(FoundFormula)} FROM formulas WHERE post_id = ? ORDER BY id"
LINKS = "SELECT post_id, other_id, kind FROM links WHERE post_id = ? ORDER BY other_id, kind"
VOTES = "SELECT post_id, type, number, bounty FROM votes WHERE post_id = ? ORDER BY type"


@dataclass
class ThreadRows:
    """All rows of one thread. An empty one has no posts."""

    posts: dict[int, CollectionPost] = field(default_factory=dict)
    comments: dict[int, CollectionComment] = field(default_factory=dict)
    links: dict[tuple[int, int, str], Link] = field(default_factory=dict)
    votes: list[VoteCount] = field(default_factory=list)
    formulas: list[FoundFormula] = field(default_factory=list)


def read_thread(parts: Parts, question: int) -> ThreadRows:
    """Read the rows of a thread; empty if there is none."""
    found = ThreadRows()
    for post in map(CollectionPost._make, parts.rows(POSTS, (question,))):
        found.posts[post.id] = post
        found.comments |= {one.id: one for one in map(CollectionComment._make, parts.rows(COMMENTS, (post.id,)))}
        found.votes += map(VoteCount._make, parts.rows(VOTES, (post.id,)))
        found.formulas += map(FoundFormula._make, parts.rows(FORMULAS, (post.id,)))
    found.formulas.sort(key=lambda one: one.id)
    found.links = {tuple(row): Link(*row) for row in parts.rows(LINKS, (question,))}
    return found


class _Edit(NamedTuple):
    """A thread that is edited: its rows before, the formulas of each of its fields, and its new rows."""

    question: int
    old: ThreadRows
    formulas: dict[FormulaPlace, list[FoundFormula]]
    new: ThreadRows

    def keep(self, *places: FormulaPlace) -> None:
        """Keep the formulas of fields that stay the same."""
        for place in places:
            self.new.formulas += self.formulas.get(place, [])


class SlowChange(Exception):
    """A post or comment that takes more processor time to read than it may."""

    def __init__(self, what: Literal["posts", "comments"], number: int, why: str) -> None:
        super().__init__(why)
        self.what = what
        self.number = number
        self.why = why


@contextmanager
def _in_time(what: Literal["posts", "comments"], record: RawPost | RawComment) -> Iterator[None]:
    """Limit the processor time of a change, so that one slow change does not hold up the others."""
    try:
        with processor_limit(CHANGE_SECONDS + SECONDS_OF_CHARACTER * len(record.body)):
            yield
    except ProcessorLimitExceeded as error:
        raise SlowChange(what, record.id, error.message) from None


class ThreadEditor:
    """Apply changes to threads."""

    def __init__(
        self, changes: Changes, expressions: Expressions, first_formula: int, source: str, compat: bool
    ) -> None:
        self._expressions = expressions
        self._changes = changes
        self._next = first_formula
        self._source = source
        self._compat = compat
        self.remarks: list[Dropped] = []  # on fields that are kept in another way than they should be
        self._posts: defaultdict[int, list[RawPost]] = defaultdict(list)  # of each thread
        for post in changes.posts.values():
            self._posts[post.id if post.kind == "question" else post.parent_id or 0].append(post)
        self._comments: defaultdict[int, list[RawComment]] = defaultdict(list)  # on each post
        for comment in changes.comments.values():
            self._comments[comment.post_id].append(comment)
        self._links: defaultdict[int, list[Link]] = defaultdict(list)
        for link in changes.links.values():
            self._links[link.post_id].append(Link(link.post_id, link.other_id, link.kind))

    def leave_out(self, change: SlowChange, question: int, old: ThreadRows) -> Iterator[Dropped]:
        """Do not make a change of a thread; yield it, and what cannot be made without it."""
        if change.what == "comments":
            comment = self._changes.comments.pop(change.number)
            self._comments[comment.post_id].remove(comment)
        else:
            self._posts[question].remove(self._changes.posts.pop(change.number))
        yield Dropped(change.what, change.why, str(change.number))
        if change.number == question and question not in old.posts:
            for answer in self._posts.pop(question, []):
                del self._changes.posts[answer.id]
                yield Dropped("posts", "an answer whose question is left out", str(answer.id))

    def apply(self, question: int, old: ThreadRows) -> ThreadRows:
        """Return the thread after the changes, empty without a question. Raise SlowChange for one to leave out."""
        new = ThreadRows()
        formulas: defaultdict[FormulaPlace, list[FoundFormula]] = defaultdict(list)
        for one in old.formulas:
            formulas[FormulaPlace(one.post_id, question, one.kind, one.comment_id)].append(one)
        edit = _Edit(question, old, formulas, new)
        gone = self._changes.posts.keys() | self._changes.deleted_posts
        kept = {number: post for number, post in old.posts.items() if number not in gone}
        put = {post.id: post for post in self._posts[question]}
        if question not in kept and question not in put:
            return new
        for number in sorted(kept.keys() | put.keys(), key=lambda number: (number != question, number)):
            if number in put:
                with _in_time("posts", put[number]):
                    new.posts[number] = self._post(put[number], edit)
            else:
                new.posts[number] = kept[number]
                kinds = (TITLE, BODY_KIND[kept[number].kind])
                edit.keep(*(FormulaPlace(number, question, kind) for kind in kinds))
            self._add_comments(number, edit)
        new.links = {key: one for key, one in old.links.items() if key not in self._changes.deleted_links}
        new.links |= {(one.post_id, one.other_id, one.kind): one for one in self._links[question]}
        new.votes = [vote for vote in old.votes if vote.post_id in new.posts]
        new.formulas.sort(key=lambda one: one.id)
        return new

    def _add_comments(self, post: int, edit: _Edit) -> None:
        gone = self._changes.comments.keys() | self._changes.deleted_comments
        kept = {one.id: one for one in edit.old.comments.values() if one.post_id == post and one.id not in gone}
        put = {one.id: one for one in self._comments[post]}
        edit.keep(FormulaPlace(post, edit.question, COMMENT))  # of a list that does not say which comment
        for number in sorted(kept.keys() | put.keys()):
            place = FormulaPlace(post, edit.question, COMMENT, number)
            if number in kept:
                edit.new.comments[number] = kept[number]
                edit.keep(place)
                continue
            raw, before = put[number], edit.old.comments.get(number)
            with _in_time("comments", raw):
                body = self._text(RawField(raw.body, raw.form), place, before and before.body, edit)
            edit.new.comments[number] = CollectionComment(number, post, raw.score, raw.created, raw.owner_id, body)

    def _post(self, raw: RawPost, edit: _Edit) -> CollectionPost:
        old, thread = edit.old.posts.get(raw.id), edit.question
        in_title, in_body = (FormulaPlace(raw.id, thread, kind) for kind in (TITLE, BODY_KIND[raw.kind]))
        title = self._text(RawField(raw.title, TITLE_FORM[raw.form]), in_title, old and old.title, edit)
        body = self._text(RawField(raw.body, raw.form), in_body, old and old.body, edit)
        return stored_post(raw, thread, self._source, title, body)

    def _text(self, raw: RawField, place: FormulaPlace, before: str | None, edit: _Edit) -> str:
        """Return the stored form of a field and add its formulas; those of an unchanged field stay as they are."""
        found = make_field_of_any_text(raw.text, raw.form, self._compat)
        if before is not None and same_text(found.text, Text(before)):
            edit.keep(place)
            return before
        self.remarks += field_remarks(found, f"post {place.post_id}")
        segments = found.text.formulas
        ids = self._expressions.intern([segments[at].text for at in found.order])
        for at, expression in zip(found.order, ids, strict=True):
            number = self._add(expression, place, edit.new)
            segments[at] = segments[at]._replace(formula_id=number, expression_id=expression)
        for expression in self._expressions.intern(found.lost):
            self._add(expression, place, edit.new, "d")
        return found.text.with_formulas(segments).stored if segments else found.text.stored

    def _add(self, expression: int, place: FormulaPlace, new: ThreadRows, issue: str = "") -> int:
        """Add a formula to the thread, and return its id."""
        number, self._next = self._next, self._next + 1
        visual = self._expressions.use(expression).visual_id
        new.formulas.append(FoundFormula(number, *place, expression, visual, issue=issue))
        return number


def same_text(new: Text, old: Text) -> bool:
    """Return whether two texts are equal but for the ids of their formulas."""
    return [one._replace(formula_id=0, expression_id=0) for one in new.segments] == [
        one._replace(formula_id=0, expression_id=0) for one in old.segments
    ]
