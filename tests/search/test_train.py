"""Fitting the weights of the ranking model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from porism.errors import PorismError
from porism.search.answers.reranker import Model, load_model, save_model
from porism.search.features import feature_names
from porism.search.learning.train import (
    Example,
    average_precision,
    cross_validate,
    fit,
    mean_over_topics,
    reciprocal_rank,
    replace_weights,
)

FEATURES = feature_names()


def example(helpful: int, seed: int) -> Example:
    """Return a topic in which one feature distinguishes relevant posts and the others are noise."""
    random = np.random.default_rng(seed)
    features = random.random((60, len(FEATURES)))
    relevant = np.zeros(60, bool)
    relevant[:5] = True
    features[relevant, helpful] += 2.0
    return Example(str(seed), features, relevant, 5)


def test_the_feature_that_distinguishes_relevant_posts_gets_the_weight() -> None:
    topics = [example(3, seed) for seed in range(6)]
    weights = fit(topics, "questions")
    assert int(np.argmax(weights)) == 3
    assert (weights >= 0).all()
    assert mean_over_topics([example(3, 99)], weights) == pytest.approx(1.0)


def test_average_precision_counts_relevant_posts_that_are_missing() -> None:
    features = np.zeros((3, len(FEATURES)))
    features[:, 0] = (3, 2, 1)
    topic = Example("A.1", features, np.array([True, False, True]), 4)
    weights = np.eye(len(FEATURES))[0]
    assert average_precision(topic, weights) == pytest.approx((1 / 1 + 2 / 3) / 4)


def test_reciprocal_rank_is_that_of_the_first_relevant_post() -> None:
    features = np.zeros((3, len(FEATURES)))
    features[:, 0] = (1, 3, 2)
    weights = np.eye(len(FEATURES))[0]
    assert reciprocal_rank(Example("A.1", features, np.array([True, False, True]), 2), weights) == 0.5
    assert reciprocal_rank(Example("A.2", features, np.zeros(3, bool), 2), weights) == 0.0


def test_cross_validation_shows_what_does_not_generalise() -> None:
    sets = [[example(helpful, seed) for seed in range(8)] for helpful in (3, 5)]
    fitted = [mean_over_topics(one, fit(one, "questions")) for one in sets]
    held_out = cross_validate(sets, "questions")
    assert min(fitted) > 0.99
    assert max(held_out) < 0.7


def test_a_single_set_is_split_into_folds() -> None:
    topics = [example(3, seed) for seed in range(7)]
    assert cross_validate([topics], "questions") == [pytest.approx(1.0, abs=0.02)]


def test_a_topic_counts_by_its_weight() -> None:
    light, heavy = (replace(example(5, 2), weight=weight) for weight in (0.1, 1.0))
    assert fit([example(3, 1), light], "answers")[5] < fit([example(3, 1), heavy], "answers")[5]
    assert np.array_equal(fit([example(3, 1), heavy], "answers"), fit([example(3, 1), example(5, 2)], "answers"))


def test_topics_that_are_repeated_change_nothing() -> None:
    topics = [example(3, 1), example(5, 2)]
    assert np.allclose(fit(topics * 2, "answers"), fit(topics, "answers"), atol=1e-4)


def test_fitting_twice_gives_the_same_weights() -> None:
    topics = [example(3, seed) for seed in range(3)]
    assert np.array_equal(fit(topics, "answers"), fit(topics, "answers"))


def test_features_that_do_not_generalise_are_not_fitted() -> None:
    for kind, prefix in (("answers", "feedback."), ("answers", "encoder.titles"), ("questions", "vectors.tuples")):
        at = next(number for number, name in enumerate(FEATURES) if name.startswith(prefix))
        weights = dict(zip(FEATURES, fit([example(at, seed) for seed in range(6)], kind), strict=True))
        assert {name for name in FEATURES if name.startswith(prefix)} <= {
            n for n, weight in weights.items() if not weight
        }


def test_some_features_keep_a_least_weight() -> None:
    model = replace_weights(load_model(), "answers", np.zeros(len(FEATURES)))
    assert {name: weight for name, weight in model.weights["answers"].items() if weight} == {
        "concepts.parts": 0.03,
        "concepts.pairs": 0.03,
        "title.identity": 0.05,
    }


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    model = Model({"answers": {"thread.words": 0.25}, "questions": {"title.parts": 0.5}})
    save_model(model, tmp_path / "model.toml", "a remark")
    assert load_model(tmp_path / "model.toml") == model


def test_the_shipped_model_names_known_features() -> None:
    model = load_model()
    assert model.vector("answers").sum() > 0
    assert model.vector("questions").sum() > 0


def test_an_unknown_feature_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('[answers]\n"thread.words" = 1.0\n[questions]\n"moon" = 1.0\n')
    with pytest.raises(PorismError) as error:
        load_model(path)
    assert (
        str(error.value)
        == f"{path}: names unknown features: questions.moon\n  fix: make a new one: porism model train ranking"
    )
