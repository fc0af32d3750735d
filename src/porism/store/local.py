"""A snapshot whose parts are in this process: a term index, documents and formulas, in mapped files or in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Names
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from porism.analysis.schema import EVERY_FIELD, FORMULA, VISUAL_FAMILY, Unit, View
from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.deadline import call_limit, check, shared
from porism.errors import PorismError
from porism.store.protocols import Learned, SymbolTable
from porism.store.records import (
    NO_HITS,
    UNKNOWN,
    Formulas,
    Hits,
    Ints,
    Option,
    Positions,
    Search,
    StoredPost,
    StoredPosts,
    StoreInfo,
    Term,
    TermQuery,
    TermStatistics,
    TextQuery,
    Threads,
    VectorQuery,
)
from porism.store.weighting import BM25, ViewCounts
from porism.text.segment import TAG, WORDS
from porism.text.words import WORD, stem

if TYPE_CHECKING:
    from porism.store.embedded.encoded import EncodedPosts

FIRST_WORDS = 8  # of all phrases, without which a post is not read word by word
_MARKUP = f"(?:{TAG}[^\x1c-\x1f]*+|{WORDS})*+"  # tags inside a word, as in `n<sup>th</sup>`
THREADS = 2
MOST_TERMS_IN_THREADS = 1500  # the threads are for formulas of usual size; a large one would keep others waiting
P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


class TextMatcher:
    """Decides whether posts match a `TextQuery`."""

    def __init__(self, query: TextQuery) -> None:
        self._authors = query.authors
        self._phrases = [WORD.findall(phrase) for phrase in query.phrases]
        first_words = list(dict.fromkeys(chain.from_iterable(self._phrases)))[:FIRST_WORDS]
        # The letters of a word in stored text, with tags between them or not.
        self._patterns = [re.compile(_MARKUP.join(map(re.escape, word))) for word in first_words]
        self._excluded = [[stem(part) for part in WORD.findall(word)] for word in query.excluded]

    def matching(self, stored: Sequence[StoredPost], content: Content) -> list[bool]:
        """Return which posts match."""
        if self._authors:
            owners = [one.post.owner_id for one in stored if one.post.owner_id is not None]
            names = {number: user.name.casefold() for number, user in content.users_by_id(owners).items()}
        return [(not self._authors or self._is_by(one.post, names)) and self._has_text(one) for one in stored]

    def _is_by(self, post: Post, names: dict[int, str]) -> bool:
        """Return whether one of the authors, by name or number, wrote the post."""
        name = "" if post.owner_id is None else names.get(post.owner_id, "")
        return any(one == str(post.owner_id) or (name and one.casefold() == name) for one in self._authors)

    def _has_text(self, stored: StoredPost) -> bool:
        """Return whether title and body have all phrases and no excluded word."""
        check()
        title, body = stored.question.title, stored.post.body
        if self._patterns:  # only a post that has the first words of the phrases is read word by word
            written = f"{title.stored}{body.stored}".lower()
            if not all(pattern.search(written) for pattern in self._patterns):
                return False
        words = WORD.findall(f"{title.plain()} {body.plain()}".lower())
        text = f" {' '.join(words)} "
        if any(f" {' '.join(phrase)} " not in text for phrase in self._phrases):
            return False
        stems = set(map(stem, words)) if self._excluded else set()
        return not any(stems.issuperset(parts) for parts in self._excluded)


class TermIndex(Protocol):
    """An inverted index with raw counts per field."""

    def count(self, family: str, view: View) -> ViewCounts:
        """Return the number of documents of a view and the sum of their lengths in a family."""

    def statistics(self, terms: Sequence[Term], view: View) -> TermStatistics:
        """Return codes and document frequencies of many terms."""

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many threads contain each term, by code."""

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms with these codes, where texts are kept."""

    def numbers(self, family: str, codes: Ints) -> Ints:
        """Return the terms with these codes, which are decimal numbers such as visual ids, as integers."""

    def search(self, query: TermQuery) -> Hits:
        """Return the best k documents by row."""


class DocumentRows(Protocol):
    """Posts by thread. `terms` is their term index."""

    @property
    def terms(self) -> TermIndex:
        """The term index of the posts."""

    def size(self, unit: Unit) -> int:
        """Return how many threads, questions or answers there are."""

    def fetch(self, threads: Ints, families: Names[str], vectors: Names[str] = (), lookup: Any = None) -> Threads:
        """Return threads by row."""

    def post_ids(self, unit: Unit, rows: Ints) -> Ints:
        """Return the ids of questions or of answers by their rows."""

    def locate(self, ids: Ints) -> Positions:
        """Return where posts are."""


class FormulaRows(SymbolTable, Protocol):
    """Distinct formulas in the order of visual ids. `terms` is their term index."""

    @property
    def terms(self) -> TermIndex:
        """The term index of the formulas: tuples, paths and sub-expressions."""

    @property
    def formulas(self) -> int:
        """The number of formulas."""

    def fetch(self, rows: Ints, records: Any = None) -> Formulas:
        """Return formulas by row."""

    def trees(self, rows: Ints) -> list[bytes]:
        """Return the packed trees of formulas."""

    def latex(self, rows: Ints) -> list[str]:
        """Return the LaTeX of formulas."""

    def visual_ids(self, rows: Ints) -> Ints:
        """Return the visual ids of formulas."""

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the rows of visual ids, UNKNOWN for those that are not here."""

    def part_codes(self, expressions: Sequence[int]) -> list[list[int]]:
        """Return the codes of the sub-expressions of expressions; none for an unknown one."""


