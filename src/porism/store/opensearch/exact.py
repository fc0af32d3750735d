"""Exact scores of BM25 in any view, from the records of the documents that a search found."""

from __future__ import annotations

import numpy as np

from porism.analysis.schema import FIELDS
from porism.store.opensearch.generation import Generation
from porism.store.opensearch.searching import Found, mean_length
from porism.store.records import Floats, Hits, Ints, TermQuery, Threads
from porism.store.weighting import BM25, IDFS


def exact_hits(generation: Generation, query: TermQuery, batch: Threads) -> Hits:
    """Return the best of some threads. A view that leaves fields out counts the documents of a term in the batch, which
    then has all of them."""
    assert isinstance(query.weighting, BM25), "other weightings were refused"
    view, found = query.view, Found.of(query.terms, generation, "posts")
    weights = np.array(view.vector(FIELDS))
    scores, matched = np.zeros(len(batch.numbers)), np.zeros(len(batch.numbers), np.bool_)
    for at, term in enumerate(found.terms):
        counts = _counts(batch, term.family, int(found.codes[at]), weights)
        having = np.flatnonzero(counts)
        documents = float(found.documents[at]) if all(weights) else float(len(having))
        if not len(having):
            continue
        lengths = np.add.reduceat(batch.terms[term.family].lengths @ weights, batch.starts)[having]
        mean = max(mean_length(generation, term.family, view), 1e-9)
        idf = IDFS[query.weighting.idf](generation.manifest.counts["thread"], documents)
        scores[having] += term.weight * idf * query.weighting.strength(counts[having], lengths, mean)
        matched[having] = True
    for term in query.required:
        own = Found.of([term], generation, "posts")
        matched &= _counts(batch, term.family, int(own.codes[0]), weights) > 0 if len(own.codes) else False
    kept = np.flatnonzero(matched)
    order = kept[np.lexsort((batch.numbers[kept], -scores[kept]))][: max(0, query.k)]
    return Hits(batch.numbers[order], scores[order])


def _counts(batch: Threads, family: str, code: int, weights: Floats) -> Floats:
    """Return the weighted count of a term in each thread."""
    rows = batch.terms[family]
    if not len(rows.starts):
        return np.zeros(0)
    low, high = int(rows.starts[0]), int(rows.ends[-1])  # the entries of posts follow each other
    places = low + np.flatnonzero(rows.keys[low:high] == code)
    posts: Ints = np.searchsorted(rows.ends, places, side="right")
    threads = np.searchsorted(batch.ends, posts, side="right")
    counted = np.bincount(threads, weights[rows.fields[places]] * rows.counts[places], len(batch.numbers))
    return np.asarray(counted, np.float64)
