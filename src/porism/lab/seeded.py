"""Chance that can be repeated: every random choice of the lab comes from one seed, a topic and a purpose."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")


def chance(seed: int, *purpose: object) -> random.Random:
    """A generator that depends on the seed and the purpose alone, not on the order of calls or the platform."""
    name = "\x1f".join([str(seed), *map(str, purpose)])
    return random.Random(int.from_bytes(hashlib.sha256(name.encode()).digest(), "big"))


def shuffled(items: Iterable[T], seed: int, *purpose: object) -> list[T]:
    """The items in a seeded order. Give them in a fixed order: the result depends on it."""
    result = list(items)
    chance(seed, *purpose).shuffle(result)
    return result


def stratified(strata: Mapping[K, Sequence[T]], size: int, seed: int, *purpose: object) -> list[T]:
    """A sample of `size` items, shared out over the strata in proportion, at least one of each stratum while size allows.

    Rare strata (the few highly relevant answers) would vanish from a plain sample, and kappa with them. Shares are
    rounded by largest remainder; ties go to the stratum named first.

    >>> stratified({"H": [1], "N": [2, 3, 4, 5]}, 2, seed=1)[0:1] in ([1], [2], [3], [4], [5])
    True
    """
    names = [name for name, items in strata.items() if items]
    total = sum(len(strata[name]) for name in names)
    if size >= total:
        return shuffled([item for name in names for item in strata[name]], seed, *purpose, "order")
    takes = _shares([len(strata[name]) for name in names], size)
    drawn: list[T] = []
    for name, take in zip(names, takes, strict=True):
        drawn += chance(seed, *purpose, "stratum", name).sample(list(strata[name]), take)
    return shuffled(drawn, seed, *purpose, "order")


def _shares(sizes: Sequence[int], size: int) -> list[int]:
    """How many to take of each stratum: one each first (largest strata first if size is short), the rest in proportion."""
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    takes = [0] * len(sizes)
    for i in order[:size]:
        takes[i] = 1
    left, room = size - sum(takes), [n - t for n, t in zip(sizes, takes, strict=True)]
    total = sum(room)
    if left <= 0 or total == 0:
        return takes
    exact = [left * r / total for r in room]
    parts = [int(x) for x in exact]
    rest = sorted(range(len(sizes)), key=lambda i: (parts[i] - exact[i], i))
    for i in rest[: left - sum(parts)]:
        parts[i] += 1
    return [t + p for t, p in zip(takes, parts, strict=True)]
