"""Conformance of a retriever: does it do what every system must do?

    from porism.search.conformance import check_retriever
    check_retriever(MyRetriever(engine.index))

Each check raises AssertionError with the fact that is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from porism.search.query import ReadQuery, read_query
from porism.search.retriever import Ranking, Retriever

QUERIES = (
    "", "   ", "prime", "$x^2$", "$$", "sum of $1/n^2$", "proof that $\\sqrt{2}$ is irrational", "\\frac{a}{",
    "zzzzqqqq nothing has this word", "é ∑ 日本 \U0001f600",
)  # fmt: skip


def check_retriever(retriever: Retriever, queries: Sequence[str | ReadQuery] = QUERIES) -> None:
    """Check a retriever with words, formulas, both, and nothing."""
    for text in queries:
        query = read_query(text) if isinstance(text, str) else text
        found = retriever.search(query, 10)
        _check_ranking(found, 10, text)
        again = retriever.search(query, 10)
        assert found.ids.tolist() == again.ids.tolist(), f"{text!r}: the same query gave another ranking"
        shorter = retriever.search(query, 3)
        _check_ranking(shorter, 3, text)
        assert not len(retriever.search(query, 0)), f"{text!r}: k = 0 must give no hits"


def _check_ranking(found: Ranking, k: int, text: object) -> None:
    assert isinstance(found, Ranking), f"{text!r}: search must return a Ranking, not {type(found).__name__}"
    assert len(found.ids) == len(found.scores), f"{text!r}: {len(found.ids)} ids and {len(found.scores)} scores"
    assert len(found) <= k, f"{text!r}: {len(found)} hits for k = {k}"
    assert len(set(found.ids.tolist())) == len(found), f"{text!r}: an id is ranked twice"
    assert np.isfinite(found.scores).all(), f"{text!r}: a score is not a finite number"
    assert (np.diff(found.scores) <= 0).all(), f"{text!r}: scores must not rise; Ranking.of sorts them"
