"""An index of posts and formulas in memory: terms and documents over plain dictionaries and lists.

It is written for clarity, not for speed: it says what the embedded index computes, and tests compare the two."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Sized
from collections.abc import Collection as Names
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.features import Features, features
from porism.analysis.schema import (
    EVERY_FIELD,
    FIELDS,
    FORMULA_FAMILIES,
    NAME_FAMILY,
    TAG_FAMILY,
    VISUAL_FAMILY,
    Unit,
    View,
)
from porism.analysis.terms import PieceTerms, feature_terms, split_thread
from porism.corpus.content import Content
from porism.corpus.post import Thread
from porism.formula.binary import unpack
from porism.store.embedded.formulas.store import label_weights
from porism.store.records import (
    UNKNOWN,
    Filter,
    Floats,
    Formulas,
    Hits,
    Ints,
    PathRows,
    Positions,
    SymbolSequences,
    Term,
    TermQuery,
    TermRows,
    TermStatistics,
    Threads,
    Values,
)
from porism.store.weighting import LengthBias, TermCounts, ViewCounts

MOST_COUNT = 255  # of an entry


class ExpressionFeatures:
    """Features and terms of all expressions by id."""

    def __init__(self, content: Content) -> None:
        self.expressions = {one.id: one for one in content.expressions()}
        self.features = {number: features(*unpack(one.trees)) for number, one in self.expressions.items()}
        self.terms = {number: feature_terms(found) for number, found in self.features.items()}


class MemoryPost:
    """A post: the row of its thread, its attributes, and how often each term of each family occurs in each field."""

    def __init__(self, thread: int, number: int, year: int = 0, accepted: bool = False) -> None:
        self.thread = thread
        self.id = number
        self.year = year
        self.accepted = accepted
        self.counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)

    def add(self, field: str, piece: PieceTerms, features: ExpressionFeatures) -> None:
        """Count the terms of a piece of text and of its formulas."""
        for terms_by_family in (piece.terms, *(features.terms[one.expression_id] for one in piece.formulas)):
            for family, terms in terms_by_family.items():
                self.counts[family].update((field, term) for term in terms)

    def length(self, family: str, view: View) -> float:
        """Return the length of the post in a view."""
        weights = dict(view.weights)
        return sum(weights.get(field, 0.0) * count for (field, _), count in self.counts[family].items())


def read_threads(content: Content, features: ExpressionFeatures) -> list[list[MemoryPost]]:
    """Read all posts of a collection by thread, the question of each before its answers."""
    titles = content.titles_by_id([link.other_id for link in content.all_links()])
    found = []
    for row, thread in enumerate(content.threads()):
        formulas = content.formulas_by_post([post.id for post in (thread.question, *thread.answers)])
        pieces = split_thread(thread, [titles[link.other_id] for link in thread.links if link.other_id in titles], True)
        posts = _empty_posts(thread, row)
        for position, (own, post) in enumerate(zip(posts, (thread.question, *thread.answers), strict=True)):
            own.add(post.kind, pieces.answers[position - 1] if position else pieces.body, features)
            for comment in pieces.comments.get(post.id, ()):
                own.add(f"{post.kind}_comments", comment, features)
            for formula in formulas.get(post.id, ()):
                field = f"{post.kind}_comments" if formula.kind == "comment" else formula.kind
                own.counts[VISUAL_FAMILY][field, str(formula.visual_id)] += 1
        question, headings = posts[0], {"title": pieces.title, "tags": pieces.tags, **pieces.headings}
        for field, piece in (*headings.items(), *(("linked_titles", title) for title in pieces.linked)):
            question.add(field, piece, features)
        for field, names in pieces.names.items():
            question.counts[NAME_FAMILY].update((field, name) for name in names)
        question.counts[TAG_FAMILY].update(("tags", tag) for tag in thread.question.tags)
        found.append(posts)
    return found


def _empty_posts(thread: Thread, row: int) -> list[MemoryPost]:
    """Return the posts of a thread without terms. A question with an accepted answer counts as accepted, too."""
    accepted = {thread.question.accepted_id} & {one.id for one in thread.answers}
    accepted |= {thread.question.id} if accepted else set()
    return [
        MemoryPost(row, post.id, int(post.created[:4]) if post.created[:4].isdigit() else 0, post.id in accepted)
        for post in (thread.question, *thread.answers)
    ]


class MemoryTermIndex:
    """Terms in memory: for each term the posts and fields it occurs in. `units` has the documents of each unit, of one
    or more posts each; all posts are in the first unit."""

    def __init__(self, units: Mapping[str, Sequence[Sequence[MemoryPost]]]) -> None:
        self._units = units
        self._rows = {
            unit: {id(post): row for row, document in enumerate(documents) for post in document}
            for unit, documents in units.items()
        }
        self._postings: dict[tuple[str, str], list[tuple[MemoryPost, str, int]]] = defaultdict(list)
        self.codes: dict[str, dict[str, int]] = defaultdict(dict)
        for post in (post for document in next(iter(units.values())) for post in document):
            for family, counts in post.counts.items():
                for (field, term), count in counts.items():
                    self._postings[family, term].append((post, field, count))
                    self.codes[family].setdefault(term, len(self.codes[family]))
        self._names = {family: list(codes) for family, codes in self.codes.items()}
        self._lengths = cache(self._lengths_of)
        self._thread_counts = cache(self._frequencies_of)

    def count(self, family: str, view: View) -> ViewCounts:
        """Return the number of documents of a view and the sum of their lengths in a family."""
        lengths = self._lengths(family, view)
        return ViewCounts(len(lengths), float(lengths.sum()))

    def _lengths_of(self, family: str, view: View) -> Floats:
        """Return the length of every document of a view."""
        documents = self._units[view.unit]
        return np.array([sum(post.length(family, view) for post in document) for document in documents], np.float64)

    def _counts(self, family: str, text: str, view: View) -> dict[int, float]:
        """Return the weighted count of a term in each document that contains it, in the order of rows."""
        weights, rows = dict(view.weights), self._rows[view.unit]
        found: dict[int, float] = defaultdict(float)
        for post, field, count in self._postings.get((family, text), ()):
            if weights.get(field) and id(post) in rows:
                found[rows[id(post)]] += weights[field] * count
        return dict(sorted(found.items()))

    def statistics(self, terms: Sequence[Term], view: View) -> TermStatistics:
        """Return codes and frequencies of many terms."""
        documents = [len(self._counts(term.family, term.text, view)) for term in terms]
        found = zip(terms, documents, strict=True)
        codes = [self.codes[term.family][term.text] if number else UNKNOWN for term, number in found]
        return TermStatistics(np.array(codes, np.int64), np.array(documents, np.int64))

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many threads contain each term, by code."""
        return self._thread_counts(family)[codes]

    def _frequencies_of(self, family: str) -> Ints:
        return self.statistics([Term(family, name) for name in self._names.get(family, ())], EVERY_FIELD).documents

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms with these codes."""
        return [self._names[family][code] for code in codes.tolist()]

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes as integers."""
        return np.array([int(text) for text in self.texts(family, codes)], np.int64)

    def search(self, query: TermQuery) -> Hits:
        """Return the k best documents: sum the weights of the terms, drop what is not allowed, sort."""
        scores = self._scores(query)
        for term in query.required:
            kept = self._counts(term.family, term.text, query.view)
            scores = {row: score for row, score in scores.items() if row in kept}
        if query.allow:
            documents = self._units[query.view.unit]
            scores = {row: score for row, score in scores.items() if self._is_allowed(documents[row], query.allow)}
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(query.k, 0)]
        return Hits(np.array([row for row, _ in best], np.int64), np.array([score for _, score in best], np.float64))

    def _scores(self, query: TermQuery) -> dict[int, float]:
        view, weighting = query.view, query.weighting
        weights: dict[tuple[str, str], float] = defaultdict(float)
        totals: dict[str, float] = defaultdict(float)  # weights by family
        for term in query.terms:
            weights[term.family, term.text] += term.weight
            totals[term.family] += term.weight
        scores: dict[int, float] = defaultdict(float)
        for (family, text), weight in weights.items():
            counts = self._counts(family, text, view)
            if counts:
                about = TermCounts(len(counts), sum(counts.values()), weight)
                lengths = self._lengths(family, view)[list(counts)]
                values = weighting.weigh(np.array(list(counts.values())), lengths, about, self.count(family, view))
                for row, value in zip(counts, values.tolist(), strict=True):
                    scores[row] += value
        if isinstance(weighting, LengthBias):
            for family, total in sorted(totals.items()):
                bias = weighting.bias(self._lengths(family, view), total)
                scores = {row: score + float(bias[row]) for row, score in scores.items()}
        return scores

    def _is_allowed(self, document: Sequence[MemoryPost], allow: Filter) -> bool:
        thread = self._units["thread"][document[0].thread]
        if any(not thread[0].counts[TAG_FAMILY]["tags", tag] for tag in allow.tags):
            return False
        kind = [post for post in document if (post is thread[0]) == (allow.kind == "question")]
        return any(bool(allow.passes(np.array([post.year]), np.array([post.accepted]))[0]) for post in kind)


