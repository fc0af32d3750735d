"""The pool: its records, depth pooling of answers and of formulas, and the instances that assessors see.

A pool item is an answer (Task 1), a written answer of Task 3 under a synthetic id `d_k`, or a visually distinct formula
with up to five of its instances (Task 2). Which run returned it at which rank is kept apart and never shown to
assessors.

Two policies choose the instances: `votes` (2022: up to five by reciprocal-rank votes) and `threads` (2020: up to N
posts, spread over threads). A formula is judged once, even if two runs found it in different posts.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

from porism.lab.sampling import seeded_random, shuffled
from porism.records import topic_key

# The depths of 2022, by task and status of the run.
DEPTHS = {1: {"primary": 45, "alternate": 20}, 2: {"primary": 25, "alternate": 15}}
WRITTEN_PREFIX = "d_"
INSTANCES = 5  # of a formula, at most


class FormulaInstance(NamedTuple):
    """One formula in one post."""

    formula_id: int
    post_id: int


class ItemId(NamedTuple):
    """An item of the pool: the topic and the item's id within it."""

    topic: str
    item: str


class PoolOrigin(NamedTuple):
    """A run returned this item for this topic at this rank (from 1; 0 for a written answer of Task 3)."""

    topic: str
    item: str
    run: str
    rank: int


@dataclass(frozen=True, slots=True)
class PoolItem:
    """Something to judge. `round` counts the additions: 1 is the first pool."""

    topic: str
    item: str
    round: int = 1
    instances: tuple[FormulaInstance, ...] = ()


H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class RankedRun(Generic[H]):
    """What pooling reads of a run: for each topic the valid hits in rank order, and how many to pool."""

    run: str
    depth: int
    topics: Mapping[str, Sequence[H]]


class SubmittedAnswer(NamedTuple):
    """A written answer of Task 3 as a run submitted it."""

    run: str
    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class PooledAnswer:
    """A written answer of Task 3 under the synthetic id with which it is judged."""

    topic: str
    id: str
    text: str


@dataclass(slots=True)
class JudgmentPool:
    """The items in judging order and, apart from them, their origins."""

    items: list[PoolItem] = field(default_factory=list)
    origins: list[PoolOrigin] = field(default_factory=list)
    answers: list[PooledAnswer] = field(default_factory=list)


def is_written_answer(item: str) -> bool:
    """Return whether an item id is the synthetic id of a Task 3 answer."""
    return item.startswith(WRITTEN_PREFIX)


def depth_pool(runs: Iterable[RankedRun[str]]) -> list[PoolOrigin]:
    """Return the first `depth` different items of every run, with the rank that the run gave them."""
    origins: list[PoolOrigin] = []
    for run in runs:
        for topic, ranked in run.topics.items():
            distinct = list(dict.fromkeys(ranked))
            origins += [PoolOrigin(topic, item, run.run, rank) for rank, item in enumerate(distinct[: run.depth], 1)]
    return origins


class NamedAnswers(NamedTuple):
    """The answers that got a new synthetic id, and the origins of all submitted answers."""

    new: list[PooledAnswer]
    origins: list[PoolOrigin]


def name_answers(submitted: Iterable[SubmittedAnswer], known: Iterable[PooledAnswer] = ()) -> NamedAnswers:
    """Give synthetic ids to written answers, after those `known` before. Equal texts of one topic share an id."""
    ids = {(answer.topic, answer.text): answer.id for answer in known}
    count = max((int(name.removeprefix(WRITTEN_PREFIX)) for name in ids.values()), default=0)
    new: list[PooledAnswer] = []
    origins: list[PoolOrigin] = []
    for run, topic, text in sorted(submitted, key=lambda answer: (topic_key(answer.topic), answer.run)):
        if (topic, text) not in ids:
            count += 1
            ids[topic, text] = f"{WRITTEN_PREFIX}{count}"
            new.append(PooledAnswer(topic, ids[topic, text], text))
        origins.append(PoolOrigin(topic, ids[topic, text], run, 0))
    return NamedAnswers(new, origins)


def judging_order(
    origins: Iterable[PoolOrigin],
    seed: int,
    already: Iterable[PoolItem] = (),
    instances: Mapping[ItemId, tuple[FormulaInstance, ...]] | None = None,
) -> list[PoolItem]:
    """Return every pooled item once, topic by topic, in a seeded order that reveals neither rank nor run.

    With `already` (the items of an earlier pool), return only the new items, as the next round.
    """
    old = {ItemId(item.topic, item.item): item.round for item in already}
    round_number = max(old.values(), default=0) + 1
    by_topic: dict[str, set[str]] = {}
    for origin in origins:
        if (origin.topic, origin.item) not in old:
            by_topic.setdefault(origin.topic, set()).add(origin.item)
    return [
        PoolItem(topic, item, round_number, (instances or {}).get(ItemId(topic, item), ()))
        for topic in sorted(by_topic, key=topic_key)
        for item in shuffled(sorted(by_topic[topic]), seed, topic, "order", round_number)
    ]


class RunContribution(NamedTuple):
    """The items that a run contributed to a pool, and those that no other run contributed."""

    run: str
    pooled: int
    unique: int


class RunOverlap(NamedTuple):
    """The number of pooled items that two runs have in common."""

    first: str
    second: str
    items: int


class PoolReport(NamedTuple):
    """Sizes by topic, contributions by run, and the overlap of each pair of runs."""

    sizes: dict[str, int]
    runs: tuple[RunContribution, ...]
    overlap: tuple[RunOverlap, ...]

    @property
    def mean(self) -> float:
        """Mean number of items per topic."""
        return statistics.fmean(self.sizes.values()) if self.sizes else 0.0


def report(items: Iterable[PoolItem], origins: Iterable[PoolOrigin]) -> PoolReport:
    """Count a pool."""
    sizes = Counter(item.topic for item in items)
    by_run: dict[str, set[ItemId]] = {}
    by_item: dict[ItemId, set[str]] = {}
    for origin in origins:
        key = ItemId(origin.topic, origin.item)
        by_run.setdefault(origin.run, set()).add(key)
        by_item.setdefault(key, set()).add(origin.run)
    runs = sorted(by_run)
    contributions = [
        RunContribution(run, len(by_run[run]), sum(len(by_item[key]) == 1 for key in by_run[run])) for run in runs
    ]
    overlap = [RunOverlap(a, b, len(by_run[a] & by_run[b])) for a, b in combinations(runs, 2)]
    by_topic = dict(sorted(sizes.items(), key=lambda pair: topic_key(pair[0])))
    return PoolReport(by_topic, tuple(contributions), tuple(overlap))


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
    """Return the sum of 1/rank over the runs by instance. With `prefix`, only the pooled part of each run votes."""
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
            choose = by_votes if policy == "votes" else by_threads
            pick = choose(groups[visual], limit, seeded_random(seed, topic, "instances", visual))
            chosen[ItemId(topic, visual)] = tuple(FormulaInstance(hit.formula_id, hit.post_id) for hit in pick)
    return chosen
