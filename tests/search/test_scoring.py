from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from porism.index.storage.rows import HALVES
from porism.search.answers.scoring import FAR, K1, B, has_any, score_rows, shares


def made(rows: list[dict[int, float]]) -> Any:
    """Rows as the index holds them."""
    sizes = [len(row) for row in rows]
    lengths = np.array([sum(row.values()) for row in rows], np.float32)
    return SimpleNamespace(
        starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        codes=np.array([code for row in rows for code in sorted(row)], np.uint32),
        counts=np.array([row[code] * HALVES for row in rows for code in sorted(row)], np.uint16),
        lengths=lengths,
        mean=float(lengths.mean()),
        row=lambda number: (
            np.array(sorted(rows[number]), np.uint32),
            np.array([rows[number][code] for code in sorted(rows[number])], np.float32),
        ),
    )


@pytest.mark.parametrize("asked", [[3], [0, 3, 50, 99], list(range(0, 100, 2)), [200, 300]])
def test_looking_up_and_walking_give_the_formula(asked: list[int]) -> None:
    random = np.random.default_rng(3)
    few = {int(code): 1.5 for code in random.choice(100, 5, replace=False)}
    many = {int(code): float(random.integers(1, 9)) for code in random.choice(100, 90, replace=False)}
    assert len(many) > FAR
    held = [few, many, {}]
    rows = made(held)
    weights = np.linspace(0.5, 2, len(asked)).astype(np.float32)
    codes = np.array(asked, np.uint32)
    found = score_rows(rows, np.arange(3), codes, weights)
    for number, row in enumerate(held):
        norm = K1 * (1 - B + B * sum(row.values()) / rows.mean)
        hand = sum(
            float(weight) * (K1 + 1) * row[code] / (row[code] + norm)
            for code, weight in zip(asked, weights, strict=True)
            if code in row
        )
        assert found[number] == pytest.approx(hand, rel=1e-5)
        assert sum(shares(rows, number, codes, weights).values()) == pytest.approx(hand, rel=1e-5)
        assert has_any(rows, number, codes) == any(code in row for code in asked)
