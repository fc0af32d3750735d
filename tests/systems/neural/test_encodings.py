"""Encodings: they continue after an interruption, are shared and reused, and MaxSim over them is the sum of the best
matches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.systems import encoded as encodings
from porism.systems.arrays import Singles
from porism.systems.declared.context import SystemContext
from porism.systems.documents import TextDocument
from porism.systems.encoded import EncodedDocuments, TextSource, encoded_documents

TEXTS = [TextDocument(number, f"text {number % 7}") for number in range(10, 24)]


class Counting:
    """An encoder that counts texts, and fails after some of them."""

    def __init__(self, fails_after: int = 1000) -> None:
        self.seen = 0
        self._fails_after = fails_after

    def __call__(self, texts: Sequence[str]) -> list[Singles]:
        self.seen += len(texts)
        if self.seen > self._fails_after:
            raise KeyboardInterrupt
        return [np.full((len(text) % 3, 2), ord(text[-1]), np.float32) for text in texts]


@pytest.fixture
def context(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SystemContext:
    monkeypatch.setattr(encodings, "BLOCK", 4)
    return SystemContext(engine.index, 1, tmp_path / "cache")


def encoded(
    context: SystemContext, encode: Counting, texts: list[TextDocument] = TEXTS, code: Sequence[str] = ()
) -> EncodedDocuments:
    return encoded_documents(context, TextSource("test", (), lambda: iter(texts), code), ("digest", 128), encode)


def test_every_document_has_its_vectors(context: SystemContext) -> None:
    found = encoded(context, Counting())
    assert found.ids.tolist() == [one.id for one in TEXTS]
    for place, one in enumerate(TEXTS):
        rows = found.vectors[found.starts[place] : found.starts[place + 1]]
        assert rows.shape == (len(one.text) % 3, 2)
        assert (rows == ord(one.text[-1])).all()


def test_an_interrupted_encoding_continues(context: SystemContext) -> None:
    with pytest.raises(KeyboardInterrupt):
        encoded(context, Counting(fails_after=9))
    again = Counting()
    encoded(context, again)
    assert again.seen == len(TEXTS) - 8  # two blocks of four were written
    assert not list(context.prepared.glob("*.blocks"))


def test_nothing_is_encoded_twice(context: SystemContext) -> None:
    encoded(context, Counting())
    again = Counting()
    encoded(context, again)
    assert again.seen == 0


def test_other_code_or_documents_reuse_equal_blocks(context: SystemContext) -> None:
    first = encoded(context, Counting())
    again = Counting()
    changed = [*TEXTS[:12], TextDocument(22, "changed 9"), TEXTS[13]]
    other = encoded(context, again, changed, code=("porism.systems.documents",))
    assert again.seen == 2  # the last block
    assert other.ids.tolist() == first.ids.tolist()
    assert np.array_equal(other.vectors[: other.starts[12]], first.vectors[: first.starts[12]])


def test_no_documents_are_no_error(context: SystemContext) -> None:
    found = encoded(context, Counting(), [])
    assert len(found.cosines(np.ones(2, np.float32))) == len(found.maxsim(np.ones((3, 2), np.float32))) == 0


def test_vectors_must_be_finite(context: SystemContext) -> None:
    def broken(texts: Sequence[str]) -> list[Singles]:
        return [np.full((1, 2), np.nan, np.float32) for _ in texts]

    with pytest.raises(PorismError, match="not finite numbers"):
        encoded_documents(context, TextSource("test", (), lambda: iter(TEXTS), ()), ("digest",), broken)


def test_maxsim_sums_the_best_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_ROWS", 5)
    dice = np.random.default_rng(1)
    lengths = [2, 0, 3, 1, 4, 6]
    vectors = dice.normal(size=(sum(lengths), 3)).astype(np.float16)
    stored = EncodedDocuments(np.arange(6), np.append(0, np.cumsum(lengths)), vectors)
    query = dice.normal(size=(4, 3)).astype(np.float32)
    expected = []
    for place, length in enumerate(lengths):
        rows = vectors[stored.starts[place] : stored.starts[place + 1]].astype(np.float32)
        expected.append(float((query @ rows.T).max(axis=1).sum()) if length else 0.0)
    assert stored.maxsim(query) == pytest.approx(expected, rel=1e-3)
    some = np.array([4, 0])
    assert stored.maxsim(query, some) == pytest.approx([expected[4], expected[0]], rel=1e-3)