class LocalRecords:
    """What comes with records of posts and formulas: terms by their codes, and what else is stored of formulas."""

    def __init__(self, terms: TermIndex, formulas: FormulaRows) -> None:
        self._terms, self._formulas = terms, formulas
        self.documents, self.texts = terms.frequencies, terms.texts
        self.trees, self.latex = formulas.trees, formulas.latex

    def formulas(self, keys: Ints) -> Ints:
        """Return the rows of formulas by the codes of their visual ids."""
        return self._formulas.rows(self._terms.numbers(VISUAL_FAMILY, keys))

    def usage(self, numbers: Ints) -> TermStatistics:
        """Return the codes of visual ids in posts, and how many threads have each."""
        ids = self._formulas.visual_ids(numbers).tolist()
        return self._terms.statistics([Term(VISUAL_FAMILY, str(number)) for number in ids], EVERY_FIELD)


class LocalParts:
    """Sub-expressions of expressions by their codes, looked up when they are needed."""

    def __init__(self, formulas: FormulaRows, parts: Sequence[str]) -> None:
        self._formulas = formulas
        codes = (
            formulas.terms.statistics([Term("parts", text) for text in parts], FORMULA).keys.tolist() if parts else []
        )
        self._positions = {code: at for at, code in enumerate(codes) if code != UNKNOWN}
        self._codes = frozenset(self._positions)

    def of(self, expression: int) -> Sequence[int]:
        """Return the positions of the requested sub-expressions that an expression has."""
        if not self._codes or not expression:
            return ()
        return [self._positions[code] for code in self._codes.intersection(self._formulas.part_codes([expression])[0])]


