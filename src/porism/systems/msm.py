"""The lexical systems of MSM: BM25+ and TF-IDF with cosine, over the words of gensim's simple_preprocess.

Sources: MIR-MU/pv211-utils, rank_bm25 and gensim.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from porism.search.retriever import Retriever
from porism.systems.arrays import Floats
from porism.systems.declared.context import SystemContext
from porism.systems.documents import DocumentKind, answer_documents
from porism.systems.inverted import InvertedIndex, LexicalRetriever, Postings, token_index, topic_fields

WORD = re.compile(r"(?:(?!\d)\w)+")
SHORTEST, LONGEST = 2, 15


def simple_words(text: str) -> list[str]:
    """Return words as gensim's simple_preprocess: letters and underscores in lower case, 2 to 15 of them.

    >>> simple_words(r"Let $x_1 = \\frac{a}{12b}$")
    ['let', 'x_', 'frac']
    """
    found = (word for word in WORD.findall(text.lower()) if SHORTEST <= len(word) <= LONGEST)
    return [word for word in found if not word.startswith("_")]


@dataclass(frozen=True, slots=True)
class PlusWeights:
    """BM25+ as in rank_bm25: idf (k1 + 1) tf / (tf + k1 (1 - b + b dl / avdl)), idf = ln((N + 1) / df).

    rank_bm25 adds idf x delta for documents with and without the term: `constant_share`, the same for every document.
    """

    k1: float = 1.25
    b: float = 0.75

    def __call__(self, index: InvertedIndex, postings: Postings) -> Floats:
        """Return one weight per document of the postings."""
        counts = postings.counts.astype(np.float64)
        lengths = index.lengths[postings.documents]
        idf = np.log((len(index.ids) + 1.0) / len(postings.documents))
        penalties = self.k1 * (1.0 - self.b + self.b * lengths / index.mean_length)
        return np.asarray(idf * ((self.k1 + 1.0) * counts / (counts + penalties)))


def constant_share(index: InvertedIndex, counts: Mapping[str, int], delta: float) -> float:
    """Return what delta adds to the score of every document."""
    shares = (
        count * np.log((len(index.ids) + 1.0) / len(index.postings(token).documents)) for token, count in counts.items()
    )
    return delta * float(sum(shares))


@dataclass(frozen=True, slots=True)
class CosineWeights:
    """gensim's TfidfModel: tf x log2(N / df), documents and queries of unit length; `norms` are of documents."""

    norms: Floats

    def __call__(self, index: InvertedIndex, postings: Postings) -> Floats:
        """Return one weight per document of the postings: the document's share, times the idf of the query's."""
        idf = np.log2(len(index.ids) / len(postings.documents))
        return np.asarray(idf * idf * postings.counts / np.maximum(self.norms[postings.documents], 1e-12))


def document_norms(index: InvertedIndex) -> Floats:
    """Return the length of each document's vector of tf x idf."""
    idfs = np.log2(len(index.ids) / np.maximum(index.frequencies, 1))
    weights = index.counts * np.repeat(idfs, index.frequencies)
    return np.asarray(np.sqrt(np.bincount(index.documents, weights * weights, minlength=len(index.ids))))


def _query_norm(index: InvertedIndex, counts: Mapping[str, int]) -> float:
    idfs = [np.log2(len(index.ids) / len(index.postings(token).documents)) for token in counts]
    norm = np.sqrt(sum((count * idf) ** 2 for count, idf in zip(counts.values(), idfs, strict=True)))
    return float(norm) or 1.0


def _index(context: SystemContext, documents: DocumentKind) -> InvertedIndex:
    stream = partial(answer_documents, context.content, documents)
    return token_index(context, "msm", documents, stream, simple_words)


def msm_bm25(
    context: SystemContext,
    query: str = "title+body",
    documents: DocumentKind = "answer",
    k1: float = 1.25,
    b: float = 0.75,
    delta: float = 1.0,
) -> Retriever:
    """BM25+ over words of answers."""
    bias = partial(constant_share, delta=delta)
    make_query = partial(topic_fields, fields=query)
    index = _index(context, documents)
    return LexicalRetriever(index, make_query, simple_words, PlusWeights(k1, b), bias=bias, later_first=True)


def msm_tfidf(context: SystemContext, query: str = "title+body", documents: DocumentKind = "answer") -> Retriever:
    """Cosine of TF-IDF vectors over words of answers."""
    index = _index(context, documents)
    weights = CosineWeights(document_norms(index))
    make_query = partial(topic_fields, fields=query)
    return LexicalRetriever(index, make_query, simple_words, weights, _query_norm, later_first=True)
