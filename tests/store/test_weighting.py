"""Weightings are values: they print as themselves, reject invalid parameters, and compute the formulas of the
literature."""

from __future__ import annotations

import math

import numpy as np
import pytest

from porism.store.weighting import BM25, BM25Plus, QueryLikelihood, TermCounts, TfIdf, ViewCounts, Weighting

VIEW = ViewCounts(documents=100, length=1000.0)
TERM = TermCounts(documents=4, occurrences=10.0, query_weight=2.0)
COUNTS, LENGTHS = np.array([3.0, 1.0]), np.array([20.0, 5.0])

EVERY: list[Weighting] = [
    BM25(),
    BM25(k1=0.9, b=0.4),
    BM25Plus(k1=1.25, delta=0.5),
    TfIdf(),
    TfIdf(tf="raw", idf="log2"),
    TfIdf(tf="robertson", idf="terrier"),
    TfIdf(tf="binary", idf="none"),
    QueryLikelihood(),
    QueryLikelihood("jelinek-mercer", 0.1),
]


@pytest.mark.parametrize("weighting", EVERY, ids=str)
def test_a_weighting_prints_as_itself(weighting: Weighting) -> None:
    assert eval(str(weighting)) == weighting
    assert hash(eval(repr(weighting))) == hash(weighting)


def test_a_weighting_without_options_has_the_defaults() -> None:
    assert BM25() == BM25(1.2, 0.75)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BM25(k1=-1)", "k1 must be at least 0.0, not -1"),
        ("BM25(b=2)", "b must be from 0.0 to 1.0, not 2"),
        ("TfIdf(tf='big')", "tf must be one of raw, log, binary, robertson, not 'big'"),
        ("QueryLikelihood('x')", "smoothing must be dirichlet or jelinek-mercer, not 'x'"),
    ],
)
def test_an_invalid_weighting_is_reported(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        eval(text)


def test_bm25_by_hand() -> None:
    idf = math.log(1 + (100 - 4 + 0.5) / 4.5)
    hand = [2 * idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * dl / 10)) for tf, dl in ((3, 20), (1, 5))]
    assert BM25().weigh(COUNTS, LENGTHS, TERM, VIEW) == pytest.approx(hand)


def test_bm25_plus_by_hand() -> None:
    idf = math.log(101 / 4)
    hand = [2 * idf * (1 + 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * dl / 10))) for tf, dl in ((3, 20), (1, 5))]
    assert BM25Plus().weigh(COUNTS, LENGTHS, TERM, VIEW) == pytest.approx(hand)


def test_terrier_tf_idf_by_hand() -> None:
    hand = [
        2 * math.log2(100 / 4 + 1) * 1.2 * tf / (tf + 1.2 * (0.25 + 0.75 * dl / 10)) for tf, dl in ((3, 20), (1, 5))
    ]
    assert TfIdf("robertson", "terrier").weigh(COUNTS, LENGTHS, TERM, VIEW) == pytest.approx(hand)


def test_cosine_tf_idf_weights_by_hand() -> None:
    assert TfIdf("raw", "log2").weigh(COUNTS, LENGTHS, TERM, VIEW) == pytest.approx(
        [2 * 3 * math.log2(25), 2 * math.log2(25)]
    )


def test_query_likelihood_orders_as_the_smoothed_probability() -> None:
    weighting, share = QueryLikelihood(parameter=50.0), 10 / 1000
    found = weighting.weigh(COUNTS, LENGTHS, TERM, VIEW) + weighting.bias(LENGTHS, 2.0)
    smoothed = [2 * math.log((tf + 50 * share) / (dl + 50)) for tf, dl in ((3, 20), (1, 5))]
    assert found - np.array(smoothed) == pytest.approx([-2 * math.log(share)] * 2)  # a constant of the query


def test_jelinek_mercer_by_hand() -> None:
    share = 10 / 1000
    hand = [2 * math.log(1 + 0.9 * tf / (0.1 * dl * share)) for tf, dl in ((3, 20), (1, 5))]
    assert QueryLikelihood("jelinek-mercer", 0.1).weigh(COUNTS, LENGTHS, TERM, VIEW) == pytest.approx(hand)
