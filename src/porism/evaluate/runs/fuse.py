"""Fuse run files, topic by topic. The order of the runs does not matter, except for their weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from porism.errors import PorismError
from porism.evaluate.fusion import FUSIONS, RRF_K, Fusion, ScoredIds
from porism.evaluate.runs.run import LIMIT, Ranking, Run


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    weights: Sequence[float] | None = None,
    k: float = RRF_K,
    limit: int = LIMIT,
    tag: str = "fused",
) -> Run:
    """Fuse runs of one kind by a method of `porism.evaluate.fusion`."""
    fusion = FUSIONS.get(method)
    if fusion is None:
        raise PorismError(f"no fusion {method!r}", fix=f"choose one of {', '.join(FUSIONS)}")
    if len(runs) < 2 or len({run.kind for run in runs}) != 1 or runs[0].kind == "task3":
        raise PorismError(
            "fusion needs two or more runs of one kind, with rankings",
            fix="give Task 1, Task 2 or trec_eval files of one task",
        )
    shares = [1.0] * len(runs) if weights is None else list(weights)
    if (
        len(shares) != len(runs)
        or not all(math.isfinite(weight) and weight >= 0 for weight in shares)
        or not sum(shares)
    ):
        raise PorismError(
            f"{len(shares)} weights for {len(runs)} runs", fix="give one weight per run, none negative, not all 0"
        )
    topics = sorted({topic for run in runs for topic in run.rankings}, key=_topic_order)
    fused = {topic: _fuse_topic(runs, topic, fusion, shares, k, limit) for topic in topics}
    return Run(tag, runs[0].kind, fused, tag)


def _fuse_topic(
    runs: Sequence[Run], topic: str, fusion: Fusion, weights: Sequence[float], k: float, limit: int
) -> Ranking:
    rankings = [run.rankings.get(topic, Ranking([], [])).in_score_order(limit) for run in runs]
    # Descending, because fusions order equal scores by ascending id, and trec_eval by descending item.
    items = sorted({item for ranking in rankings for item in ranking.items}, reverse=True)
    number = {item: place for place, item in enumerate(items)}
    coded = [
        ScoredIds(np.array([number[item] for item in ranking.items], np.int64), np.array(ranking.scores))
        for ranking in rankings
    ]
    fused = fusion(coded, weights, k)
    names = [items[place] for place in fused.ids[:limit]]
    posts = _posts([run.rankings[topic] for run in runs if topic in run.rankings])
    return Ranking(names, fused.scores[:limit].tolist(), [posts[name] for name in names] if posts else [])


def _posts(rankings: Sequence[Ranking]) -> Mapping[str, str]:
    """Return the post of each formula; where runs differ, the greater one, whichever run comes first."""
    posts: dict[str, str] = {}
    for ranking in rankings:
        for item, post in zip(ranking.items, ranking.posts, strict=False):
            posts[item] = max(posts.get(item, post), post)
    return posts


def _topic_order(topic: str) -> tuple[str, int, str]:
    """Sort A.2 before A.10."""
    head, _, tail = topic.partition(".")
    return (head, int(tail), "") if tail.isdecimal() else (head, 0, tail)
