"""The tables of a collection. A change here changes the format: raise FORMAT."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from porism.corpus.content import Expression
from porism.corpus.post import Comment, Formula, FormulaKind, Post, PostKind
from porism.integrity import DamageError
from porism.text.segment import Text

FORMAT = 2
DATABASE = "collection.sqlite"
MANIFEST = "manifest.json"

# The table of formulas, which is the long one, stores a kind as its place here.
FORMULA_KINDS: tuple[FormulaKind, ...] = ("title", "question", "answer", "comment")

# Columns `title` and `body` hold the stored form of a `porism.text.segment.Text`.
TABLES = """
CREATE TABLE IF NOT EXISTS posts(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, thread_id INTEGER NOT NULL, parent_id INTEGER, accepted_id INTEGER,
    score INTEGER NOT NULL, created TEXT NOT NULL, owner_id INTEGER, views INTEGER, closed TEXT NOT NULL,
    tags TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS comments(
    id INTEGER PRIMARY KEY, post_id INTEGER NOT NULL, score INTEGER NOT NULL, created TEXT NOT NULL, owner_id INTEGER,
    body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS links(
    post_id INTEGER NOT NULL, other_id INTEGER NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY(post_id, other_id, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS titles(id INTEGER PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS users(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, reputation INTEGER NOT NULL,
    gold INTEGER NOT NULL, silver INTEGER NOT NULL, bronze INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS tags(name TEXT PRIMARY KEY, posts INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes(
    post_id INTEGER NOT NULL, type INTEGER NOT NULL, number INTEGER NOT NULL, bounty INTEGER NOT NULL,
    PRIMARY KEY(post_id, type)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS expressions(
    id INTEGER PRIMARY KEY, latex TEXT NOT NULL, mathml TEXT, content TEXT,
    trees BLOB NOT NULL, path TEXT NOT NULL, problem TEXT NOT NULL, key INTEGER NOT NULL, visual_id INTEGER);
CREATE TABLE IF NOT EXISTS formulas(
    id INTEGER PRIMARY KEY, post_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, kind INTEGER NOT NULL,
    comment_id INTEGER, expression_id INTEGER NOT NULL, visual_id INTEGER, old_visual_id INTEGER, issue TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS visuals(
    id INTEGER PRIMARY KEY, expression_id INTEGER NOT NULL, formulas INTEGER NOT NULL, posts INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS images(name TEXT PRIMARY KEY, data BLOB NOT NULL);
"""

INDEXES = """
CREATE INDEX IF NOT EXISTS posts_thread ON posts(thread_id, id);
CREATE INDEX IF NOT EXISTS comments_post ON comments(post_id, id);
CREATE INDEX IF NOT EXISTS links_other ON links(other_id);
CREATE INDEX IF NOT EXISTS formulas_post ON formulas(post_id, id);
CREATE INDEX IF NOT EXISTS formulas_visual ON formulas(visual_id, id);
CREATE INDEX IF NOT EXISTS expressions_key ON expressions(key, id);
"""

# The tables whose rows belong to a post, and the column of its id.
POST_OF_ROW = {"posts": "id", "comments": "post_id", "links": "post_id", "votes": "post_id", "formulas": "post_id"}
# The posts of earlier parts that a later part of a collection replaces or deletes.
REMOVED_TABLE = "CREATE TABLE removed(id INTEGER PRIMARY KEY);"

# The tables that the digest covers, and their order.
DIGESTED = (
    ("posts", "id"), ("comments", "id"), ("links", "post_id, other_id, kind"), ("titles", "id"), ("users", "id"),
    ("tags", "name"), ("votes", "post_id, type"), ("expressions", "id"), ("formulas", "id"), ("visuals", "id"),
)  # fmt: skip
# Columns of bytes, which the digest covers as they are.
BLOBS = {"expressions": "trees"}


class CollectionPost(NamedTuple):
    """A row of `posts`."""

    id: int
    kind: PostKind
    thread_id: int
    parent_id: int | None
    accepted_id: int | None
    score: int
    created: str
    owner_id: int | None
    views: int | None
    closed: str
    tags: str
    source: str
    title: str
    body: str


class CollectionComment(NamedTuple):
    """A row of `comments`."""

    id: int
    post_id: int
    score: int
    created: str
    owner_id: int | None
    body: str


T = TypeVar("T")
UNREADABLE = (TypeError, ValueError, IndexError, AttributeError)


def _report_damage(convert: Callable[[tuple[Any, ...]], T]) -> Callable[[tuple[Any, ...]], T]:
    """Make a conversion report values of the wrong type, which only damage can cause."""

    @wraps(convert)
    def converted(row: tuple[Any, ...]) -> T:
        try:
            return convert(row)
        except UNREADABLE as error:
            fix = "find the damaged file: porism store verify COLLECTION"
            raise DamageError(f"a stored row is damaged ({error})", where=str(row[0])[:40], fix=fix) from error

    return converted


def to_text(stored: object) -> Text:
    """Return the text of a stored value."""
    if not isinstance(stored, str):
        raise TypeError("a text is not stored as text")
    return Text(stored)


@_report_damage
def to_post(row: tuple[Any, ...]) -> Post:
    """Return the post of a stored row."""
    stored = CollectionPost._make(row)
    return Post(
        id=stored.id,
        kind=stored.kind,
        thread_id=stored.thread_id,
        body=to_text(stored.body),
        title=to_text(stored.title),
        tags=tuple(stored.tags.split()),
        score=stored.score,
        created=stored.created,
        owner_id=stored.owner_id,
        parent_id=stored.parent_id,
        accepted_id=stored.accepted_id,
        views=stored.views,
        closed=stored.closed,
        source=stored.source,
    )


@_report_damage
def to_comment(row: tuple[Any, ...]) -> Comment:
    """Return the comment of a stored row."""
    stored = CollectionComment._make(row)
    return Comment(stored.id, stored.post_id, to_text(stored.body), stored.score, stored.created, stored.owner_id)


@_report_damage
def to_formula(row: tuple[Any, ...]) -> Formula:
    """Return the formula of a row of the query FORMULA."""
    number, post_id, thread_id, kind, *rest = row
    return Formula(number, post_id, thread_id, FORMULA_KINDS[kind], *rest)


@_report_damage
def to_expression(row: tuple[Any, ...]) -> Expression:
    """Return the expression of a stored row."""
    number, latex, mathml, content, trees, path, problem, _, visual_id = row
    return Expression(number, latex, mathml, content, trees, path, problem, visual_id)
