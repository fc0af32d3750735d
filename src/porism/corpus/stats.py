"""What a collection holds, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import FORMULA_KINDS

TOP = 20


@dataclass(frozen=True, slots=True)
class Distribution:
    """A named list of (value, number)."""

    name: str
    rows: tuple[tuple[str, int], ...]


def buckets(counts: Counter[int]) -> tuple[tuple[str, int], ...]:
    """Whole numbers gathered as 0, 1, 2, 3-4, 5-8, 9-16, ...

    >>> buckets(Counter({0: 5, 1: 2, 3: 1, 4: 1, 9: 7}))
    (('0', 5), ('1', 2), ('3-4', 2), ('9-16', 7))
    """
    total: Counter[int] = Counter()
    for value, number in counts.items():
        total[0 if value <= 0 else (value - 1).bit_length() + 1] += number
    return tuple((_bucket(power), number) for power, number in sorted(total.items()))


def _bucket(power: int) -> str:
    if power <= 2:
        return str(power)
    return f"{2 ** (power - 2) + 1}-{2 ** (power - 1)}"


def distributions(collection: Collection) -> Iterator[Distribution]:
    """Posts per year, formulas per post, sizes, the commonest formulas, tags, kinds and converters."""
    years: Counter[str] = Counter((post.created[:4] or "undated") + " " + post.kind for post in collection.posts())
    yield Distribution("posts by year and kind", tuple(sorted(years.items())))
    yield Distribution("formulas by kind", tuple(_kinds(collection)))
    yield Distribution("formulas per post", buckets(_per_post(collection)))
    sizes: Counter[int] = Counter()
    paths: Counter[str] = Counter()
    for expression in collection.expressions():
        sizes[len(expression.latex)] += 1
        paths[expression.path] += 1
    yield Distribution("characters of a distinct formula", buckets(sizes))
    yield Distribution("distinct formulas by converter", tuple(sorted(paths.items())))
    yield Distribution("commonest formulas", tuple((latex, number) for latex, number, _ in collection.commonest(TOP)))
    yield Distribution("commonest tags", tuple(tag for tag, _ in zip(collection.tags(), range(TOP), strict=False)))


def _kinds(collection: Collection) -> Iterator[tuple[str, int]]:
    counts = Counter(
        formula.kind + (f" (issue {formula.issue})" if formula.issue else "") for formula in collection.formulas()
    )
    yield from sorted(counts.items(), key=lambda row: (FORMULA_KINDS.index(row[0].split()[0]), row[0]))


def _per_post(collection: Collection) -> Counter[int]:
    """Streams the occurrences grouped by post; posts without formulas count as 0."""
    counts: Counter[int] = Counter()
    for _, group in groupby(collection.formula_posts()):
        counts[sum(1 for _ in group)] += 1
    counts[0] += collection.count("posts") - sum(counts.values())
    return +counts
