"""Do two measures, or two sets of judgments, order systems alike?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from porism.errors import PorismError

Columns = Mapping[str, Sequence[float]]


def pearson(one: Sequence[float], two: Sequence[float]) -> float:
    """Pearson's r."""
    from scipy import stats

    refuse_constant(one, two)
    return float(stats.pearsonr(one, two).statistic)


def kendall(one: Sequence[float], two: Sequence[float]) -> float:
    """Kendall's tau-b, which allows for ties."""
    from scipy import stats

    refuse_constant(one, two)
    return float(stats.kendalltau(one, two, variant="b").statistic)


COEFFICIENTS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "Pearson r": pearson,
    "Kendall tau-b": kendall,
}


def refuse_constant(*columns: Sequence[float]) -> None:
    """A correlation with values that are all equal does not exist."""
    if any(len(set(column)) < 2 for column in columns):
        raise PorismError("all values are equal, so there is no correlation", fix="correlate over more systems")


def correlations(columns: Columns, coefficient: str) -> dict[tuple[str, str], float | None]:
    """Every pair of columns (measures over systems, or systems over topics); None where all values of a column are equal."""
    if coefficient not in COEFFICIENTS:
        raise PorismError(f"no coefficient {coefficient!r}", fix=f"choose among {', '.join(COEFFICIENTS)}")
    compute = COEFFICIENTS[coefficient]
    flat = {name for name, values in columns.items() if len(set(values)) < 2}
    return {
        (one, two): None if {one, two} & flat else compute(columns[one], columns[two])
        for one in columns
        for two in columns
    }
