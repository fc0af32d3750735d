"""Task 2: pool visually distinct formulas, and choose which of their instances assessors see.

Two policies choose the instances: `votes` (2022: up to five by reciprocal-rank votes) and `threads` (2020: up to N
posts, spread over threads). A formula is judged once, even if two runs found it in different posts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from porism.lab.pooling.pool import FormulaInstance, ItemId, PoolOrigin, RankedRun
from porism.lab.sampling import seeded_random

INSTANCES = 5


class RunFormula(NamedTuple):
    """A formula that a run returned: the instance, its post, its thread and its visual id."""

    formula_id: int
    post_id: int
    thread_id: int
    visual_id: int


def visual_pool(runs: Iterable[RankedRun[RunFormula]]) -> list[PoolOrigin]:
    """Walk down each run until `depth` different visual ids occurred; the rank is that of the first instance."""
    origins: list[PoolOrigin] = []
    for run in runs:
        for topic, hits in run.topics.items():
            first: dict[int, int] = {}
            for rank, hit in enumerate(hits, 1):
                if hit.visual_id not in first and len(first) == run.depth:
                    break
                first.setdefault(hit.visual_id, rank)
            origins += [PoolOrigin(topic, str(visual), run.run, rank) for visual, rank in first.items()]
    return origins


def votes(runs: Iterable[RankedRun[RunFormula]], topic: str, prefix: bool = False) -> dict[RunFormula, float]:
    """Return the votes of each instance: the sum of 1/rank over the runs.

    With `prefix`, only the pooled part of each run votes.
    """
    total: dict[RunFormula, float] = {}
    for run in runs:
        seen: set[int] = set()
        for rank, hit in enumerate(run.topics.get(topic, ()), 1):
            if prefix and hit.visual_id not in seen and len(seen) == run.depth:
                break
            seen.add(hit.visual_id)
            total[hit] = total.get(hit, 0.0) + 1 / rank
    return total


def by_votes(tally: Mapping[RunFormula, float], limit: int, rng: random.Random) -> list[RunFormula]:
    """Return the instances with the most votes, at most `limit`; ties are broken at random."""
    candidates = sorted(tally)
    rng.shuffle(candidates)
    return sorted(candidates, key=lambda hit: -tally[hit])[:limit]


def by_threads(candidates: Iterable[RunFormula], limit: int, rng: random.Random) -> list[RunFormula]:
    """Choose instances as in 2020. A = posts with the formula, T = their threads, N = `limit`:

    1. |A| <= N: all posts;
    2. |A| > N and |T| < N: one random post of each thread, filled up to N from the rest at random;
    3. otherwise, |T| = N included: N random threads, one random post of each.
    """
    posts = list({hit.post_id: hit for hit in sorted(candidates, reverse=True)}.values())[::-1]
    if len(posts) <= limit:
        return posts
    threads: dict[int, list[RunFormula]] = {}
    for hit in posts:
        threads.setdefault(hit.thread_id, []).append(hit)
    if len(threads) < limit:
        chosen = [rng.choice(group) for group in threads.values()]
        rest = [hit for hit in posts if hit not in chosen]
        return chosen + rng.sample(rest, limit - len(chosen))
    return [rng.choice(threads[thread]) for thread in rng.sample(list(threads), limit)]


def choose_instances(
    runs: Sequence[RankedRun[RunFormula]],
    pooled: Iterable[ItemId],
    seed: int,
    *,
    policy: str = "votes",
    limit: int = INSTANCES,
    prefix: bool = False,
) -> dict[ItemId, tuple[FormulaInstance, ...]]:
    """Return the instances to show for every pooled formula (an item id holds a topic and a visual id)."""
    visuals_by_topic: dict[str, set[str]] = {}
    for topic, visual in pooled:
        visuals_by_topic.setdefault(topic, set()).add(visual)
    chosen: dict[ItemId, tuple[FormulaInstance, ...]] = {}
    for topic, visuals in visuals_by_topic.items():
        groups: dict[str, dict[RunFormula, float]] = {}
        for hit, vote in votes(runs, topic, prefix).items():
            groups.setdefault(str(hit.visual_id), {})[hit] = vote
        for visual in sorted(visuals):
            rng = seeded_random(seed, topic, "instances", visual)
            pick = by_votes(groups[visual], limit, rng) if policy == "votes" else by_threads(groups[visual], limit, rng)
            chosen[ItemId(topic, visual)] = tuple(FormulaInstance(hit.formula_id, hit.post_id) for hit in pick)
    return chosen