class MemoryDocumentStore:
    """Documents of posts in memory. `terms` is their index; `vectors` has one row for each thread by family."""

    def __init__(self, threads: Sequence[Sequence[MemoryPost]]) -> None:
        self._threads = threads
        self._units = {
            "thread": threads,
            "question": [thread[:1] for thread in threads],
            "answer": [[post] for thread in threads for post in thread[1:]],
        }
        self.terms = MemoryTermIndex(self._units)
        self.vectors: dict[str, Values] = {}
        self._places = {post.id: (post.thread, at) for thread in threads for at, post in enumerate(thread)}

    def size(self, unit: Unit) -> int:
        """Return how many threads, questions or answers there are."""
        return len(self._units[unit])

    def fetch(self, threads: Ints, families: Names[str], vectors: Names[str] = (), lookup: Any = None) -> Threads:
        """Return threads in one batch of packed arrays."""
        chosen = [self._threads[row] for row in threads.tolist()]
        posts = [post for thread in chosen for post in thread]
        sizes = np.array([len(thread) for thread in chosen], np.int64)
        return Threads(
            threads,
            np.cumsum(sizes) - sizes,
            np.cumsum(sizes),
            np.array([post.id for post in posts], np.int64),
            np.array([post.year for post in posts], np.int64),
            np.array([post.accepted for post in posts], np.bool_),
            {family: self._term_rows(posts, family) for family in families},
            {family: self.vectors[family][threads] for family in vectors},
            lookup,
        )

    def _term_rows(self, posts: Sequence[MemoryPost], family: str) -> TermRows:
        entries: list[tuple[int, int, int]] = []
        sizes: list[int] = []
        lengths = np.zeros((len(posts), len(FIELDS)), np.int32)
        for at, post in enumerate(posts):
            before = len(entries)
            for (field, term), count in post.counts[family].items():
                number = FIELDS.index(field)
                lengths[at, number] += count
                parts = (min(MOST_COUNT, count - start) for start in range(0, count, MOST_COUNT))
                entries += [(self.terms.codes[family][term], number, part) for part in parts]
            sizes.append(len(entries) - before)
        codes, fields, counts = np.array(entries, np.int64).reshape(-1, 3).T
        ends = np.cumsum(np.array(sizes, np.int64))
        columns = codes.astype(np.uint32), fields.astype(np.uint8), counts.astype(np.uint8)
        return TermRows(ends - np.array(sizes, np.int64), ends, *columns, lengths)

    def post_ids(self, unit: Unit, rows: Ints) -> Ints:
        """Return the ids of the questions of threads, of questions, or of answers, by their rows."""
        return np.array([self._units[unit][row][0].id for row in rows.tolist()], np.int64)

    def locate(self, ids: Ints) -> Positions:
        """Return where posts are."""
        places = [self._places.get(number, (UNKNOWN, 0)) for number in ids.tolist()]
        return Positions(*np.array(places, np.int64).reshape(-1, 2).T)


