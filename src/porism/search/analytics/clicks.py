"""Clicks as training data. People look at the first hits more often, whatever they are worth; counterfactual weights correct for that.

A click needs two things: the reader looks at the position (probability: its propensity), and finds the hit relevant. So a click at position k
counts 1 / propensity(k): summed over clicks, that estimates without bias the clicks that all hits would get if every reader looked at each of them
(inverse propensity scoring; Joachims, Swaminathan and Schnabel, WSDM 2017). The propensity of position k is k to the power of -bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.search.analytics.store import open_database
from porism.search.features.feature import Kind

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
