"""The store under test: made empty, filled through its writer with the posts of the suite, and read; and the scores
that its records give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from porism.analysis.schema import FIELDS, View
from porism.corpus.sources.raw import RawComment, RawLink, RawPost, RawUser, Record
from porism.corpus.update.delta import Delta
from porism.store.memory.index import ExpressionFeatures, MemoryPost, read_threads
from porism.store.protocols import Snapshot, Store
from porism.store.records import UNKNOWN, Floats, Hits, Ints, Term, Threads
from porism.store.weighting import BM25, LengthBias, TermCounts, ViewCounts, Weighting

SOURCE = "conformance"
USERS = (RawUser(1, "Ada", 120), RawUser(2, "Emmy Noether", 80), RawUser(3, "Kurt", 5))


def _question(number: int, year: int, title: str, body: str, tags: str, owner: int = 1, **more: Any) -> RawPost:
    created = f"{year}-05-06T07:08:09" if year else ""
    return RawPost(number, "question", None, title, body, "html", tags, created=created, owner_id=owner, **more)


def _answer(number: int, year: int, question: int, body: str, owner: int | None = 2, score: int = 0) -> RawPost:
    created = f"{year}-07-08T09:10:11" if year else ""
    return RawPost(number, "answer", question, "", body, "html", "", score, created, owner)


QUESTIONS = (
    _question(
        11,
        2011,
        "Proof of the Pythagorean theorem",
        "<p>Why is $a^2+b^2=c^2$ in a right triangle? I know the area of a square.</p>",
        "geometry triangles",
        accepted_id=13,
        score=7,
    ),
    _question(21, 2012, "Prime numbers", "<p>Are there infinitely many prime numbers?</p>", "number-theory", 2),
    _question(31, 2013, "Prime numbers", "<p>Are there infinitely many prime numbers?</p>", "number-theory", 3),
    _question(
        41,
        2014,
        r"Limit of $\left(1+\frac{1}{n}\right)^n$",
        r"<p>The limit is $e$. Does the series $\sum_{k=0}^\infty \frac{1}{k!}$ converge to $e$, too?</p>",
        "real-analysis limits",
        accepted_id=42,
        score=3,
    ),
    _question(
        51,
        2015,
        "Sum of the first odd numbers",
        "<p>The sum of the first $n$ odd numbers is $n^2$: prove it. The sum of two squares is $a^2+b^2$.</p>",
        "number-theory proof-writing",
    ),
    _question(61, 0, "A triangle without a date", "<p>A right triangle has one right angle.</p>", "geometry", 3),
    _question(
        71, 2016, "Law of cosines", r"<p>How does $c^2=a^2+b^2-2ab\cos\gamma$ follow?</p>", "geometry triangles", 2
    ),
)
ANSWERS = (
    _answer(12, 2011, 11, "<p>Cut the square into four right triangles.</p>", 3, -1),
    _answer(13, 2012, 11, "<p>The altitude splits the triangle: $a^2=cp$ and $b^2=cq$, so $a^2+b^2=c^2$.</p>", 2, 9),
    _answer(22, 2013, 21, "<p>Yes. Suppose not, multiply all primes and add one: a contradiction.</p>", 1, 4),
    _answer(42, 2014, 41, r"<p>Expand with the binomial theorem, $\binom{n}{k}$, and take the limit.</p>", None, 2),
    _answer(52, 2017, 51, "<p>By induction: $n^2+2n+1=(n+1)^2$. The proof is short.</p>", 3),
    _answer(72, 2018, 71, "<p>Apply the Pythagorean theorem to two right triangles.</p>", 1),
)
COMMENTS = (
    RawComment(1001, 11, "Is the triangle in a plane? Then $c^2$ is the largest.", "text", 2, "2011-06-01T00:00:00", 3),
    RawComment(1002, 13, "A short proof!", "text", 0, "2012-06-01T00:00:00", 1),
    RawComment(1003, 22, "Euclid wrote this proof.", "text", 1, "2013-06-01T00:00:00", 2),
)
LINKS = (RawLink(31, 21, "duplicate"), RawLink(71, 11, "related"), RawLink(11, 999, "related"))
RECORDS: tuple[Record, ...] = (*USERS, *QUESTIONS, *ANSWERS, *COMMENTS, *LINKS)

# What the first of two commits has besides, and otherwise: the second one deletes and replaces it.
GONE = (
    _question(81, 2010, "Gone", "<p>A prime triangle $x^9+y^9$ that is deleted.</p>", "geometry", accepted_id=82),
    _answer(82, 2010, 81, "<p>An answer that is deleted with its question, $z^9$.</p>"),
)
GONE_COMMENT = RawComment(1009, 11, "A comment that is deleted.", "text")
GONE_LINK = RawLink(41, 51, "related")
BEFORE: tuple[Record, ...] = (
    *USERS[:2],
    replace(QUESTIONS[0], title="An older title", body="<p>An older body with $q^7$.</p>"),
    *QUESTIONS[1:4],
    *ANSWERS[:3],
    *GONE,
    *COMMENTS[:1],
    GONE_COMMENT,
    *LINKS[:1],
    GONE_LINK,
)


Make = Callable[[], Store]


class Subject:
    """A store under test. `make` returns a new store without posts each time it is called."""

    def __init__(self, make: Make) -> None:
        self.make = make

    def filled(self, records: Iterable[Record]) -> Store:
        """Return a new store with these records, written in one commit."""
        store = self.make()
        put(store, records)
        return store

    @cached_property
    def store(self) -> Store:
        """A store with the suite's posts, written in two commits, of which the second one replaces and deletes some of
        the first."""
        store = self.make()
        put(store, BEFORE)
        with store.writer(SOURCE) as writer:
            writer.put(RECORDS)
            writer.delete([GONE[0].id])
            writer.delete_comments([GONE_COMMENT.id])
            writer.delete_links([GONE_LINK])
            writer.commit()
        return store

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest generation of the store."""
        return self.store.snapshot()

    @cached_property
    def numbers(self) -> Ints:
        """The numbers of all threads, in the order of their questions' ids."""
        return self.snapshot.locate(ids_of(QUESTIONS)).threads

    @cached_property
    def formula_numbers(self) -> Ints:
        """The numbers of all distinct formulas that posts name."""
        batch = self.snapshot.threads(self.numbers, ["formula"])
        found = batch.lookup.formulas(batch.terms["formula"].distinct())
        return np.unique(found[found >= 0])

    def all_threads(self, families: Iterable[str]) -> Threads:
        """Return the records of all threads."""
        return self.snapshot.threads(self.numbers, list(families))

    @cached_property
    def expected(self) -> dict[int, MemoryPost]:
        """The terms of every post by its id, counted from its text."""
        content = self.snapshot.content
        return {post.id: post for thread in read_threads(content, ExpressionFeatures(content)) for post in thread}


