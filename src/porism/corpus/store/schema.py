"""The tables of a collection. A change here changes the format: raise FORMAT."""

from __future__ import annotations

from typing import NamedTuple

from porism.corpus.post import FormulaKind, PostKind

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
    ("posts", "id"),
    ("comments", "id"),
    ("links", "post_id, other_id, kind"),
    ("titles", "id"),
    ("users", "id"),
    ("tags", "name"),
    ("votes", "post_id, type"),
    ("expressions", "id"),
    ("formulas", "id"),
    ("visuals", "id"),
)
# Columns of bytes, which the digest covers as they are.
BLOBS = {"expressions": "trees"}


class StoredPost(NamedTuple):
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


class StoredComment(NamedTuple):
    """A row of `comments`."""

    id: int
    post_id: int
    score: int
    created: str
    owner_id: int | None
    body: str
