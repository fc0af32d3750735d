"""Fit the weights of the ranking model on clicks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from porism.errors import PorismError
from porism.search.analytics.clicks import DEFAULT_BIAS, ClickedQuery, click_weights, estimate_bias, read_clicks
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
