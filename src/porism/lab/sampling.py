"""Reproducible random choices: every draw of the lab depends on a seed, a topic and a purpose only."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")


def seeded_random(seed: int, *purpose: object) -> random.Random:
    """Return a generator that depends on the seed and the purpose only, not on the order of calls or the platform."""
    name = "\x1f".join([str(seed), *map(str, purpose)])
    return random.Random(int.from_bytes(hashlib.sha256(name.encode()).digest(), "big"))


def shuffled(items: Iterable[T], seed: int, *purpose: object) -> list[T]:
    """Return the items in a seeded order. Pass them in a fixed order, since the result depends on it."""
    result = list(items)
    seeded_random(seed, *purpose).shuffle(result)
    return result


def stratified_sample(strata: Mapping[K, Sequence[T]], size: int, seed: int, *purpose: object) -> list[T]:
    """Draw `size` items from the strata in proportion to their sizes, at least one from each while `size` allows.

    A plain sample would often miss the rare strata (the few highly relevant answers), and kappa would suffer. Shares
    are rounded by largest remainder; ties go to the stratum that comes first.

    >>> stratified_sample({"H": [1], "N": [2, 3, 4, 5]}, 2, seed=1)[0:1] in ([1], [2], [3], [4], [5])
    True
    """
    names = [name for name, items in strata.items() if items]
    total = sum(len(strata[name]) for name in names)
    if size >= total:
        return shuffled([item for name in names for item in strata[name]], seed, *purpose, "order")
    shares = _shares([len(strata[name]) for name in names], size)
    drawn: list[T] = []
    for name, share in zip(names, shares, strict=True):
        drawn += seeded_random(seed, *purpose, "stratum", name).sample(list(strata[name]), share)
    return shuffled(drawn, seed, *purpose, "order")


def _shares(sizes: Sequence[int], size: int) -> list[int]:
    """Return how many items to draw: one of each stratum first (of the largest ones), the rest in proportion."""
    largest_first = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    shares = [0] * len(sizes)
    for i in largest_first[:size]:
        shares[i] = 1
    left, available = size - sum(shares), [n - share for n, share in zip(sizes, shares, strict=True)]
    if left <= 0 or not any(available):
        return shares
    return [share + more for share, more in zip(shares, proportional(available, left), strict=True)]


def proportional(sizes: Sequence[int], total: int) -> list[int]:
    """Share a total in proportion to sizes, rounded by largest remainders; ties go to the first."""
    whole = sum(sizes)
    exact = [total * size / whole for size in sizes]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (shares[i] - exact[i], i))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares
