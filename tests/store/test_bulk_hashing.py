"""Hashes of many texts at once are those of the library, text by text."""

from __future__ import annotations

import numpy as np
import pytest

from porism.store.embedded.terms.dictionary import hash_hexadecimal, hash_terms, hash_texts


@pytest.mark.parametrize("width", range(9, 33))
def test_texts_of_each_width(width: int) -> None:
    rows = np.random.default_rng(width).integers(32, 127, (200, width), np.uint8)
    found = hash_texts(rows.ravel(), np.arange(width, width * len(rows) + 1, width))
    assert found.tolist() == hash_terms([row.tobytes().decode("ascii") for row in rows]).tolist()


@pytest.mark.parametrize("width", [8, 9])
def test_numbers_in_hexadecimal_digits(width: int) -> None:
    rows = np.random.default_rng(width).integers(0, 256, (200, width), np.uint8)
    assert hash_hexadecimal(rows).tolist() == hash_terms([row.tobytes().hex() for row in rows]).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_any_width(seed: int) -> None:
    random = np.random.default_rng(seed)
    widths = np.concatenate((np.arange(4, 300), random.integers(4, 140, 500)))
    texts = [random.integers(32, 127, width, np.uint8).tobytes() for width in widths.tolist()]
    found = hash_texts(np.frombuffer(b"".join(texts), np.uint8), np.cumsum(widths))
    assert found.tolist() == hash_terms([text.decode("ascii") for text in texts]).tolist()


def test_no_text() -> None:
    assert len(hash_texts(np.empty(0, np.uint8), np.empty(0, np.int64))) == 0