class MemoryFormulas:
    """The distinct formulas of a collection, in the order of visual ids."""

    def __init__(self, content: Content, features: ExpressionFeatures) -> None:
        self._visuals = sorted({one.visual_id for one in content.occurrences()})
        self._row_of = {number: row for row, number in enumerate(self._visuals)}
        visuals = content.visuals_by_id(self._visuals)
        own = [visuals[number].expression_id for number in self._visuals]
        self._parts = {number: terms["parts"] for number, terms in features.terms.items()}
        self._expressions = [features.expressions[number] for number in own]
        self._features = [features.features[number] for number in own]
        self.terms = MemoryTermIndex({"formula": [[_document(row, one)] for row, one in enumerate(self._features)]})
        labels = (label for found in self._features for label in (*found.layout.labels, *found.operators.labels))
        self.labels: Mapping[str, int] = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        self.formulas = len(self._visuals)
        self.unseen_label_weight = float(label_weights([0], self.formulas)[0])
        self.layout_weights = self._weights(lambda found: found.layout.labels)
        self.operator_weights = self._weights(lambda found: found.operators.labels)
        # Paths with the same upper end and the same key are one group.
        paths = (found.tree_paths for found in self._features)
        groups = (set(zip(one.above.tolist(), one.keys.tolist(), strict=True)) for one in paths)
        self._path_groups = Counter(key for own in groups for _, key in own)

    def _weights(self, labels: Callable[[Features], Sequence[str]]) -> Floats:
        counts = Counter(label for found in self._features for label in set(labels(found)))
        return label_weights([counts[label] for label in self.labels], self.formulas)

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> Floats:
        """Return ln(all path groups / path groups with this key) for each key."""
        if not self._path_groups:
            return np.ones(len(keys))
        total = self._path_groups.total()
        return np.array([math.log(total / max(1, self._path_groups[key])) for key in keys.tolist()])

    def fetch(self, rows: Ints, records: Any = None) -> Formulas:
        """Return formulas in one batch of packed arrays."""
        found = [self._features[row] for row in rows.tolist()]
        edges = np.array([edge for one in found for edge in one.layout.edges], np.uint8)
        return Formulas(
            rows,
            self.visual_ids(rows),
            self._symbols([one.layout.labels for one in found], edges),
            self._symbols([one.operators.labels for one in found], edges[:0]),
            self._paths(found),
            records,
        )

    def _symbols(self, sequences: list[list[str]], edges: npt.NDArray[np.uint8]) -> SymbolSequences:
        labels = [self.labels[label] for one in sequences for label in one]
        return SymbolSequences(*_spans(sequences), np.array(labels, np.int32), edges)

    def _paths(self, found: Sequence[Features]) -> PathRows:
        paths = [one.tree_paths for one in found]
        pairs = zip(found, paths, strict=True)
        labels = [self.labels[one.operators.labels[below]] for one, path in pairs for below in path.below.tolist()]
        return PathRows(
            *_spans([one.keys for one in paths]),
            np.array([above for one in paths for above in one.above.tolist()], np.uint8),
            np.array([key for one in paths for key in one.keys.tolist()], np.uint32),
            np.array(labels, np.int32),
            np.array([one.leaves for one in paths], np.int32),
        )

    def trees(self, rows: Ints) -> list[bytes]:
        """Return the packed trees of formulas."""
        return [self._expressions[row].trees for row in rows.tolist()]

    def latex(self, rows: Ints) -> list[str]:
        """Return the LaTeX of formulas."""
        return [self._expressions[row].latex for row in rows.tolist()]

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""
        return np.array([self._visuals[row] for row in rows.tolist()], np.int64)

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that the index lacks."""
        return np.array([self._row_of.get(number, UNKNOWN) for number in visual_ids.tolist()], np.int64)

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of sub-expressions of expressions, as far as formulas of the index have them."""
        codes = self.terms.codes.get("parts", {})
        parts = (self._parts.get(number, ()) for number in expressions)
        return [[codes[term] for term in terms if term in codes] for terms in parts]


def _document(row: int, found: Features) -> MemoryPost:
    document = MemoryPost(row, row)
    for family in FORMULA_FAMILIES:
        document.counts[family].update(("formula", term) for term in getattr(found, family))
    return document


def _spans(sequences: Sequence[Sized]) -> tuple[Ints, Ints]:
    """Return where each sequence starts and ends, one after another."""
    sizes = np.array([len(one) for one in sequences], np.int64)
    return np.cumsum(sizes) - sizes, np.cumsum(sizes)