def put(store: Store, records: Iterable[Record], deleted: Iterable[int] = ()) -> Delta:
    """Write records, and delete posts, in one commit; return what changed."""
    with store.writer(SOURCE) as writer:
        writer.put(records)
        writer.delete(deleted)
        return writer.commit()


def ids_of(posts: Iterable[object]) -> Ints:
    """Return the ids of posts."""
    return np.array([post.id for post in posts], np.int64)  # type: ignore[attr-defined]


ALL_IDS: Ints = np.sort(ids_of((*QUESTIONS, *ANSWERS)))


TOLERANCE = 1e-6


class ExpectedDocuments:
    """The documents of a unit, as the records of all threads have them. Numbers are those that a search returns."""

    def __init__(self, subject: Subject, unit: str, families: Sequence[str]) -> None:
        self._subject = subject
        self._batch = subject.all_threads(families)
        spans = zip(self._batch.starts.tolist(), self._batch.ends.tolist(), strict=True)
        self._posts = [list(range(start, end)) for start, end in spans]
        self.numbers: list[int] = self._batch.numbers.tolist()
        if unit != "thread":
            posts = [post for own in self._posts for post in (own[:1] if unit == "question" else own[1:])]
            self._posts = [[post] for post in posts]
            self.numbers = self._batch.post_ids[np.array(posts, np.int64)].tolist()

    def counts(self, term: Term, view: View) -> Floats:
        """Return the weighted count of a term in every document."""
        key = int(self._subject.snapshot.statistics([term]).keys[0])
        if key == UNKNOWN:
            return np.zeros(len(self.numbers))
        rows, weights = self._batch.terms[term.family], np.array(view.vector(FIELDS))
        totals = np.zeros(len(self._batch.post_ids))
        for post, (start, end) in enumerate(zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)):
            own = slice(start, end)
            same = rows.keys[own] == key
            totals[post] = float((weights[rows.fields[own][same]] * rows.counts[own][same]).sum())
        return np.array([totals[posts].sum() for posts in self._posts])

    def lengths(self, family: str, view: View) -> Floats:
        """Return the weighted length of every document."""
        totals = self._batch.terms[family].lengths @ np.array(view.vector(FIELDS))
        return np.array([totals[posts].sum() for posts in self._posts])

    def scores(self, terms: Sequence[Term], view: View, weighting: Weighting) -> dict[int, float]:
        """Return the score of each document that contains one of the terms, by its number."""
        found: dict[int, float] = {}
        for term in terms:
            counts, lengths = self.counts(term, view), self.lengths(term.family, view)
            having = np.flatnonzero(counts)
            about = TermCounts(len(having), float(counts.sum()), term.weight)
            values = _weigh(weighting, counts[having], lengths[having], about, ViewCounts(len(lengths), lengths.sum()))
            for at, value in zip(having.tolist(), values.tolist(), strict=True):
                found[at] = found.get(at, 0.0) + value
        if isinstance(weighting, LengthBias):
            for family in {term.family for term in terms}:
                total = sum(term.weight for term in terms if term.family == family)
                bias = weighting.bias(self.lengths(family, view), total)
                found = {at: score + float(bias[at]) for at, score in found.items()}
        return {self.numbers[at]: score for at, score in found.items()}


def _weigh(weighting: Weighting, counts: Floats, lengths: Floats, term: TermCounts, view: ViewCounts) -> Floats:
    """Return what a term adds to the scores of documents. BM25 is computed here as Robertson and Walker define it."""
    if not isinstance(weighting, BM25):
        return weighting.weigh(counts, lengths, term, view)
    idf = math.log(1 + (view.documents - term.documents + 0.5) / (term.documents + 0.5))
    k1, b = weighting.k1, weighting.b
    saturated = (k1 + 1) * counts / (counts + k1 * (1 - b + b * lengths / max(view.mean_length, 1e-9)))
    return np.asarray(term.query_weight * idf * saturated, np.float64)


def assert_scores(found: Hits, expected: dict[int, float], what: str) -> None:
    """Fail if hits are other documents than expected, have other scores, or are not in order."""
    assert set(found.numbers.tolist()) == set(expected), f"{what}: the hits are not the documents with one of the terms"
    assert len(found.numbers) == len(expected), f"{what}: a document is a hit twice"
    for number, score in zip(found.numbers.tolist(), found.scores.tolist(), strict=True):
        right = expected[number]
        assert abs(score - right) <= TOLERANCE * max(1.0, abs(right)), (
            f"{what}: the score of {number} is {score}, not {right}"
        )
    assert (np.diff(found.scores) <= TOLERANCE).all(), f"{what}: the scores do not fall"
