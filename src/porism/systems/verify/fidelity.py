"""How closely a run follows that of the original program: Kendall's tau-b, rank-biased overlap, overlap of the first hits.

The definitions are those of the shared measuring script: per topic, over the documents that both lists hold; then medians over topics.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scipy import stats

from porism.evaluate.runs.run import Ranking, Run

PERSISTENCE = 0.95  # p of rank-biased overlap
Scored = Mapping[str, float]  # items of one topic with their scores, best first


class TopicFidelity(NamedTuple):
    """How closely one topic follows the reference; `tau` is None where fewer than three items are in both lists."""

    tau: float | None
    rbo: float
    overlap10: float
    overlap100: float


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Medians over the topics that both runs have."""

    tau: float
    rbo: float
    overlap10: float
    overlap100: float
    topics: int
    reference_topics: int


def compare_runs(reference: Run, run: Run) -> Fidelity:
    """Return how closely a run follows a reference."""
    topics = [topic for topic in reference.rankings if topic in run.rankings]
    rows = [compare_topic(_scored(reference.rankings[topic]), _scored(run.rankings[topic])) for topic in topics]
    taus = [row.tau for row in rows if row.tau is not None]
    if not rows:
        return Fidelity(0.0, 0.0, 0.0, 0.0, 0, len(reference.rankings))
    return Fidelity(
        statistics.median(taus) if taus else 0.0,
        statistics.median(row.rbo for row in rows),
        statistics.median(row.overlap10 for row in rows),
        statistics.median(row.overlap100 for row in rows),
        len(rows),
        len(reference.rankings),
    )


def _scored(ranking: Ranking) -> Scored:
    """Return items with scores, best first; equal scores keep the order of the file, and an item its best score."""
    found: dict[str, float] = {}
    for item, score in sorted(zip(ranking.items, ranking.scores, strict=True), key=lambda pair: -pair[1]):
        found.setdefault(item, score)
    return found


def compare_topic(reference: Scored, run: Scored) -> TopicFidelity:
    """Compare two lists of one topic."""
    both = [item for item in reference if item in run]
    tau = None
    if len(both) > 2:
        value = float(stats.kendalltau([reference[item] for item in both], [run[item] for item in both]).statistic)
        tau = None if value != value else value
    first, second = list(reference), list(run)
    overlaps = [len(set(first[:k]) & set(second[:k])) / max(1, min(k, len(first))) for k in (10, 100)]
    return TopicFidelity(tau, rank_biased_overlap(first, second), *overlaps)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], p: float = PERSISTENCE) -> float:
    """Rank-biased overlap (Webber, Moffat and Zobel, 2010), extrapolated from the depth of the shorter list."""
    if not first or not second:
        return 0.0
    seen_first: set[str] = set()
    seen_second: set[str] = set()
    common, total, depth = 0, 0.0, min(len(first), len(second))
    for place in range(depth):
        one, two = first[place], second[place]
        common += 1 if one == two else (one in seen_second) + (two in seen_first)
        seen_first.add(one)
        seen_second.add(two)
        total += common / (place + 1) * p**place
    return (1 - p) * total + common / depth * p**depth


def same_order(reference: Run, run: Run) -> float:
    """Return the share of pairs, of items in both runs, that both order in the same way: a trend, where statistics differ."""
    same = pairs = 0
    for topic, ranking in reference.rankings.items():
        scores = _scored(run.rankings[topic]) if topic in run.rankings else {}
        both = [(score, scores[item]) for item, score in _scored(ranking).items() if item in scores]
        for (a, x), (b, y) in itertools.combinations(both, 2):
            pairs += a != b
            same += (a - b) * (x - y) > 0
    return same / pairs if pairs else 0.0
