"""Correlation of measures over systems, and of systems over topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from porism.errors import PorismError

Columns = Mapping[str, Sequence[float]]


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


COEFFICIENTS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "Pearson r": pearson,
    "Kendall tau-b": kendall,
}


def _refuse_constant(*columns: Sequence[float]) -> None:
    """Refuse values that are all equal: they have no correlation."""
    if any(len(set(column)) < 2 for column in columns):
        raise PorismError("all values are equal, so there is no correlation", fix="compare more systems")


def correlations(columns: Columns, coefficient: str) -> dict[tuple[str, str], float | None]:
    """Correlate every pair of columns (measures over systems, or systems over topics); None if all values of a column are equal."""
    if coefficient not in COEFFICIENTS:
        raise PorismError(f"no coefficient {coefficient!r}", fix=f"choose one of {', '.join(COEFFICIENTS)}")
    compute = COEFFICIENTS[coefficient]
    flat = {name for name, values in columns.items() if len(set(values)) < 2}
    return {
        (one, two): None if {one, two} & flat else compute(columns[one], columns[two])
        for one in columns
        for two in columns
    }
