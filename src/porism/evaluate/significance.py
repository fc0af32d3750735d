"""Statistics that compare runs: paired tests over topics, corrected for many comparisons, and correlations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from porism.errors import PorismError
from porism.evaluate.measures.measure import Measure
from porism.evaluate.measures.score import Scores

ROUNDS = 10_000
SEED = 2022
TINY = 1e-12  # a smaller difference is none


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run `one` minus run `two` on a measure: the mean with its interval, p-values, topics won, lost and tied."""

    one: str
    two: str
    measure: Measure
    topics: int
    difference: float
    low: float
    high: float
    p_randomisation: float
    p_t: float
    wins: int
    losses: int
    ties: int
    p_holm: float = 1.0


def differences(one: Scores, two: Scores, measure: Measure) -> dict[str, float]:
    """Return, for each common topic, the value of `one` minus that of `two`."""
    others = set(two.topics)
    common = [topic for topic in one.topics if topic in others]
    if len(common) < 2:
        fact = f"runs {one.run} and {two.run} have fewer than two topics in common"
        raise PorismError(fact, fix="compare runs on the same qrels")
    return {topic: one.values[measure][topic] - two.values[measure][topic] for topic in common}


def compare(one: Scores, two: Scores, measure: Measure, rounds: int = ROUNDS, seed: int = SEED) -> Comparison:
    """Compare two runs. The same seed gives the same numbers."""
    values = np.array(list(differences(one, two, measure).values()))
    mean, interval = float(values.mean()), bootstrap(values, rounds, seed)
    p_values = (randomisation(values, rounds, seed), t_test(values))
    wins, losses = int((values > TINY).sum()), int((values < -TINY).sum())
    counts = (wins, losses, len(values) - wins - losses)
    return Comparison(one.run, two.run, measure, len(values), mean, *interval, *p_values, *counts)


def randomisation(values: NDArray[np.float64], rounds: int = ROUNDS, seed: int = SEED) -> float:
    """Paired randomisation test, two-sided. Smucker et al., CIKM 2007.

    The p-value is the share of random sign changes whose mean is at least as far from 0 as the observed one. The
    observed signs count as one round, so it is never 0.
    """
    signs = np.random.default_rng(seed).integers(0, 2, size=(rounds, len(values)), dtype=np.int8) * 2 - 1
    means = abs(signs @ values)
    return float(((means >= abs(values.sum()) - 1e-12).sum() + 1) / (rounds + 1))


def t_test(values: NDArray[np.float64]) -> float:
    """Paired t-test, two-sided; 1 if all differences are 0."""
    from scipy import stats

    if not np.any(values):
        return 1.0
    if np.ptp(values) < 1e-15:  # the same difference for every topic: no variance
        return 0.0
    return float(stats.ttest_1samp(values, 0.0).pvalue)


def bootstrap(
    values: NDArray[np.float64] | Sequence[float], rounds: int = ROUNDS, seed: int = SEED, level: float = 0.95
) -> Interval:
    """Return the percentile bootstrap interval of the mean over topics."""
    sample = np.asarray(values, dtype=np.float64)
    chosen = np.random.default_rng(seed).integers(0, len(sample), size=(rounds, len(sample)))
    low, high = np.quantile(sample[chosen].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def holm(values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of m p-values times m - k + 1, never decreasing, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    corrected = [1.0] * len(values)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, values[index] * (len(values) - place)))
        corrected[index] = highest
    return corrected


def compare_all(
    scores: Sequence[Scores], measures: Iterable[Measure], rounds: int = ROUNDS, seed: int = SEED
) -> list[Comparison]:
    """Compare every pair of runs on every measure. `p_holm` is corrected over the pairs of a measure."""
    found: list[Comparison] = []
    for measure in measures:
        pairs = [compare(one, two, measure, rounds, seed) for one, two in combinations(scores, 2)]
        corrected = holm([pair.p_randomisation for pair in pairs])
        found += [replace(pair, p_holm=value) for pair, value in zip(pairs, corrected, strict=True)]
    return found


def pearson(one: Sequence[float], two: Sequence[float]) -> float:
    """Pearson's r."""
    from scipy import stats

    _refuse_constant(one, two)
    return float(stats.pearsonr(one, two).statistic)


def kendall(one: Sequence[float], two: Sequence[float]) -> float:
    """Kendall's tau-b, which takes ties into account."""
    from scipy import stats

    _refuse_constant(one, two)
    return float(stats.kendalltau(one, two, variant="b").statistic)


def _refuse_constant(*columns: Sequence[float]) -> None:
    """Refuse values that are all equal: they have no correlation."""
    if any(len(set(column)) < 2 for column in columns):
        raise PorismError("all values are equal, so there is no correlation", fix="compare more systems")


COEFFICIENTS = {"Pearson r": pearson, "Kendall tau-b": kendall}


def correlations(columns: Mapping[str, Sequence[float]], coefficient: str) -> dict[tuple[str, str], float | None]:
    """Correlate every pair of columns; None where all values of a column are equal."""
    if coefficient not in COEFFICIENTS:
        raise PorismError(f"unknown coefficient {coefficient!r}", fix=f"choose one of {', '.join(COEFFICIENTS)}")
    compute = COEFFICIENTS[coefficient]
    flat = {name for name, values in columns.items() if len(set(values)) < 2}
    pairs = product(columns, repeat=2)
    return {(one, two): None if {one, two} & flat else compute(columns[one], columns[two]) for one, two in pairs}
