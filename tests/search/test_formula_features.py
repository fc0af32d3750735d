"""Features of formula search: each contributes weight x value, explanations list exactly these contributions, and
packed batches suffice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from formula_indexes import FormulaIndex
from porism.formula.binary import unpack
from porism.search.formulas.features import (
    FEATURES,
    WEIGHTS,
    FormulaBatch,
    FormulaFeature,
    FoundFormulas,
    compute_features,
    make_batches,
)

LATEX = [
    "a^2+b^2=c^2",
    "x^2+y^2=z^2",
    "b^2+a^2=c^2",
    r"\frac{1}{a^2+b^2}",
    "a+b+c",
    r"\sin x+1",
    "d+a^2+b^2=c^2+1",
    "q",
]
QUERIES = ["a^2+b^2=c^2", "a^2+b^2", r"\cos x", "?u+1"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FormulaIndex:
    return FormulaIndex.make(tmp_path_factory.mktemp("features"), LATEX)


def packed(starts: npt.NDArray[Any], ends: npt.NDArray[Any], *columns: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Copy the spans of columns into new columns without gaps, as a remote store would send them."""
    places = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)]).astype(np.int64)
    new_ends = np.cumsum(ends - starts)
    return [new_ends - (ends - starts), new_ends, *(column[places] for column in columns)]


def repacked(batch: FormulaBatch) -> FormulaBatch:
    layout, operators, paths = batch.layout, batch.operators, batch.paths
    return batch._replace(
        layout=type(layout)(*packed(*layout)),
        operators=type(operators)(*packed(*operators[:3]), operators.edges),
        paths=type(paths)(*packed(*paths[:5]), paths.leaves),
    )


@pytest.mark.parametrize("query", QUERIES)
def test_a_packed_batch_scores_as_the_mapped_columns(index: FormulaIndex, query: str) -> None:
    numbers = np.array([0, 3, 5, 6], np.int64)
    found = index.snapshot.formulas(numbers)
    own = FoundFormulas({3: "renamed", 6: "written"}, [], numbers, np.full(4, 0.5))
    batch = make_batches([own], found)[0]
    context = index.searcher.analyse(query)
    expected = compute_features(context, batch)
    assert (compute_features(context, repacked(batch)) == expected).all()
    parts = [compute_features(context, repacked(part)) for part in batch.split(3)]
    assert (np.concatenate(parts) == expected).all()


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_contributes_its_weighted_value(index: FormulaIndex, feature: FormulaFeature) -> None:
    query = "a^2+b^2=c^2"
    searcher = index.searcher
    context = searcher.analyse(query)
    scored = searcher.score(context, 100)
    column = [one.name for one in FEATURES].index(feature.name)
    computed = {one.name: scored.contributions[:, at] / WEIGHTS[at] for at, one in enumerate(FEATURES[:column])}
    values = feature.compute(context, scored.batch, computed)
    assert scored.contributions[:, column] == pytest.approx(values * feature.weight)
    assert values.max() > 0
    for hit in searcher.search(query):
        number = scored.batch.numbers[scored.batch.visual_ids == hit.visual_id]
        layout, _ = unpack(scored.batch.records.trees(number)[0])
        shown = {part.reason: part.value for part in searcher.explain(query, hit.visual_id).parts}
        assert shown.get(feature.explain(context, layout), 0.0) == pytest.approx(hit.contributions[column])


@pytest.mark.parametrize("query", QUERIES)
def test_the_parts_of_an_explanation_sum_to_the_score(index: FormulaIndex, query: str) -> None:
    for hit in index.searcher.search(query):
        explanation = index.searcher.explain(query, hit.visual_id)
        assert explanation.value == pytest.approx(hit.score)
        assert sum(part.value for part in explanation.parts) == pytest.approx(hit.score)
