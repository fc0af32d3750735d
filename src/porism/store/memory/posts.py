"""An index of posts in memory: terms and documents over plain dictionaries.

It is written for clarity, not for speed: it says what the embedded index computes, and tests compare the two."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from porism.analysis.features import Features, features
from porism.analysis.pieces import Piece, split_thread
from porism.analysis.schema import EVERY_FIELD, FIELDS, NAME_FAMILY, TAG_FAMILY, VISUAL_FAMILY, Unit, View
from porism.analysis.terms import feature_terms
from porism.corpus.content import Content
from porism.corpus.post import Thread
from porism.formula.binary import unpack
from porism.store.records import (
    UNKNOWN,
    Filter,
    Floats,
    Hits,
    Ints,
    Positions,
    Term,
    TermQuery,
    TermRows,
    TermStatistics,
    Threads,
    Values,
)
from porism.store.weighting import LengthBias, TermCounts, ViewCounts, Weighting
from porism.text.segment import Text


class ExpressionFeatures:
    """Features and terms of all expressions by id."""

    def __init__(self, content: Content) -> None:
        self.expressions = {one.id: one for one in content.expressions()}
        self.features: dict[int, Features] = {
            number: features(*unpack(one.trees)) for number, one in self.expressions.items()
        }
        self.terms: dict[int, dict[str, list[str]]] = {
            number: feature_terms(found) for number, found in self.features.items()
        }


MOST_COUNT = 255  # of an entry


class MemoryPost:
    """A post: its thread, its attributes, and how often each term of each family occurs in each field."""

    def __init__(self, thread: int, number: int, year: int, accepted: bool, is_question: bool) -> None:
        self.thread = thread
        self.id = number
        self.year = year
        self.accepted = accepted
        self.is_question = is_question
        self.counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)

    def add(self, field: str, piece: Piece, features: ExpressionFeatures) -> None:
        """Count the terms of a piece of text and of its formulas."""
        for family, terms in piece.terms.items():
            self.counts[family].update((field, term) for term in terms)
        for formula in piece.formulas:
            for family, terms in features.terms[formula.expression_id].items():
                self.counts[family].update((field, term) for term in terms)

    def length(self, family: str, view: View) -> float:
        """Return the length of the post in a view."""
        weights = dict(view.weights)
        return sum(weights.get(field, 0.0) * count for (field, _), count in self.counts[family].items())


def read_posts(content: Content, features: ExpressionFeatures) -> list[MemoryPost]:
    """Read all posts of a collection, the question of each thread before its answers."""
    titles = content.titles_by_id([link.other_id for link in content.all_links()])
    found: list[MemoryPost] = []
    for number, thread in enumerate(content.threads()):
        formulas = content.formulas_by_post([post.id for post in (thread.question, *thread.answers)])
        linked = [titles[link.other_id] for link in thread.links if link.other_id in titles]
        posts = _read_thread(thread, number, linked, features)
        for post in posts:
            for formula in formulas.get(post.id, ()):
                kind = "question" if post.is_question else "answer"
                field = f"{kind}_comments" if formula.kind == "comment" else formula.kind
                post.counts[VISUAL_FAMILY][field, str(formula.visual_id)] += 1
        found += posts
    return found


def _read_thread(thread: Thread, number: int, linked: Sequence[Text], features: ExpressionFeatures) -> list[MemoryPost]:
    pieces = split_thread(thread, linked, True)
    accepted = thread.question.accepted_id
    posts = []
    for position, post in enumerate((thread.question, *thread.answers)):
        year = int(post.created[:4]) if post.created[:4].isdigit() else 0
        chosen = post.id == accepted or (position == 0 and any(one.id == accepted for one in thread.answers))
        own = MemoryPost(number, post.id, year, chosen, position == 0)
        own.add(post.kind, pieces.body if position == 0 else pieces.answers[position - 1], features)
        for comment in pieces.comments.get(post.id, ()):
            own.add(f"{post.kind}_comments", comment, features)
        posts.append(own)
    question = posts[0]
    question.add("title", pieces.title, features)
    question.add("tags", pieces.tags, features)
    for field, heading in pieces.headings.items():
        question.add(field, heading, features)
    for field, names in pieces.names.items():
        question.counts[NAME_FAMILY].update((field, name) for name in names)
    question.counts[TAG_FAMILY].update(("tags", tag) for tag in thread.question.tags)
    for title in pieces.linked:
        question.add("linked_titles", title, features)
    return posts


class Posting(NamedTuple):
    """An entry of a posting list: a term, a field of a post, and how often the term occurs there."""

    post: MemoryPost
    field: str
    times: int


class MemoryTermIndex:
    """Terms of posts in memory: for each term the posts and fields it occurs in."""

    def __init__(self, posts: Sequence[MemoryPost]) -> None:
        self._units = self.units(posts)
        self._unit_of = {
            unit: {id(post): row for row, group in enumerate(groups) for post in group}
            for unit, groups in self._units.items()
        }
        self._postings: dict[str, dict[str, list[Posting]]] = {}
        for post in posts:
            for family, counts in post.counts.items():
                postings = self._postings.setdefault(family, {})
                for (field, term), count in counts.items():
                    postings.setdefault(term, []).append(Posting(post, field, count))
        self.codes = {
            family: {term: code for code, term in enumerate(postings)} for family, postings in self._postings.items()
        }
        self._names = {family: list(postings) for family, postings in self._postings.items()}
        self._lengths = cache(self._lengths_of)
        self._thread_counts = cache(self._frequencies_of)

    def units(self, posts: Sequence[MemoryPost]) -> dict[str, list[list[MemoryPost]]]:
        """Return the documents of each unit; a document is one or more posts."""
        return {
            "thread": _threads(posts),
            "question": [[post] for post in posts if post.is_question],
            "answer": [[post] for post in posts if not post.is_question],
        }

    def count(self, family: str, view: View) -> ViewCounts:
        """Return the number of documents of a view and the sum of their lengths in a family."""
        lengths = self._lengths(family, view)
        return ViewCounts(len(lengths), float(lengths.sum()))

    def _lengths_of(self, family: str, view: View) -> Floats:
        """Return the length of every document of a view."""
        groups = self._units[view.unit]
        return np.array([sum(post.length(family, view) for post in group) for group in groups], np.float64)

    def _counts(self, term: Term, view: View) -> dict[int, float]:
        """Return the weighted count of a term in each document that contains it, in the order of rows."""
        weights, rows = dict(view.weights), self._unit_of[view.unit]
        found: dict[int, float] = {}
        for post, field, count in self._postings.get(term.family, {}).get(term.text, ()):
            if weights.get(field) and id(post) in rows:
                row = rows[id(post)]
                found[row] = found.get(row, 0.0) + weights[field] * count
        return dict(sorted(found.items()))

    def statistics(self, terms: Sequence[Term], view: View) -> TermStatistics:
        """Return codes and frequencies of many terms."""
        counts = [self._counts(term, view) for term in terms]
        codes = [
            self.codes[term.family][term.text] if found else UNKNOWN for term, found in zip(terms, counts, strict=True)
        ]
        return TermStatistics(np.array(codes, np.int64), np.array([len(found) for found in counts], np.int64))

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many threads contain each term, by code."""
        return self._thread_counts(family)[codes]

    def _frequencies_of(self, family: str) -> Ints:
        """Return how many threads contain each term of a family."""
        counts = (self._counts(Term(family, name), EVERY_FIELD) for name in self._names.get(family, ()))
        return np.array([len(found) for found in counts], np.int64)

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms with these codes."""
        return [self._names[family][code] for code in codes.tolist()]

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes as integers."""
        return np.array([int(text) for text in self.texts(family, codes)], np.int64)

    def search(self, query: TermQuery) -> Hits:
        """Return the k best documents: sum the weights of the terms, drop what is not allowed, sort."""
        weights: dict[tuple[str, str], float] = defaultdict(float)
        for term in query.terms:
            weights[term.family, term.text] += term.weight
        scores = self._scores(weights, query.view, query.weighting)
        for term in query.required:
            kept = self._counts(term, query.view)
            scores = {row: score for row, score in scores.items() if row in kept}
        if query.allow:
            groups = self._units[query.view.unit]
            scores = {row: score for row, score in scores.items() if self._is_allowed(groups[row], query.allow)}
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(query.k, 0)]
        rows = np.array([row for row, _ in best], np.int64)
        return Hits(rows, np.array([score for _, score in best], np.float64))

    def _scores(self, weights: Mapping[tuple[str, str], float], view: View, weighting: Weighting) -> dict[int, float]:
        scores: dict[int, float] = {}
        for (family, text), weight in weights.items():
            counts = self._counts(Term(family, text), view)
            if counts:
                about = TermCounts(len(counts), sum(counts.values()), weight)
                lengths = self._lengths(family, view)[list(counts)]
                values = weighting.weigh(np.array(list(counts.values())), lengths, about, self.count(family, view))
                for row, value in zip(counts, values.tolist(), strict=True):
                    scores[row] = scores.get(row, 0.0) + value
        if isinstance(weighting, LengthBias):
            for family in sorted({family for family, _ in weights}):
                total = sum(weight for (name, _), weight in weights.items() if name == family)
                for row in scores:
                    length = self._lengths(family, view)[row : row + 1]
                    scores[row] += float(weighting.bias(length, total)[0])
        return scores

    def _is_allowed(self, unit: Sequence[MemoryPost], allow: Filter) -> bool:
        question = self._units["question"][unit[0].thread][0]
        if any(not question.counts[TAG_FAMILY]["tags", tag] for tag in allow.tags):
            return False
        right_kind = [post for post in unit if post.is_question == (allow.kind == "question")]
        return any(bool(allow.passes(np.array([post.year]), np.array([post.accepted]))[0]) for post in right_kind)


