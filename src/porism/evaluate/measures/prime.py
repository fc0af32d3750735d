"""The prime filter: remove unjudged hits from a run before it is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress

from porism.evaluate.runs.run import LIMIT, Ranking, Run


def first_hits(ranking: Ranking, limit: int = LIMIT) -> Ranking:
    """Return the first `limit` hits in trec_eval's order. This comes before any filter."""
    if len(ranking.items) <= limit and len(set(ranking.items)) == len(ranking.items):
        return ranking
    return ranking.in_score_order(limit)


def prime_filter(run: Run, qrels: Mapping[str, Mapping[str, int]], limit: int = LIMIT) -> Run:
    """Keep only judged hits, in their order and with their scores, and only topics with a judged hit.

    Filtering a second time changes nothing.
    """
    kept: dict[str, Ranking] = {}
    for topic, ranking in run.rankings.items():
        grades = qrels.get(topic)
        if not grades:
            continue
        top = first_hits(ranking, limit)
        judged = [item in grades for item in top.items]
        if any(judged):
            kept[topic] = Ranking(list(compress(top.items, judged)), list(compress(top.scores, judged)))
    return replace(run, rankings=kept)
