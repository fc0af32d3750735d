"""Searches as requests: BM25 over whole threads or formulas, presence, filters, and texts of posts are pushed down to
the cluster.

Scores of BM25 in other views come from the records of the documents that a search found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from porism.analysis.schema import FIELDS, FORMULA, TAG_FAMILY, View
from porism.errors import PorismError
from porism.store.embedded.terms.embedded import merge_terms
from porism.store.opensearch.generation import Generation
from porism.store.opensearch.schema import WEIGHTING, WINDOW, Kind, year_field
from porism.store.opensearch.transport import SortedHits
from porism.store.records import NO_HITS, UNKNOWN, Filter, Floats, Hits, Ints, Term, TermQuery, TextQuery, Threads
from porism.store.weighting import BM25, IDFS, lucene_idf
from porism.text.words import WORD, stem

MOST_CLAUSES = 1000  # of a query; a node takes 1,024
DRIFT = 1e-3  # of the mean length since the build, from which on frequencies no longer give scores
Query = dict[str, Any]
NOTHING: Query = {"match_none": {}}


class PushedSearch(NamedTuple):
    """A search of an index, and what its answer means."""

    kind: Kind
    body: Query
    hits: Callable[[Any], Hits]


class Found(NamedTuple):
    """The terms of a query that documents contain: each once, with their codes and frequencies."""

    terms: list[Term]
    codes: Ints
    documents: Ints

    @classmethod
    def of(cls, terms: Sequence[Term], generation: Generation, group: str) -> Found:
        """Look terms up."""
        merged = merge_terms(terms)
        found = generation.tables.statistics(group, merged)
        known = np.flatnonzero(found.keys != UNKNOWN)
        return cls([merged[at] for at in known.tolist()], found.keys[known], found.documents[known])


def is_pushed(generation: Generation, query: TermQuery) -> bool:
    """Return whether the scores of the cluster are those of a query."""
    view, manifest = query.view, generation.manifest
    if view.unit == "formula":
        if view == FORMULA and query.weighting in (WEIGHTING, BM25(k1=0.0)):
            return True
        fix = "use a store whose options include 'weightings'"
        raise PorismError("has BM25 with its usual parameters for formulas only", where=str(generation.place), fix=fix)
    if query.weighting == BM25(k1=0.0):
        return all(view.vector(FIELDS))
    if view != manifest.main_view or query.weighting != WEIGHTING:
        return False
    families = {term.family for term in query.terms}
    return all(
        abs(mean_length(generation, one, view) / max(manifest.posts[one].mean, 1e-9) - 1) < DRIFT for one in families
    )


def mean_length(generation: Generation, family: str, view: View) -> float:
    """Return the mean length of the documents of a view in a family."""
    return lengths(generation, family, view) / max(1, generation.manifest.counts["thread"])


def lengths(generation: Generation, family: str, view: View) -> float:
    """Return the sum of the lengths of the documents of a view in a family."""
    manifest = generation.manifest
    if view.unit == "formula":
        return float(manifest.formulas[family].questions[0])
    own = manifest.posts[family]
    sums = np.zeros(len(FIELDS))
    for part, units in ((own.questions, ("thread", "question")), (own.answers, ("thread", "answer"))):
        if view.unit in units:
            sums += part
    return float(sums @ np.array(view.vector(FIELDS)))


def term_request(generation: Generation, query: TermQuery, k: int, counted: bool = False) -> PushedSearch | None:
    """Return the request for the best k documents by the scores of the cluster, `counted` if all are; None if no
    document can match."""
    kind: Kind = "formulas" if query.view.unit == "formula" else "threads"
    group = "formulas" if kind == "formulas" else "posts"
    found = Found.of(query.terms, generation, group)
    if k < 1 or not len(found.codes):
        return None
    required = [_containing(term, generation, group) for term in query.required]
    if NOTHING in required:
        return None
    clauses = _clauses(found, generation.manifest.counts[query.view.unit], query.weighting)
    body = {
        "size": min(k, WINDOW),
        "_source": False,
        "stored_fields": "_none_",
        "track_total_hits": WINDOW + 1 if counted else False,
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        "query": {
            "bool": {
                "should": clauses,
                "minimum_should_match": 1,
                "filter": [*required, *_filters(query.allow, generation)],
                "must_not": generation.hidden(kind),
            }
        },
    }
    return PushedSearch(kind, body, ranked)


def _clauses(found: Found, documents: int, weighting: Any) -> list[Query]:
    weights = np.array([term.weight for term in found.terms]) * lucene_idf(
        documents, found.documents.astype(np.float64)
    )
    presence = weighting == BM25(k1=0.0)
    boosts = weights if presence else weights * (WEIGHTING.k1 + 1.0)
    strongest = np.sort(np.argsort(-boosts, kind="stable")[:MOST_CLAUSES])
    clauses: list[Query] = []
    for at in strongest.tolist():
        family, code, boost = found.terms[at].family, str(found.codes[at]), float(boosts[at])
        if presence:
            clauses.append({"constant_score": {"filter": {"term": {family: code}}, "boost": boost}})
        else:
            clauses.append({"term": {family: {"value": code, "boost": boost}}})
    return clauses


def _containing(term: Term, generation: Generation, group: str) -> Query:
    found = generation.tables.statistics(group, [term])
    return NOTHING if found.keys[0] == UNKNOWN else {"term": {term.family: str(found.keys[0])}}


def _filters(allow: Filter | None, generation: Generation) -> list[Query]:
    """Return the queries of a filter: one post must have kind, year and acceptance, and the thread all tags."""
    if not allow:
        return []
    field = year_field(allow.kind, allow.accepted)
    years: Query = {"exists": {"field": field}}
    if allow.years is not None:
        years = {"range": {field: {"gte": max(-32768, allow.years[0]), "lte": min(32767, allow.years[1])}}}
    return [years, *(_containing(Term(TAG_FAMILY, tag), generation, "posts") for tag in allow.tags)]


def ranked(answer: Any) -> Hits:
    """Return the hits of a search that is sorted by score, then by id."""
    hits = answer.get("hits", {}).get("hits", ())
    if isinstance(hits, SortedHits):
        return Hits(hits.ids, hits.scores.astype(np.float64))
    if not hits:
        return NO_HITS
    pairs = [hit["sort"] for hit in hits]
    return Hits(np.array([pair[1] for pair in pairs], np.int64), np.array([pair[0] for pair in pairs], np.float64))


def text_request(
    generation: Generation, query: TextQuery, owners: Callable[[str], Sequence[int]]
) -> PushedSearch | None:
    """Return the request for posts with phrases, without words, and by authors; `owners` returns the users with a name
    or number."""
    filters: list[Query] = [{"terms": {"id": list(query.posts)}}]
    for phrase in query.phrases:
        words = WORD.findall(phrase)
        filters.append({"match_phrase": {"phrase": " ".join(words)}} if words else NOTHING)
    if query.authors:
        users = sorted({user for author in query.authors for user in owners(author)})
        filters.append({"terms": {"owner": users}} if users else NOTHING)
    without = generation.hidden("posts")
    for word in query.excluded:
        parts = [{"term": {"stems": stem(part)}} for part in WORD.findall(word)]
        without.append({"bool": {"filter": parts}} if parts else {"match_all": {}})
    if not query.posts or NOTHING in filters:
        return None
    body = {
        "size": len(query.posts),
        "_source": False,
        "stored_fields": "_none_",
        "track_total_hits": False,
        "sort": [{"id": "asc"}],
        "query": {"bool": {"filter": filters, "must_not": without}},
    }

    def hits(answer: Mapping[str, Any]) -> Hits:
        """Return the posts that were found, in the order given."""
        matching = {hit["sort"][0] for hit in answer.get("hits", {}).get("hits", ())}
        kept = [number for number in query.posts if number in matching]
        return Hits(np.array(kept, np.int64), np.zeros(len(kept)))

    return PushedSearch("posts", body, hits)


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
