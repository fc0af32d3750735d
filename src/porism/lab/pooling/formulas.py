"""Task 2: pools of visually distinct formulas, and which of their instances are shown.

Two policies choose the instances: `votes` (2022: up to five by reciprocal-rank votes) and `threads` (2020: up to N posts,
spread over threads). One formula is never judged twice because two runs found it in different posts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.lab.pooling.rules import Instance, Origin
from porism.lab.seeded import chance

INSTANCES = 5


class FormulaHit(NamedTuple):
    """A formula that a run returned: instance, its post, its thread and its visual id."""

    formula_id: int
    post_id: int
    thread_id: int
    visual_id: int


@dataclass(frozen=True, slots=True)
class FormulaRanking:
    """What pooling reads of a Task 2 run: valid hits in rank order, and how many distinct formulas to take."""

    run: str
    depth: int
    topics: Mapping[str, Sequence[FormulaHit]]


def visual_pool(rankings: Iterable[FormulaRanking]) -> list[Origin]:
    """Walk each run down until `depth` different visual ids were seen; the rank is that of the first instance."""
    found: list[Origin] = []
    for ranking in rankings:
        for topic, hits in ranking.topics.items():
            first: dict[int, int] = {}
            for rank, hit in enumerate(hits, 1):
                if hit.visual_id not in first and len(first) == ranking.depth:
                    break
                first.setdefault(hit.visual_id, rank)
            found += [Origin(topic, str(visual), ranking.run, rank) for visual, rank in first.items()]
    return found


def votes(rankings: Iterable[FormulaRanking], topic: str, prefix: bool = False) -> dict[FormulaHit, float]:
    """Vote of an instance: the sum over runs of 1/rank. With `prefix`, only the pooled part of each run votes."""
    total: dict[FormulaHit, float] = {}
    for ranking in rankings:
        seen: set[int] = set()
        for rank, hit in enumerate(ranking.topics.get(topic, ()), 1):
            if prefix and hit.visual_id not in seen and len(seen) == ranking.depth:
                break
            seen.add(hit.visual_id)
            total[hit] = total.get(hit, 0.0) + 1 / rank
    return total


def by_votes(tally: Mapping[FormulaHit, float], limit: int, rng: random.Random) -> list[FormulaHit]:
    """The instances with most votes, at most `limit`; ties at random."""
    candidates = sorted(tally)
    rng.shuffle(candidates)
    return sorted(candidates, key=lambda hit: -tally[hit])[:limit]


def by_threads(candidates: Iterable[FormulaHit], limit: int, rng: random.Random) -> list[FormulaHit]:
    """The policy of 2020. A = posts with the formula, T = their threads, N = `limit`:

    1. |A| <= N: all posts;
    2. |A| > N and |T| < N: one random post of each thread, filled up to N from the rest at random;
    3. otherwise, |T| = N included: N random threads, one random post of each.
    """
    posts = list({hit.post_id: hit for hit in sorted(candidates, reverse=True)}.values())[::-1]
    if len(posts) <= limit:
        return posts
    threads: dict[int, list[FormulaHit]] = {}
    for hit in posts:
        threads.setdefault(hit.thread_id, []).append(hit)
    if len(threads) < limit:
        chosen = [rng.choice(group) for group in threads.values()]
        rest = [hit for hit in posts if hit not in chosen]
        return chosen + rng.sample(rest, limit - len(chosen))
    return [rng.choice(threads[thread]) for thread in rng.sample(list(threads), limit)]


def choose_instances(
    rankings: Sequence[FormulaRanking],
    pooled: Iterable[tuple[str, str]],
    seed: int,
    *,
    policy: str = "votes",
    limit: int = INSTANCES,
    prefix: bool = False,
) -> dict[tuple[str, str], tuple[Instance, ...]]:
    """For every pooled (topic, visual id) the instances to show."""
    wanted: dict[str, set[str]] = {}
    for topic, visual in pooled:
        wanted.setdefault(topic, set()).add(visual)
    chosen: dict[tuple[str, str], tuple[Instance, ...]] = {}
    for topic, visuals in wanted.items():
        groups: dict[str, dict[FormulaHit, float]] = {}
        for hit, vote in votes(rankings, topic, prefix).items():
            groups.setdefault(str(hit.visual_id), {})[hit] = vote
        for visual in sorted(visuals):
            rng = chance(seed, topic, "instances", visual)
            pick = by_votes(groups[visual], limit, rng) if policy == "votes" else by_threads(groups[visual], limit, rng)
            chosen[topic, visual] = tuple(Instance(hit.formula_id, hit.post_id) for hit in pick)
    return chosen
