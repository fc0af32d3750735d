"""A linear SVM over pairs, as SVM-rank trains it: of each topic a relevant item should score higher by 1 than one that is not relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MOST_PAIRS = 2000  # of a topic; more are thinned out evenly


class TrainingTopic(NamedTuple):
    """The features of the items of one topic (items x features), and which items are relevant."""

    features: Floats
    relevant: npt.NDArray[np.bool_]


def pair_differences(topic: TrainingTopic) -> Floats:
    """Return the differences of the features of relevant and other items."""
    pairs = topic.features[topic.relevant][:, None, :] - topic.features[~topic.relevant][None, :, :]
    flat = pairs.reshape(-1, topic.features.shape[1])
    return flat[np.linspace(0, len(flat) - 1, MOST_PAIRS).astype(np.int64)] if len(flat) > MOST_PAIRS else flat


def train_pairwise(topics: Sequence[TrainingTopic], features: int, cost: float) -> Floats:
    """Return the weights that minimise |w|^2 / 2 + cost x sum over topics of the mean squared hinge loss. Without a pair, all weights are equal."""
    from scipy.optimize import minimize

    differences = [
        pairs for pairs in (pair_differences(topic) for topic in topics if len(topic.features)) if len(pairs)
    ]
    if not differences:
        return np.full(features, 1.0 / features)
    table = np.concatenate(differences)
    shares = np.concatenate([np.full(len(pairs), 1.0 / len(pairs)) for pairs in differences])

    def loss(weights: Floats) -> tuple[float, Floats]:
        gaps = np.maximum(1.0 - table @ weights, 0.0)
        value = 0.5 * weights @ weights + cost * float(shares @ (gaps * gaps))
        return float(value), np.asarray(weights - 2.0 * cost * ((shares * gaps) @ table))

    result = minimize(loss, np.full(features, 0.1), jac=True, method="L-BFGS-B")
    return np.asarray(result.x, np.float64)
