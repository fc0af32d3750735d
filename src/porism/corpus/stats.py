"""Statistics of a collection: posts by year, formulas by kind, sizes, the most common formulas and tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content
from porism.corpus.store.schema import FORMULA_KINDS
from porism.errors import PorismError

TOP = 20
# The lab's issues of formulas (`Formula.issue`) for a reader.
ISSUES = {
    "d": "only in older versions of the text",
    "v": "visual id changed",
    "dv": "only in older versions of the text, visual id changed",
}
Value = str | int | None


class Count(NamedTuple):
    """A label and how often it occurs."""

    label: str
    number: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """Counts under a title. `name` is the key in JSON. The last column of each record is the number."""

    name: str
    title: str
    columns: tuple[str, ...]
    records: tuple[tuple[Value, ...], ...]

    @property
    def rows(self) -> tuple[Count, ...]:
        """The records for a reader: one label and a number each."""
        return tuple(
            Count(_label(dict(zip(self.columns, record, strict=True))), _number(record)) for record in self.records
        )

    def as_json(self) -> list[dict[str, Value]]:
        """Return the records as objects."""
        return [dict(zip(self.columns, record, strict=True)) for record in self.records]


def _number(record: tuple[Value, ...]) -> int:
    last = record[-1]
    assert isinstance(last, int)
    return last


def _label(record: Mapping[str, Value]) -> str:
    if "minimum" in record:
        low, high = record["minimum"], record["maximum"]
        return str(low) if low == high else f"{low}-{high}"
    if record.get("issue"):
        return f"{record['kind']} ({ISSUES[str(record['issue'])]})"
    if "year" in record:
        return f"{record['year'] or 'undated'} {record['kind']}"
    return str(next(iter(record.values())))


class Bucket(NamedTuple):
    """How many values lie between `minimum` and `maximum`."""

    minimum: int
    maximum: int
    number: int


def buckets(counts: Mapping[int, int]) -> tuple[Bucket, ...]:
    """Group whole numbers as 0, 1, 2, 3-4, 5-8, 9-16, ...

    >>> [tuple(bucket) for bucket in buckets({0: 5, 1: 2, 3: 1, 4: 1, 9: 7})]
    [(0, 0, 5), (1, 1, 2), (3, 4, 2), (9, 16, 7)]
    """
    total: Counter[int] = Counter()
    for value, number in counts.items():
        total[0 if value <= 0 else (value - 1).bit_length() + 1] += number
    return tuple(
        Bucket(power, power, number) if power <= 2 else Bucket(2 ** (power - 2) + 1, 2 ** (power - 1), number)
        for power, number in sorted(total.items())
    )


def distributions(content: Content) -> Iterator[Distribution]:
    """Yield the distributions of a collection, each computed in one pass."""
    years = Counter((post.created[:4] or "undated", post.kind) for post in content.posts())
    by_year = tuple((int(year) if year.isdecimal() else None, kind, n) for (year, kind), n in sorted(years.items()))
    yield Distribution("posts_by_year", "posts by year and kind", ("year", "kind", "posts"), by_year)
    kinds = Counter((formula.kind, formula.issue) for formula in content.formulas())
    order = sorted(kinds.items(), key=lambda item: (FORMULA_KINDS.index(item[0][0]), item[0][1]))
    by_kind = tuple((kind, issue, number) for (kind, issue), number in order)
    yield Distribution("formulas_by_kind", "formulas by kind", ("kind", "issue", "formulas"), by_kind)
    per_post = Counter(sum(1 for _ in group) for _, group in groupby(content.formula_posts()))
    per_post[0] += content.count("posts") - sum(per_post.values())
    columns = ("minimum", "maximum", "posts")
    yield Distribution("formulas_per_post", "formulas per post", columns, buckets(+per_post))
    lengths: Counter[int] = Counter()
    converters: Counter[str] = Counter()
    for expression in content.expressions():
        lengths[len(expression.latex)] += 1
        converters[expression.path] += 1
    columns = ("minimum", "maximum", "formulas")
    yield Distribution("formula_lengths", "characters of a distinct formula", columns, buckets(lengths))
    by_converter = tuple(sorted(converters.items()))
    title = "distinct formulas by converter"
    yield Distribution("formulas_by_converter", title, ("converter", "formulas"), by_converter)
    common = tuple((group.latex, group.formulas) for group in content.most_common(TOP))
    yield Distribution("common_formulas", "commonest formulas", ("latex", "formulas"), common)
    tags = tuple(islice(content.tags(), TOP))
    yield Distribution("common_tags", "commonest tags", ("tag", "questions"), tags)


LONGEST = 30


def plot(distributions: list[Distribution], folder: Path) -> list[Path]:
    """Write one SVG file of bars for each distribution."""
    try:
        import matplotlib
    except ImportError:
        raise PorismError("plots need matplotlib", fix="pip install 'porism[plots]'") from None
    matplotlib.rcdefaults()  # not those of a file `matplotlibrc` in the current folder
    matplotlib.use("svg")
    # Without these, the file holds the date and random names.
    matplotlib.rcParams.update({"svg.hashsalt": "porism", "text.parse_math": False})
    folder.mkdir(parents=True, exist_ok=True)
    return [_bars(distribution, folder) for distribution in distributions if distribution.rows]


def _bars(distribution: Distribution, folder: Path) -> Path:
    from matplotlib.figure import Figure

    labels = [label if len(label) <= LONGEST else label[: LONGEST - 1] + "…" for label, _ in distribution.rows]
    figure = Figure(figsize=(7, 1 + 0.25 * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(labels)), [number for _, number in distribution.rows], color="#3b6ea5")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_title(distribution.title)
    path = folder / f"{distribution.title.replace(' ', '-')}.svg"
    figure.savefig(path, metadata={"Date": None})
    return path
