"""An inverted index over tokens, its files beside the index, and retrieval by the tokens of a text."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from porism.errors import PorismError
from porism.records import Explanation, Topic
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Flags, Floats, Ints, Small, StoredIndex, grouped
from porism.systems.declared.context import SystemContext
from porism.systems.documents import TextDocument
from porism.systems.topic_queries import plain_topic, topic_of


class TokenDocument(NamedTuple):
    """A document: its id (an answer, a thread, a visual id) and its tokens, with repetitions."""

    id: int
    tokens: Sequence[str]


class Postings(NamedTuple):
    """The documents of one token (by their position in `InvertedIndex.ids`, ascending) and its count in each."""

    documents: Small
    counts: Small


@dataclass(frozen=True)
class InvertedIndex(StoredIndex):
    """Posting lists of tokens, documents as they were given: that of token t is at starts[t] to starts[t + 1]."""

    ids: Ints
    lengths: Ints
    starts: Ints
    documents: Small
    counts: Small

    @cached_property
    def mean_length(self) -> float:
        """The mean number of tokens of a document."""
        return float(self.lengths.mean()) if len(self.ids) else 0.0

    @cached_property
    def frequencies(self) -> Ints:
        """The number of documents of each token, by its code."""
        return np.diff(self.starts)

    def postings(self, token: str) -> Postings:
        """Return the posting list of a token; an unknown one has no documents."""
        code = self.codes.get(token)
        if code is None:
            return Postings(np.empty(0, np.int32), np.empty(0, np.int32))
        place = slice(int(self.starts[code]), int(self.starts[code + 1]))
        return Postings(self.documents[place], self.counts[place])

    def scores(self, query: Mapping[str, float], weights: TokenWeights) -> Floats:
        """Return the score of every document: the sum of the count of each query token times its weight."""
        total = np.zeros(len(self.ids))
        for token, number in query.items():
            postings = self.postings(token)
            if len(postings.documents):
                total[postings.documents] += number * weights(self, postings)
        return total

    def matching(self, query: Iterable[str]) -> Flags:
        """Return for every document whether it contains a token of the query."""
        found = np.zeros(len(self.ids), np.bool_)
        for token in query:
            found[self.postings(token).documents] = True
        return found


def invert(documents: Iterable[TokenDocument]) -> InvertedIndex:
    """Make an inverted index of documents; memory grows by 12 bytes for each distinct token of a document."""
    codes: dict[str, int] = {}
    ids, lengths = array("q"), array("q")
    tokens, places, counts = array("i"), array("i"), array("i")
    for place, document in enumerate(documents):
        ids.append(document.id)
        lengths.append(len(document.tokens))
        for token, count in Counter(document.tokens).items():
            tokens.append(codes.setdefault(token, len(codes)))
            places.append(place)
            counts.append(count)
    order, starts = grouped(np.array(tokens, np.int32), len(codes))
    found, numbers = (np.array(column, np.int32)[order] for column in (places, counts))
    return InvertedIndex(codes, np.array(ids, np.int64), np.array(lengths, np.int64), starts, found, numbers)


def best(index: InvertedIndex, scores: Floats, found: Flags, k: int, later_first: bool = False) -> Ranking:
    """Return the k best of the documents found; of equal scores the earlier document comes first, or the later one."""
    rows = np.flatnonzero(found)[:: -1 if later_first else 1]
    order = rows[np.argsort(-scores[rows], kind="stable")][: max(k, 0)]
    return Ranking(np.asarray(index.ids[order]), scores[order])


TokenWeights = Callable[[InvertedIndex, Postings], Floats]  # the weight of one token in each of its documents
Tokens = Callable[[str], list[str]]
QueryMaker = Callable[[Topic], str]
QueryNumber = Callable[[InvertedIndex, Mapping[str, int]], float]  # of a query's tokens with their counts
# Fields of the topic that a query may consist of.
FIELDS: Mapping[str, QueryMaker] = {
    "title": lambda topic: plain_topic(topic, "title"),
    "body": lambda topic: plain_topic(topic, "question"),
    "tags": lambda topic: " ".join(topic.tags),
}


def topic_fields(topic: Topic, fields: str) -> str:
    """Return fields of a topic as one text: `fields` is e.g. `title+body+tags`."""
    names = fields.split("+")
    unknown = [name for name in names if name not in FIELDS]
    if unknown:
        raise PorismError(f"a topic has no field {unknown[0]}", fix=f"write fields of {', '.join(FIELDS)}, joined by +")
    return " ".join(FIELDS[name](topic) for name in names)


def kept_index(
    context: SystemContext,
    name: str,
    key: object,
    documents: Callable[[], Iterable[TokenDocument]],
    code: tuple[str, ...],
) -> InvertedIndex:
    """Return the inverted index of documents, built once. `code` names the modules that make the documents."""

    def build(folder: Path) -> None:
        with context.progress.stage(f"{name}: documents") as advance:

            def counted() -> Iterable[TokenDocument]:
                for one in documents():
                    yield one
                    advance(1)

            invert(counted()).save(folder)

    return InvertedIndex.open(context.cached(name, key, build, code))


def token_index(
    context: SystemContext, name: str, key: object, documents: partial[Iterator[TextDocument]], tokens: Tokens
) -> InvertedIndex:
    """Return the inverted index of the tokens of texts, built once and kept beside the index."""
    code = (tokens.__module__, documents.func.__module__, "porism.systems.documents")
    return kept_index(context, name, key, lambda: (TokenDocument(id, tokens(text)) for id, text in documents()), code)


@dataclass(frozen=True)
class LexicalRetriever(Retriever):
    """Ranks documents by the weighted tokens that they share with the query.

    `scale` divides the scores of a query (its norm, or its largest count); `bias` is added to every score;
    `later_first` says which of two documents with equal scores comes first; `allowed`, if given, marks the documents
    that may be found.
    """

    index: InvertedIndex
    query_text: QueryMaker
    tokens: Tokens
    weights: TokenWeights
    scale: QueryNumber = lambda index, counts: 1.0
    bias: QueryNumber = lambda index, counts: 0.0
    later_first: bool = False
    allowed: Flags | None = None

    def counts(self, query: ReadQuery) -> Counter[str]:
        """Return the tokens of a query with their counts; those that no document has are left out."""
        found = Counter(self.tokens(self.query_text(topic_of(query))))
        return Counter({token: count for token, count in found.items() if token in self.index.codes})

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k documents that share a token with the query."""
        counts = self.counts(query)
        if not counts:
            return Ranking.of({})
        scores = self.index.scores(counts, self.weights) / self.scale(self.index, counts)
        scores += self.bias(self.index, counts)
        found = self.index.matching(counts)
        return best(self.index, scores, found if self.allowed is None else found & self.allowed, k, self.later_first)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return what each token of the query adds to the score of a document."""
        counts = self.counts(query)
        place = np.flatnonzero(self.index.ids == id)
        scale = self.scale(self.index, counts) if counts else 1.0
        parts = []
        for token, count in sorted(counts.items()):
            postings = self.index.postings(token)
            at = np.flatnonzero(np.isin(postings.documents, place))
            if len(at):
                value = count * float(self.weights(self.index, postings)[at[0]]) / scale
                reason = f"{token}: {count} in the query, {postings.counts[at[0]]} in the document"
                parts.append(Explanation(value, reason))
        parts.sort(key=lambda part: -part.value)
        if bias := self.bias(self.index, counts):
            parts.append(Explanation(bias, "every document"))
        return Explanation.total(f"{len(parts)} of {len(counts)} tokens", parts)
