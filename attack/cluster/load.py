"""Readers and a writer of a collection in a cluster, while its nodes die: answers are compared, acknowledged changes
are looked for."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from porism.analysis.schema import THREAD
from porism.corpus.sources.raw import RawPost
from porism.corpus.update.changes import Changes
from porism.deadline import time_limit
from porism.search.engine import Engine
from porism.store.opensearch.store import ClusterStore
from porism.store.records import Term, TermQuery
from porism.store.weighting import BM25
from porism.text.words import stem

QUERY_SECONDS = 30.0
PAUSE = 0.05
WRITER_PAUSE = 0.5
LEASE_SECONDS = 90.0  # that a writer waits for the lease of one that failed
FIRST_ID = 900_000_001
WORD = re.compile(r"trialword\d+")
KEPT = 5  # new questions, after which the oldest one is deleted again


def answer(engine: Engine, query: str) -> list[int]:
    """Return the ids of the first ten answers."""
    return [hit.id for hit in engine.search(query, k=10).hits]


@dataclass
class Readers:
    """Threads that search, each answer compared with the expected one. `engine` is called with the number of the reader
    for each query, so that readers may follow."""

    engine: Callable[[int], Engine]
    expected: dict[str, list[int]]
    count: int = 8
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(self.count)
        ]

    def _run(self, reader: int) -> None:
        queries = list(self.expected)
        number = reader * len(queries) // self.count
        while not self._stop.is_set():
            number = (number + 1) % len(queries)
            query = queries[number]
            began = time.monotonic()
            try:
                with time_limit(QUERY_SECONDS):
                    found = answer(self.engine(reader), query)
            except Exception as error:  # whatever it is, a reader would have seen it
                self.failures.append(f"{query}: {type(error).__name__}: {error}")
            else:
                self.seconds.append(time.monotonic() - began)
                if found != self.expected[query]:
                    self.wrong.append(f"{query}: {found}, not {self.expected[query]}")
            time.sleep(PAUSE)

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(QUERY_SECONDS + 10)


def made_up(number: int, post: int) -> RawPost:
    """Return a question whose word and formula no other one has."""
    body = f"<p>Is $w_{{{number}}}^2+{number}$ a square? The word is trialword{number}.</p>"
    return RawPost(post, "question", None, f"Trial {number}: squares", body, "html", "number-theory")


@dataclass
class Writer:
    """Changes a collection through the writer of its store, one commit after another, and notes what was acknowledged.

    A commit adds a question, replaces one of the collection's own, and deletes a question of an earlier commit. One
    that failed may have been made or not: it is made again.
    """

    store: ClusterStore
    own: Sequence[int]  # questions of the collection, which the writer replaces
    changes: Changes = field(default_factory=Changes)  # all that were acknowledged
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._stop.is_set():
            number = len(self.seconds) + 1
            posts = [made_up(number, FIRST_ID + number), made_up(number, self.own[number % len(self.own)])]
            gone = [FIRST_ID + number - KEPT] if number % 2 and number > KEPT else []
            began = time.monotonic()
            try:
                with self.store.writer(wait=LEASE_SECONDS) as writer:
                    writer.put(posts)
                    writer.delete(gone)
                    writer.commit()
                    self.seconds.append(time.monotonic() - began)
                    self.changes.put(posts)
                    self.changes.delete(gone)
            except Exception as error:  # whatever it is, the caller of a writer would have seen it
                self.failures.append(f"change {number}: {type(error).__name__}: {error}")
            time.sleep(WRITER_PAUSE)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(LEASE_SECONDS + 120)

    def lost(self) -> list[str]:
        """Return the acknowledged changes that the newest generation does not have: as posts, and as words that
        searches find."""
        snapshot = ClusterStore.open(self.store.address).snapshot()
        posts = snapshot.content.posts_by_id(sorted(self.changes.posts))
        found = [
            f"post {one.id}"
            for one in self.changes.posts.values()
            if one.id not in posts or posts[one.id].title.plain() != one.title
        ]
        found += [
            f"deletion of {number}" for number in snapshot.content.known_posts(sorted(self.changes.deleted_posts))
        ]
        for number, post in self.changes.posts.items():
            word = WORD.search(post.body)
            assert word is not None, "made_up writes one"
            search = TermQuery([Term("words", stem(word[0]))], THREAD, 10, BM25(k1=0.0))
            if number not in snapshot.search([search])[0].numbers.tolist():
                found.append(f"search for post {number}")
        return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
