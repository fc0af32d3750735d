"""Learning from clicks: counterfactual weights undo the bias of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from porism.cli import main
from porism.errors import PorismError
from porism.search.analytics import clicks
from porism.search.analytics.clicks import (
    ClickedQuery,
    ClickOptions,
    ShownCount,
    check_enough,
    click_weights,
    estimate_bias,
    propensities,
    read_clicks,
    train_on_clicks,
)
from porism.search.analytics.store import AnalyticsStore, Click, Search, ShownHit
from porism.search.engine import Engine
from porism.search.features import all_features, feature_names
from porism.search.learning.train import Example, average_precision, fit, mean_over_topics

FEATURES = feature_names()
# Two features that are fitted for answers: one shows what is relevant, the other is what the present ranking orders by.
HELPFUL, PRESENT = [at for at, feature in enumerate(all_features()) if "answers" in feature.fitted_for][:2]
BIAS = 1.0
IMPRESSIONS = 300


def simulated(seed: int, bias: float = BIAS, rankings: int = 1) -> tuple[Example, ClickedQuery]:
    """Return a query with its true relevance, and simulated clicks of readers who look at position k with probability k^-bias.

    Relevance follows one feature, the ranking that readers saw follows another. A relevant hit that is looked at is clicked with
    probability 0.8, another one with 0.05. With several rankings, hits change their positions.
    """
    random = np.random.default_rng(seed)
    features = np.zeros((20, len(FEATURES)))
    features[:, [HELPFUL, PRESENT]] = random.random((20, 2))
    relevant = features[:, HELPFUL] > np.sort(features[:, HELPFUL])[-6]
    shown = []
    for _ in range(rankings):
        order = np.argsort(-(features[:, PRESENT] + (rankings > 1) * random.random(20)))
        for position, post in enumerate(order, 1):
            rate = position**-bias * (0.8 if relevant[post] else 0.05)
            shown.append(ShownCount(int(post), position, IMPRESSIONS, int(random.binomial(IMPRESSIONS, rate))))
    return Example(str(seed), features, relevant, int(relevant.sum())), ClickedQuery(str(seed), tuple(shown))


def examples_of(pairs: Sequence[tuple[Example, ClickedQuery]], bias: float) -> list[Example]:
    """Return the examples that clicks make of queries, when positions are corrected by a bias."""
    found = []
    for truth, query in pairs:
        weights = click_weights(query, bias)
        clicked = np.isin(np.arange(20), list(weights))
        by_post = np.array([weights[post] for post in np.flatnonzero(clicked)])
        found.append(replace(truth, relevant=clicked, relevant_weights=by_post))
    return found


def test_counterfactual_weights_rank_better_than_clicks_as_they_are() -> None:
    pairs = [simulated(seed) for seed in range(15)]
    fresh = [simulated(seed)[0] for seed in range(100, 130)]
    naive = fit(examples_of(pairs, 0.0), "answers")
    corrected = fit(examples_of(pairs, BIAS), "answers")
    scores = [mean_over_topics(fresh, weights, average_precision) for weights in (naive, corrected)]
    assert scores[1] > scores[0] + 0.05, scores
    assert corrected[HELPFUL] / corrected.sum() > naive[HELPFUL] / naive.sum()


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0, 1.5])
def test_the_bias_is_recovered_from_hits_that_moved(bias: float) -> None:
    queries = [simulated(seed, bias, rankings=4)[1] for seed in range(40)]
    estimated = estimate_bias(queries)
    assert estimated is not None
    assert abs(estimated - bias) <= 0.1


def test_hits_that_never_moved_say_nothing_about_the_bias() -> None:
    assert estimate_bias([simulated(seed)[1] for seed in range(40)]) is None


def test_a_click_far_down_counts_more_but_not_without_limit() -> None:
    assert propensities([1, 2, 10, 1000], 1.0).tolist() == [1.0, 0.5, 0.1, 0.05]
    query = ClickedQuery("q", (ShownCount(7, 1, 9, 2), ShownCount(7, 4, 9, 1), ShownCount(8, 2, 9, 0)))
    assert click_weights(query, 1.0) == {7: 6.0}


def test_too_few_clicks_are_refused_with_the_number_needed() -> None:
    queries = [ClickedQuery("q", (ShownCount(7, 1, 9, 2),))]
    with pytest.raises(PorismError, match="has 2 clicks on 1 frequent queries; learning needs 200 on 30"):
        check_enough(queries, "clicks")


def record_clicks(engine: Engine, path: Path) -> None:
    """Simulate readers of the sample who click the first hits, whose queries are titles of questions."""
    titles = [" ".join(post.title.plain().split()) for post in engine.content.posts() if post.kind == "question"]
    store = AnalyticsStore(path, 3)
    for title in [title for title in titles if len(title) < 150][:6]:
        hits = engine.search(title, 10, group=True).hits
        shown = tuple(ShownHit(hit.id, position) for position, hit in enumerate(hits, 1))
        clicked = [Click(title, "answers", hit) for hit in shown[:2]]
        store.write([Search(title, "answers", len(hits), shown), *clicked] * 4)
    store.close()


def test_a_model_is_trained_on_recorded_clicks(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clicks, "LEAST_CLICKS", 40)
    monkeypatch.setattr(clicks, "LEAST_QUERIES", 5)
    engine = Engine.open(demo / "index")
    record_clicks(engine, tmp_path / "analytics")
    queries = read_clicks(tmp_path / "analytics", "answers")
    assert len(queries) >= 5
    assert all(query.clicks for query in queries)
    lines = list(train_on_clicks(engine, tmp_path / "analytics", ClickOptions(), tmp_path / "model.toml"))
    assert lines[1].startswith("position bias 1.00 (assumed: no estimate)")
    given = ["--clicks", str(tmp_path / "analytics"), "-o", str(tmp_path / "second.toml"), "--position-bias", "0.5"]
    assert main(["model", "train", "ranking", str(demo / "index"), *given]) == 0
    assert "position bias 0.50 (given)" in capsys.readouterr().out
    assert (tmp_path / "second.toml").is_file()
    assert (
        main(["model", "train", "ranking", str(demo / "index"), *given, "--topics", "t.xml", "--qrels", "q.txt"]) == 2
    )
    assert "give either --topics and --qrels, or --clicks" in capsys.readouterr().err
    assert "[answers]" in (tmp_path / "model.toml").read_text()
    trained = Engine.open(demo / "index", tmp_path / "model.toml")
    assert trained.search(queries[0].text, 5).hits
