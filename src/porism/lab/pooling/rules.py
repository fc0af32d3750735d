"""Which items of the runs are judged: the rules of pooling, as pure functions over rankings.

A pool item is an answer (Task 1), a written answer of Task 3 under a synthetic id `d_k`, or a visually distinct formula
with up to five of its instances (Task 2). Where it came from (run and rank) is kept apart and never shown to assessors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from porism.lab.seeded import shuffled

DEPTHS = {1: {"primary": 45, "alternate": 20}, 2: {"primary": 25, "alternate": 15}}


class Instance(NamedTuple):
    """One formula in one post."""

    formula_id: int
    post_id: int


class Origin(NamedTuple):
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
    instances: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """What pooling reads of a run: for each topic the valid items in rank order, and how deep to go."""

    run: str
    depth: int
    topics: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A written answer of Task 3 and the id under which it is judged."""

    topic: str
    id: str
    text: str


@dataclass(slots=True)
class Pool:
    """Items in the order of judging, and apart from them where they came from."""

    items: list[PoolItem] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def topic_key(topic: str) -> tuple[str, int, str]:
    """Topics in the order a person expects: A.2 before A.10."""
    number = re.search(r"\d+", topic)
    return (topic[: number.start()] if number else topic, int(number.group()) if number else 0, topic)


def depth_pool(rankings: Iterable[Ranking]) -> list[Origin]:
    """The first `depth` different items of every run, with the rank each run gave them."""
    found: list[Origin] = []
    for ranking in rankings:
        for topic, ranked in ranking.topics.items():
            distinct = list(dict.fromkeys(ranked))
            found += [Origin(topic, item, ranking.run, rank) for rank, item in enumerate(distinct[: ranking.depth], 1)]
    return found


def name_answers(
    written: Iterable[tuple[str, str, str]], known: Iterable[Answer] = ()
) -> tuple[list[Answer], list[Origin]]:
    """Give synthetic ids to (run, topic, text): equal texts of one topic share one; numbering goes on from the known."""
    ids = {(answer.topic, answer.text): answer.id for answer in known}
    count = max((int(name.removeprefix("d_")) for name in ids.values()), default=0)
    fresh: list[Answer] = []
    origins: list[Origin] = []
    for run, topic, text in sorted(written, key=lambda row: (topic_key(row[1]), row[0])):
        if (topic, text) not in ids:
            count += 1
            ids[topic, text] = f"d_{count}"
            fresh.append(Answer(topic, ids[topic, text], text))
        origins.append(Origin(topic, ids[topic, text], run, 0))
    return fresh, origins


def judging_order(
    origins: Iterable[Origin],
    seed: int,
    already: Iterable[PoolItem] = (),
    instances: Mapping[tuple[str, str], tuple[Instance, ...]] | None = None,
) -> list[PoolItem]:
    """Every pooled item once, topic by topic, in a seeded order that says nothing of rank or run.

    With `already`, only the new items are returned, as the next round: what was judged stays as it was.
    """
    old = {(item.topic, item.item): item.round for item in already}
    turn = max(old.values(), default=0) + 1
    by_topic: dict[str, set[str]] = {}
    for origin in origins:
        if (origin.topic, origin.item) not in old:
            by_topic.setdefault(origin.topic, set()).add(origin.item)
    return [
        PoolItem(topic, item, turn, (instances or {}).get((topic, item), ()))
        for topic in sorted(by_topic, key=topic_key)
        for item in shuffled(sorted(by_topic[topic]), seed, topic, "order", turn)
    ]
