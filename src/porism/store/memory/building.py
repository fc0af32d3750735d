"""Build what a store in memory reads: the collection, its terms and formulas, and what is learned from them.

Collection and learned parts come from the code that writes them into folders: it works in a temporary folder, which is
read and removed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from porism import __version__
from porism.analysis.learned import Concept, Vocabulary
from porism.analysis.schema import EVERY_FIELD
from porism.corpus.build.finish import counts, digest
from porism.corpus.build.pipeline import build
from porism.corpus.build.select import Options
from porism.corpus.content import formulas_fingerprint
from porism.corpus.sources.documents.plain import BLANK, LONGEST_TITLE, paragraph_html
from porism.corpus.sources.raw import Part, RawComment, RawImage, RawLink, RawPost, RawUser, Record
from porism.corpus.store.collection import Collection
from porism.corpus.store.parts import REBUILD, PartDatabase, Parts
from porism.corpus.store.schema import DATABASE, FORMAT, TABLES
from porism.corpus.update.changes import Changes
from porism.store.embedded.build import build_index
from porism.store.embedded.learned_files import count_words, read_concepts
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.memory.formulas import MemoryFormulas
from porism.store.memory.posts import ExpressionFeatures, MemoryDocumentStore, MemoryTermIndex, read_threads
from porism.store.records import UNKNOWN, Ints, Term, Values


@dataclass
class RawRecords:
    """Records by id. `sources` has the origin of each post, `others` what changes do not take: votes, badges,
    revisions."""

    posts: dict[int, RawPost] = field(default_factory=dict)
    comments: dict[int, RawComment] = field(default_factory=dict)
    users: dict[int, RawUser] = field(default_factory=dict)
    links: dict[tuple[int, int, str], RawLink] = field(default_factory=dict)
    images: dict[str, RawImage] = field(default_factory=dict)
    others: list[Record] = field(default_factory=list)
    sources: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record], source: str) -> RawRecords:
        """Return these records; of several with one id the last one counts."""
        found, changes = cls(), Changes()
        taken = (RawPost, RawComment, RawUser, RawLink, RawImage)
        for record in records:
            if isinstance(record, taken):
                changes.put([record])
            else:
                found.others.append(record)
        return found.changed(changes, source)

    def changed(self, changes: Changes, source: str) -> RawRecords:
        """Return the records after changes. With a question its answers go, and with a post its comments and links."""
        put = {**self.posts, **changes.posts}
        posts = {number: post for number, post in put.items() if number not in changes.deleted_posts}
        questions = {number for number, post in posts.items() if post.kind == "question"}
        posts = {number: post for number, post in posts.items() if number in questions or post.parent_id in questions}
        comments = {**self.comments, **changes.comments}
        links = {**self.links, **changes.links}
        return RawRecords(
            posts,
            {n: one for n, one in comments.items() if one.post_id in posts and n not in changes.deleted_comments},
            {**self.users, **changes.users},
            {key: one for key, one in links.items() if key[0] in questions and key not in changes.deleted_links},
            {**self.images, **changes.images},
            self.others,
            {number: source if number in changes.posts else self.sources[number] for number in posts},
        )

    def __iter__(self) -> Iterator[Record]:
        for records in (self.users, self.posts, self.comments, self.links, self.images):
            yield from records.values()
        yield from self.others


@dataclass
class RecordsSource:
    """RawRecords in memory as the source of a build."""

    records: Sequence[Record]
    path: Path
    kind: str = "dump"
    official: bool = False

    def parts(self) -> list[Part]:
        """Return one part with all records."""
        return [Part("records", len(self.records), 0, lambda: iter(self.records))]


SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
HEADING = re.compile(r"#{1,6}[ \t]+")


def text_posts(texts: Iterable[str]) -> Iterator[RawPost]:
    """Yield a question for each text; ids are 1, 2, 3, ..."""
    for number, text in enumerate(texts, 1):
        title, body = split_title(text.strip())
        html = "\n".join(paragraph_html(paragraph.split("\n")) for paragraph in BLANK.split(body))
        yield RawPost(number, "question", None, title, html, "html")


def split_title(text: str) -> tuple[str, str]:
    """Return the title of a text and its body. A short first line is the title; of a single paragraph its first
    sentence is, which stays in the body.

    >>> split_title("# Cubes\\n\\nThe sum $x^3+y^3$.")
    ('Cubes', 'The sum $x^3+y^3$.')
    >>> split_title("Is $x^2$ even? It is not known.")
    ('Is $x^2$ even?', 'Is $x^2$ even? It is not known.')
    """
    first, _, rest = text.partition("\n")
    if rest.strip() and len(first) <= LONGEST_TITLE:
        return HEADING.sub("", first, 1).strip(), rest.strip()
    possible = (match.end() for match in SENTENCE_END.finditer(first, 0, LONGEST_TITLE + 1))
    ends = (end for end in possible if is_title(first[:end]))
    return first[: next(ends, len(first) if is_title(first) else _cut(first))].rstrip(), text


def is_title(text: str) -> bool:
    """Return whether a text is short enough for a title and ends in no formula that goes on."""
    return len(text) <= LONGEST_TITLE and text.count("$") % 2 == 0


def _cut(text: str) -> int:
    """Return where a long text is cut: after a word, outside formulas."""
    ends = (match.start() for match in re.finditer(r"\s", text[: LONGEST_TITLE + 1]))
    return max((end for end in ends if is_title(text[:end])), default=0)


SMALLEST = 1e-9  # length of a vector, to divide by


class ThreadVectors(NamedTuple):
    """The vectors of a family: a row of `basis` for each term by its code, weighted by its rarity, and a row of
    `threads` for each thread."""

    basis: Values
    threads: Values

    def query(self, keys: Ints, weights: Values) -> Values:
        """Return the vector of terms by their codes and weights, of length 1, or 0 if the basis has none of them."""
        known = keys != UNKNOWN
        vector = weights[known] @ self.basis[keys[known]]
        return np.asarray(vector / max(float(np.linalg.norm(vector)), SMALLEST), np.float32)


@dataclass(frozen=True)
class Contents:
    """What the snapshots of one commit read."""

    collection: Collection
    documents: MemoryDocumentStore
    formulas: MemoryFormulas
    vocabulary: Vocabulary
    concepts: list[Concept]
    vectors: dict[str, ThreadVectors]


def build_contents(records: RawRecords, name: str) -> Contents:
    """Build a collection of records, with everything that a search needs."""
    if not records.posts:
        return _indexed(_empty_collection(name))
    with TemporaryDirectory(prefix="porism-memory-") as folder:
        place = Path(folder)
        # Of the first source, so that the collection knows it when a newer state of it is compared.
        first = Path(next(iter(records.sources.values())))
        build([RecordsSource(list(records), first)], place / "collection", jobs=1)
        with Collection.open(place / "collection", verify="none") as stored:
            build_index(stored, place / "index")
            manifest = stored.manifest
        connection = _in_memory((place / "collection" / DATABASE).read_bytes())
        named = ((source, len(first.resolve().name) + 1, number) for number, source in records.sources.items())
        connection.executemany("UPDATE posts SET source = ? || substr(source, ?) WHERE id = ?", named)
        return _indexed(_opened(connection, name, manifest), place / "index" / "posts")


def _indexed(collection: Collection, learned: Path | None = None) -> Contents:
    """Index a collection; `learned` is where its index in a folder has the posts."""
    features = ExpressionFeatures(collection)
    documents = MemoryDocumentStore(read_threads(collection, features))
    vectors = {} if learned is None else _read_vectors(EmbeddedPosts(learned), documents.terms)
    documents.vectors = {family: one.threads for family, one in vectors.items()}
    formulas, words = MemoryFormulas(collection, features), count_words(collection)
    concepts = [] if learned is None else read_concepts(learned)
    return Contents(collection, documents, formulas, Vocabulary(lambda: words), concepts, vectors)


def _read_vectors(stored: EmbeddedPosts, terms: MemoryTermIndex) -> dict[str, ThreadVectors]:
    """Return the vectors that an index in a folder learned, for the codes of an index in memory. Both number threads by
    their questions."""
    threads = np.arange(stored.size("thread"))
    found = {}
    for family, vectors in stored.vectors.items():
        names = terms.codes.get(family, {})
        codes = stored.terms.statistics([Term(family, text) for text in names], EVERY_FIELD).keys
        at, known = vectors.basis.columns(codes)
        rows = vectors.basis.matrix[at].astype(np.float32) * vectors.basis.idf[at, None] if known.any() else None
        basis = np.zeros((len(codes), vectors.dimensions), np.float32)
        if rows is not None:
            basis[known] = rows[known]
        found[family] = ThreadVectors(basis, vectors.threads(threads))
    return found


def _in_memory(database: bytes = b"") -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    if database:
        connection.deserialize(database)
    return connection


def _opened(connection: sqlite3.Connection, name: str, manifest: dict[str, Any]) -> Collection:
    connection.commit()
    return Collection(Path(name), manifest, {}, Parts([PartDatabase(connection, Path(name), REBUILD)]))


def _empty_collection(name: str) -> Collection:
    """Return a collection without posts, which a build refuses to make."""
    connection = _in_memory()
    connection.executescript(TABLES)
    manifest = {
        "kind": "collection",
        "format": FORMAT,
        "porism": __version__,
        "digest": digest(connection),
        "formulas": formulas_fingerprint(),
        "options": Options().as_dict(),
        "sources": [],
        "first_own_formula": None,
        "counts": counts(connection),
        "ledger": [],
    }
    return _opened(connection, name, manifest)
