"""Several runs become one. The order in which runs are given does not matter, but for their weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from porism.errors import PorismError
from porism.evaluate.runs.run import LIMIT, Ranking, Run

Row = list[tuple[str, float]]  # item, score: in order


@dataclass(frozen=True, slots=True)
class Method:
    """How the places and scores of an item become one score."""

    name: str
    points: Callable[[Row, float], dict[str, float]]
    by_hits: bool = False


def reciprocal(row: Row, k: float) -> dict[str, float]:
    """1 / (k + rank). Cormack, Clarke and Büttcher, SIGIR 2009."""
    return {item: 1 / (k + rank) for rank, (item, _) in enumerate(row, 1)}


def weighted_reciprocal(row: Row, k: float) -> dict[str, float]:
    """score / (k + rank), the score as given."""
    return {item: score / (k + rank) for rank, (item, score) in enumerate(row, 1)}


def scaled(row: Row, k: float) -> dict[str, float]:
    """Scores brought to 0..1 by the least and the greatest of the list; equal scores become 1."""
    low, high = min(score for _, score in row), max(score for _, score in row)
    return {item: (score - low) / (high - low) if high > low else 1.0 for item, score in row}


METHODS = {
    method.name: method
    for method in (
        Method("rrf", reciprocal),
        Method("score-rrf", weighted_reciprocal),
        Method("convex", scaled),
        Method("combsum", scaled),
        Method("combmnz", scaled, by_hits=True),
    )
}


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    weights: Sequence[float] | None = None,
    k: float = 60,
    limit: int = LIMIT,
    tag: str = "fused",
) -> Run:
    """Join runs of one kind, topic by topic. `convex` divides by the sum of the weights."""
    chosen = METHODS.get(method)
    if chosen is None:
        raise PorismError(f"no fusion {method!r}", fix=f"choose among {', '.join(METHODS)}")
    if len(runs) < 2 or len({run.kind for run in runs}) != 1 or runs[0].kind == "task3":
        raise PorismError(
            "fusion takes two or more runs of one kind with rankings",
            fix="give Task 1, Task 2 or trec_eval files of one task",
        )
    share = list(weights) if weights is not None else [1.0] * len(runs)
    if len(share) != len(runs) or not all(math.isfinite(weight) and weight >= 0 for weight in share) or not sum(share):
        raise PorismError(
            f"{len(share)} weights for {len(runs)} runs", fix="give one weight per run, none negative, not all 0"
        )
    topics = sorted({topic for run in runs for topic in run.rankings}, key=natural)
    total = sum(share) if method == "convex" else 1.0
    fused = {topic: fuse_topic(runs, topic, chosen, [weight / total for weight in share], k, limit) for topic in topics}
    return Run(tag, runs[0].kind, fused, tag)


def fuse_topic(
    runs: Sequence[Run], topic: str, method: Method, weights: Sequence[float], k: float, limit: int
) -> Ranking:
    """One topic. Sums are exact (fsum), so that the order of the runs cannot show in the last digit."""
    points: dict[str, list[float]] = {}
    posts: dict[str, str] = {}
    for run, weight in zip(runs, weights, strict=True):
        ranking = run.rankings.get(topic)
        if ranking is None or not ranking.items:
            continue
        for item, value in method.points(ranking.pairs(limit), k).items():
            points.setdefault(item, []).append(weight * value)
        if ranking.posts:
            merge_posts(posts, dict(zip(ranking.items, ranking.posts, strict=True)))
    totals = {item: math.fsum(values) * (len(values) if method.by_hits else 1) for item, values in points.items()}
    order = sorted(totals.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:limit]
    return Ranking(
        [item for item, _ in order], [value for _, value in order], [posts[item] for item, _ in order] if posts else []
    )


def merge_posts(posts: dict[str, str], more: Mapping[str, str]) -> None:
    """Each formula's post; of two that differ the greater, whichever run came first."""
    for item, post in more.items():
        posts[item] = max(posts.get(item, post), post)


def natural(topic: str) -> tuple[str, int, str]:
    """A.2 before A.10."""
    head, _, tail = topic.partition(".")
    return (head, int(tail), "") if tail.isdecimal() else (head, 0, tail)
