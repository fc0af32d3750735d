"""Clicks as training data for the weights of the ranking model. People look at the first hits more often, whatever they are worth; counterfactual weights correct for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.search.analytics.store import open_database
from porism.search.answers.model import save_model
from porism.search.engine import Engine
from porism.search.features.feature import Kind
from porism.search.learning.train import (
    Example,
    Weights,
    cross_validate,
    fit,
    make_example,
    mean_over_topics,
    replace_weights,
)

DEFAULT_BIAS = 1.0  # readers look at position k with probability 1/k
LEAST_PROPENSITY = 0.05  # a click counts at most 20 times: a rare click far down must not decide alone
BIASES = np.arange(0.0, 3.01, 0.05)  # that are tried when the bias is estimated
LEAST_MOVED_CLICKS = 100  # clicks on hits that were shown at several positions, to estimate the bias


class ShownCount(NamedTuple):
    """A post that was shown for a query at a position: how often, and how often it was clicked there."""

    post: int
    position: int
    impressions: int
    clicks: int


@dataclass(frozen=True, slots=True)
class ClickedQuery:
    """A query with at least one click, and the hits that were shown for it."""

    text: str
    shown: tuple[ShownCount, ...]

    @property
    def clicks(self) -> int:
        """The number of clicks."""
        return sum(one.clicks for one in self.shown)


def read_clicks(path: Path, kind: Kind) -> tuple[ClickedQuery, ...]:
    """Read the queries of a file of analytics that have clicks. Queries whose text is not stored, being rare, are left out."""
    database = open_database(path)
    try:
        rows = database.execute(
            """SELECT text, post, position, impressions, clicks FROM shown JOIN queries ON query = id
            WHERE text IS NOT NULL AND tab = ? ORDER BY text, post, position""",
            (kind,),
        ).fetchall()
    finally:
        database.close()
    shown: dict[str, list[ShownCount]] = {}
    for text, *row in rows:
        shown.setdefault(text, []).append(ShownCount(*row))
    queries = (ClickedQuery(text, tuple(hits)) for text, hits in shown.items())
    return tuple(query for query in queries if query.clicks)


def propensities(positions: npt.ArrayLike, bias: float) -> npt.NDArray[np.float64]:
    """Return the probability that a reader looks at each position, from 1; at least LEAST_PROPENSITY."""
    return np.maximum(np.asarray(positions, np.float64) ** -bias, LEAST_PROPENSITY)


def click_weights(query: ClickedQuery, bias: float) -> dict[int, float]:
    """Return the weight of each clicked post: its clicks, each divided by the propensity of its position."""
    weights: dict[int, float] = {}
    for hit in query.shown:
        if hit.clicks:
            weight = hit.clicks / float(propensities(hit.position, bias))
            weights[hit.post] = weights.get(hit.post, 0.0) + weight
    return weights


def estimate_bias(queries: Sequence[ClickedQuery]) -> float | None:
    """Return the bias under which the clicks are most likely; None if too few hits were seen at several positions.

    Only a hit that changed its position (because the index, the model or a filter did) separates position from relevance. Of all clicks on such
    a hit, the share at each position is expected to be in proportion to impressions times propensity, whatever its relevance.
    """
    hits = [(number, *hit) for number, query in enumerate(queries) for hit in _moved(query)]
    if sum(hit[-1] for hit in hits) < LEAST_MOVED_CLICKS:
        return None
    table = np.array(hits, np.int64)
    _, pairs = np.unique(table[:, :2], axis=0, return_inverse=True)
    _, _, positions, impressions, clicks = table.T

    def likelihood(bias: float) -> float:
        expected = impressions * positions.astype(np.float64) ** -bias
        return float(clicks @ np.log(expected / np.bincount(pairs.ravel(), expected)[pairs.ravel()]))

    return float(BIASES[int(np.argmax([likelihood(bias) for bias in BIASES]))])


def _moved(query: ClickedQuery) -> list[ShownCount]:
    """Return the hits that were shown at several positions and clicked at one of them."""
    by_post: dict[int, list[ShownCount]] = {}
    for hit in query.shown:
        by_post.setdefault(hit.post, []).append(hit)
    moved = (hits for hits in by_post.values() if len(hits) > 1 and any(hit.clicks for hit in hits))
    return [hit for hits in moved for hit in hits]


LEAST_CLICKS = 200
LEAST_QUERIES = 30


@dataclass(frozen=True, slots=True)
class ClickOptions:
    """How clicks are learned from. `bias` is the position bias; without it, it is estimated."""

    kind: Kind = "answers"
    bias: float | None = None


def check_enough(queries: Sequence[ClickedQuery], where: str) -> None:
    """Refuse to learn from too few clicks, and say how many are needed."""
    clicks = sum(query.clicks for query in queries)
    if clicks < LEAST_CLICKS or len(queries) < LEAST_QUERIES:
        raise PorismError(
            f"has {clicks:,} clicks on {len(queries):,} frequent queries; learning needs {LEAST_CLICKS} on {LEAST_QUERIES}",
            where=where,
            fix="collect more clicks with porism serve --analytics, or train on judged topics",
        )


def click_examples(engine: Engine, queries: Sequence[ClickedQuery], kind: Kind, bias: float) -> list[Example]:
    """Return an example for each query whose clicked posts are among its candidates."""
    found = []
    for query in queries:
        example = make_example(engine, query.text, engine.read(query.text), click_weights(query, bias), kind)
        if example.relevant.any():
            found.append(example)
    return found


def weighted_reciprocal_rank(example: Example, weights: Weights) -> float:
    """Return the mean of 1 / rank over the clicked posts, each with its counterfactual weight."""
    order = np.argsort(-(example.features @ weights), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    return float(np.average(1 / ranks[example.relevant], weights=example.relevant_weights))


def train_on_clicks(engine: Engine, path: Path, options: ClickOptions, out: Path) -> Iterator[str]:
    """Fit on clicks, write the model, and yield lines: the clicks, the bias, and a table of weighted reciprocal ranks.

    The columns are those of `train_files`: the engine's model, weights fitted on other queries, and the new model.
    """
    queries = read_clicks(path, options.kind)
    check_enough(queries, str(path))
    yield f"{sum(query.clicks for query in queries):,} clicks on {len(queries):,} queries"
    estimated = estimate_bias(queries) if options.bias is None else None
    bias = next(one for one in (options.bias, estimated, DEFAULT_BIAS) if one is not None)
    origin = "given" if options.bias is not None else "estimated" if estimated is not None else "assumed: no estimate"
    yield f"position bias {bias:.2f} ({origin}): readers look at position k with probability k^-{bias:.2f}"
    examples = click_examples(engine, queries, options.kind, bias)
    weights = fit(examples, options.kind)
    before = engine.model.vector(options.kind).astype(np.float64)
    (held_out,) = cross_validate([examples], options.kind, weighted_reciprocal_rank)
    old, new = (mean_over_topics(examples, one, weighted_reciprocal_rank) for one in (before, weights))
    yield "clicks\tnumber\tbefore\tothers\tall"
    yield "\t".join((str(path), str(len(examples)), f"{old:.3f}", f"{held_out:.3f}", f"{new:.3f}"))
    if held_out <= old:
        yield "note: on queries it was not fitted on, the new model is no better than the one before; keep that"
    save_model(
        replace_weights(engine.model, options.kind, weights),
        out,
        f"porism model train ranking: {options.kind} fitted on clicks.",
    )
