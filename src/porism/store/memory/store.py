"""A store in memory: records in dictionaries. Each commit builds everything anew, which suits small collections and
tests.

    store = MemoryStore()
    with store.writer() as writer:
        writer.put([RawPost(...)])
        writer.commit()
    Engine(store.snapshot(), store=store).search("...")

Ids of formulas and visual ids are numbered anew by each commit; ids of posts stay. Collection and learned parts come
from the code that writes them into folders: it works in a temporary folder, which is read and removed."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from porism import __version__
from porism.analysis.learned import Vocabulary
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
from porism.corpus.update.delta import DeltaWriter
from porism.integrity import StoredFile, Verification
from porism.locks import BusyError
from porism.progress import Progress
from porism.store import MEMORY
from porism.store.embedded.build import build_index
from porism.store.embedded.learned import count_words, read_concepts
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.segments.writer import LocalWriter
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.local import LocalSnapshot, counts_of
from porism.store.memory.index import (
    ExpressionFeatures,
    MemoryDocumentStore,
    MemoryFormulas,
    MemoryTermIndex,
    read_threads,
)
from porism.store.protocols import Learned, LogPosition, StoreStatus
from porism.store.records import UNKNOWN, Ints, Option, StoreInfo, Term, Values

SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
HEADING = re.compile(r"#{1,6}[ \t]+")
SMALLEST = 1e-9  # length of a vector, to divide by
OPTIONS: frozenset[Option] = frozenset({"weightings", "units"})
FIRST_GENERATION = 1


@dataclass
class RawRecords:
    """Records by id; the `sources` of posts, and what changes do not take: votes, badges, revisions."""

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
    learned: Learned


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
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.deserialize((place / "collection" / DATABASE).read_bytes())
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
    return Contents(collection, documents, formulas, Learned(formulas, concepts, Vocabulary(lambda: words), vectors))


def _read_vectors(stored: EmbeddedPosts, terms: MemoryTermIndex) -> dict[str, ThreadVectors]:
    """Return the vectors that an index in a folder learned, by the codes here. Threads have the same numbers."""
    threads = np.arange(stored.size("thread"))
    found = {}
    for family, vectors in stored.vectors.items():
        names = terms.codes.get(family, {})
        codes = stored.terms.statistics([Term(family, text) for text in names], EVERY_FIELD).keys
        at = find_sorted(vectors.basis.codes, codes)
        known = at >= 0
        basis = np.zeros((len(codes), vectors.dimensions), np.float32)
        basis[known] = vectors.basis.matrix[at[known]].astype(np.float32) * vectors.basis.idf[at[known], None]
        found[family] = ThreadVectors(basis, vectors.threads(threads))
    return found


def _opened(connection: sqlite3.Connection, name: str, manifest: dict[str, Any]) -> Collection:
    connection.commit()
    return Collection(Path(name), manifest, {}, Parts([PartDatabase(connection, Path(name), REBUILD)]))


def _empty_collection(name: str) -> Collection:
    """Return a collection without posts, which a build refuses to make."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
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


class MemoryCommit(NamedTuple):
    """What a commit replaces as a whole."""

    records: RawRecords
    contents: Contents
    position: LogPosition
    ranking: str
    snapshot: LocalSnapshot


class MemoryStore:
    """A store in memory. Many threads may read it; one writer changes it at a time."""

    address = MEMORY

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self._lock = Lock()
        self._state = self._opened(RawRecords(), FIRST_GENERATION)

    @classmethod
    def of(cls, records: Iterable[Record], name: str = "memory") -> MemoryStore:
        """Return a store of these records. Unlike a writer it also takes votes, badges and revisions."""
        store = cls(name)
        store._state = store._opened(RawRecords.of(records, name), FIRST_GENERATION)
        return store

    def status(self) -> StoreStatus:
        """Return what the newest commit is."""
        state, info = self._state, self._state.snapshot.info
        counts = {name: state.contents.collection.count(name) for name in ("posts", "formulas", "visuals")}
        return StoreStatus(
            info.generation, info.fingerprint, 1, 0, self._committed, state.position, counts, ranking=state.ranking
        )

    def version(self) -> object:
        """Return the number of the newest commit."""
        return self._state.snapshot.info.generation

    def maintain(self, everything: bool = False, progress: Progress | None = None) -> bool:
        """Do nothing: each commit builds everything anew."""
        return False

    def files(self) -> list[StoredFile]:
        """Return no files."""
        return []

    def verify(self, progress: Progress | None = None) -> list[Verification]:
        """Return nothing: there are no files that could be damaged."""
        return []

    def snapshot(self) -> LocalSnapshot:
        """Return the newest commit."""
        return self._state.snapshot

    def writer(self, source: str = "update", wait: float = 0.0) -> MemoryWriter:
        """Return a writer."""
        return MemoryWriter(self, source, wait)

    def record_ranking(self, text: str) -> None:
        """Store the factors of ranking that the collection chose."""
        state = self._state
        if text != state.ranking:
            snapshot = self._snapshot(state.contents, text, state.snapshot.info.generation + 1)
            self._state = state._replace(ranking=text, snapshot=snapshot)

    def _opened(
        self, records: RawRecords, generation: int, position: LogPosition | None = None, ranking: str = ""
    ) -> MemoryCommit:
        contents = build_contents(records, self._name)
        snapshot = self._snapshot(contents, ranking, generation)
        self._committed = time.time()
        return MemoryCommit(records, contents, position or LogPosition(), ranking, snapshot)

    def _snapshot(self, contents: Contents, ranking: str, generation: int) -> LocalSnapshot:
        collection, documents, formulas = contents.collection, contents.documents, contents.formulas
        counts = counts_of(documents, formulas)
        info = StoreInfo(self.address, self._name, generation, collection.digest, *counts, OPTIONS)
        return LocalSnapshot(info, replace(contents.learned, ranking=ranking), collection, documents, formulas)


class MemoryWriter(LocalWriter):
    """Changes a store in memory. Use it in a `with` statement; changes that are not committed are dropped."""

    def __init__(self, store: MemoryStore, source: str, wait: float) -> None:
        super().__init__(source)
        self._store = store
        self._wait = wait

    def __enter__(self) -> MemoryWriter:
        if not self._store._lock.acquire(timeout=self._wait):
            fix = "wait for it, or give `wait`"
            raise BusyError("another writer changes it now", where=self._store.address, fix=fix)
        return self

    def __exit__(self, *error: Any) -> None:
        self._store._lock.release()

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the store has."""
        return self._store._state.position

    def collection(self) -> AbstractContextManager[Collection]:
        """Return the collection, which stays open."""
        return nullcontext(self._store._state.contents.collection)

    def write(self, changes: Changes, made: DeltaWriter, position: LogPosition | None) -> None:
        """Build everything anew, if the changes changed anything; keep the position."""
        store, state = self._store, self._store._state
        place = position or state.position
        if made.delta:
            records = state.records.changed(changes, self.source)
            store._state = store._opened(records, state.snapshot.info.generation + 1, place, state.ranking)
        else:
            store._state = state._replace(position=place)
