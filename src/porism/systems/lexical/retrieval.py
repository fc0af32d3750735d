"""Retrieval by the tokens of a text: what the lexical systems share. They differ in documents, tokens, query and
weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.records import Explanation, Topic
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.lexical.documents import TextDocument
from porism.systems.lexical.inverted import Document, InvertedIndex, TokenWeights, best, invert
from porism.systems.topic_queries import plain_topic, topic_of

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


def token_index(
    context: SystemContext, name: str, key: object, documents: Callable[[], Iterable[TextDocument]], tokens: Tokens
) -> InvertedIndex:
    """Return the inverted index of documents, built once and kept beside the index."""
    modules = (
        tokens.__module__,
        documents_module(documents),
        "porism.systems.lexical.inverted",
        "porism.systems.lexical.documents",
    )
    build = partial(_build, documents, tokens, context, name)
    return InvertedIndex.open(context.cached(name, key, build, modules))


def documents_module(documents: Callable[[], Iterable[TextDocument]]) -> str:
    """Return the module that defines a stream of documents."""
    function = documents.func if isinstance(documents, partial) else documents
    return function.__module__


def _build(
    documents: Callable[[], Iterable[TextDocument]], tokens: Tokens, context: SystemContext, name: str, folder: Path
) -> None:
    with context.progress.stage(f"{name}: documents") as advance:

        def read() -> Iterable[Document]:
            for one in documents():
                yield Document(one.id, tokens(one.text))
                advance(1)

        invert(read()).save(folder)


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
    allowed: npt.NDArray[np.bool_] | None = None

    def counts(self, query: ReadQuery) -> Counter[str]:
        """Return the tokens of a query with their counts; those that no document has are left out."""
        found = Counter(self.tokens(self.query_text(topic_of(query))))
        return Counter({token: count for token, count in found.items() if token in self.index.codes})

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k documents that share a token with the query."""
        counts = self.counts(query)
        if not counts:
            return Ranking.of({})
        scores = self.index.scores(counts, self.weights) / self.scale(self.index, counts) + self.bias(
            self.index, counts
        )
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
                parts.append(
                    Explanation(value, f"{token}: {count} in the query, {postings.counts[at[0]]} in the document")
                )
        parts.sort(key=lambda part: -part.value)
        if bias := self.bias(self.index, counts):
            parts.append(Explanation(bias, "every document"))
        return Explanation(sum(part.value for part in parts), f"{len(parts)} of {len(counts)} tokens", tuple(parts))