def limited(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a call of a snapshot end when its time, or that of the limit around it, is over."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        seconds: Any = kwargs.pop("seconds", None)
        with call_limit(seconds):
            return method(self, *args, **kwargs)

    return call


class LocalSnapshot:
    """One generation of an embedded index, or of one in memory."""

    def __init__(
        self,
        info: StoreInfo,
        learned: Learned,
        content: Content,
        documents: DocumentRows,
        formulas: FormulaRows,
        vectors: EncodedPosts | None = None,
    ) -> None:
        self.info = info
        self.learned = learned
        self.content = content
        self._documents = documents
        self._formulas = formulas
        self._vectors = vectors
        self._records = LocalRecords(documents.terms, formulas)
        self._executor = ThreadPoolExecutor(THREADS)

    def _terms(self, unit: Unit) -> TermIndex:
        return self._formulas.terms if unit == "formula" else self._documents.terms

    @limited
    def statistics(
        self, terms: Sequence[Term], unit: Unit = "thread", *, seconds: float | None = None
    ) -> TermStatistics:
        """Return codes and document frequencies of many terms."""
        return self._terms(unit).statistics(terms, FORMULA if unit == "formula" else EVERY_FIELD)

    @limited
    def search(self, searches: Sequence[Search], *, seconds: float | None = None) -> list[Hits]:
        """Answer several searches; those of formulas of usual size in two threads."""
        of_formulas = [one for one in searches if isinstance(one, TermQuery) and one.view.unit == "formula"]
        if 1 < len(of_formulas) == len(searches) and sum(len(one.terms) for one in of_formulas) < MOST_TERMS_IN_THREADS:
            return list(shared(self._executor, self._search, searches))
        return [self._search(one) for one in searches]

    def _search(self, search: Search) -> Hits:
        if isinstance(search, TextQuery):
            matching = TextMatcher(search).matching(self._stored(search.posts), self.content)
            ids = np.array(search.posts, np.int64)[np.array(matching, np.bool_)]
            return Hits(ids, np.zeros(len(ids)))
        if isinstance(search, VectorQuery):
            return self._nearest(search)
        unit = search.view.unit
        if unit in ("question", "answer"):
            self._require("units", "searches over questions and answers")
        if not isinstance(search.weighting, BM25):
            self._require("weightings", "weightings other than BM25")
        found = self._terms(unit).search(search)
        if unit in ("question", "answer"):
            return Hits(self._documents.post_ids(unit, found.numbers), found.scores)
        return found

    def _require(self, option: Option, what: str) -> None:
        """Refuse what the store does not declare."""
        if option not in self.info.options:
            fix = f"use a store whose options include {option!r}"
            raise PorismError(f"has no {what}", where=self.info.address, fix=fix)

    def _nearest(self, search: VectorQuery) -> Hits:
        self._require("vectors", "vectors of a model")
        if self._vectors is None or search.field not in self._vectors.fields:
            return NO_HITS
        near = self._vectors.search(search.field, search.vector, search.k)
        threads = self._documents.locate(near.numbers).threads
        rows, first = np.unique(threads[threads != UNKNOWN], return_index=True)
        scores = near.scores[threads != UNKNOWN][first].astype(np.float64)
        order = np.lexsort((rows, -scores))
        return Hits(rows[order], scores[order])

    @limited
    def threads(
        self, numbers: Ints, families: Names[str], vectors: Names[str] = (), *, seconds: float | None = None
    ) -> Threads:
        """Return threads by row."""
        encoded = [] if self._vectors is None else [one for one in vectors if one in self._vectors.fields]
        own = [one for one in vectors if one in self.learned.vectors]
        found = self._documents.fetch(numbers, families, own, self._records)
        if not encoded or self._vectors is None:
            return found
        answers = found.post_ids[found.answers()[0]]
        questions = found.post_ids[found.starts]
        by_model = {one: self._vectors.vectors(one, answers if one == "answers" else questions) for one in encoded}
        return found._replace(vectors={**found.vectors, **by_model})

    @limited
    def formulas(self, numbers: Ints, *, seconds: float | None = None) -> Formulas:
        """Return formulas by row."""
        return self._formulas.fetch(numbers, self._records)

    @limited
    def posts(self, ids: Sequence[int], parts: Sequence[str] = (), *, seconds: float | None = None) -> StoredPosts:
        """Return posts by their ids."""
        return StoredPosts(self._stored(ids), LocalParts(self._formulas, parts))

    def _stored(self, ids: Sequence[int]) -> list[StoredPost]:
        posts = self.content.posts_by_id(ids)
        others = {one.thread_id for one in posts.values()} - posts.keys()
        questions = {**posts, **self.content.posts_by_id([*others])}
        found = [(posts[number], questions[posts[number].thread_id]) for number in ids]
        return [StoredPost(post, question, question.accepted_id == post.id) for post, question in found]

    @limited
    def locate(self, ids: Ints, *, seconds: float | None = None) -> Positions:
        """Return where posts are."""
        return self._documents.locate(ids)


def counts_of(
    documents: DocumentRows, formulas: FormulaRows
) -> tuple[Mapping[Unit, int], Callable[[str, View], ViewCounts]]:
    """Return how many documents of each unit there are, and what counts those of a view and sums their lengths."""
    units: tuple[Unit, ...] = ("thread", "question", "answer")
    posts, distinct = documents.terms, formulas.terms
    return (
        {**{unit: documents.size(unit) for unit in units}, "formula": formulas.formulas},
        lambda family, view: (distinct if view.unit == "formula" else posts).count(family, view),
    )