def _threads(posts: Sequence[MemoryPost]) -> list[list[MemoryPost]]:
    threads: dict[int, list[MemoryPost]] = {}
    for post in posts:
        threads.setdefault(post.thread, []).append(post)
    return list(threads.values())


class MemoryDocumentStore:
    """Documents of posts in memory. `terms` is their index; `vectors` has one row for each thread by family."""

    def __init__(self, posts: Sequence[MemoryPost], terms: MemoryTermIndex, vectors: Mapping[str, Values]) -> None:
        self.terms = terms
        self._threads = _threads(posts)
        self._vectors = vectors
        self._places = {
            post.id: (post.thread, position) for unit in self._threads for position, post in enumerate(unit)
        }

    def size(self, unit: Unit) -> int:
        """Return how many threads, questions or answers there are."""
        return sum(len(one) - 1 for one in self._threads) if unit == "answer" else len(self._threads)

    def fetch(self, threads: Ints, families: Names[str], vectors: Names[str] = (), lookup: Any = None) -> Threads:
        """Return threads in one batch of packed arrays."""
        units = [self._threads[row] for row in threads.tolist()]
        posts = [post for unit in units for post in unit]
        ends = np.cumsum([len(unit) for unit in units], dtype=np.int64)
        return Threads(
            threads,
            np.concatenate(([0], ends[:-1])).astype(np.int64) if len(units) else np.empty(0, np.int64),
            ends,
            np.array([post.id for post in posts], np.int64),
            np.array([post.year for post in posts], np.int64),
            np.array([post.accepted for post in posts], np.bool_),
            {family: self._rows(posts, family) for family in families},
            {family: self._vectors[family][threads] for family in vectors},
            lookup,
        )

    def _rows(self, posts: Sequence[MemoryPost], family: str) -> TermRows:
        codes: list[int] = []
        fields: list[int] = []
        counts: list[int] = []
        ends: list[int] = []
        lengths = np.zeros((len(posts), len(FIELDS)), np.int32)
        for at, post in enumerate(posts):
            for (field, term), count in post.counts[family].items():
                number = FIELDS.index(field)
                lengths[at, number] += count
                for start in range(0, count, MOST_COUNT):
                    codes.append(self.terms.codes[family][term])
                    fields.append(number)
                    counts.append(min(MOST_COUNT, count - start))
            ends.append(len(codes))
        all_ends = np.array(ends, np.int64)
        starts = np.concatenate(([0], all_ends[:-1])).astype(np.int64) if ends else all_ends
        return TermRows(
            starts,
            all_ends,
            np.array(codes, np.uint32),
            np.array(fields, np.uint8),
            np.array(counts, np.uint8),
            lengths,
        )

    def post_ids(self, unit: Unit, rows: Ints) -> Ints:
        """Return the ids of the questions of threads, of questions, or of answers, by their rows."""
        answers = [post.id for one in self._threads for post in one[1:]]
        ids = answers if unit == "answer" else [one[0].id for one in self._threads]
        return np.array([ids[row] for row in rows.tolist()], np.int64)

    def locate(self, ids: Ints) -> Positions:
        """Return where posts are."""
        places = [self._places.get(number, (UNKNOWN, 0)) for number in ids.tolist()]
        found = np.array(places, np.int64).reshape(-1, 2)
        return Positions(found[:, 0], found[:, 1])
