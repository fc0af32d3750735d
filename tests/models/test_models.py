"""The five kinds of models, for real: MiniLM where its package is installed, and tiny models made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from porism.errors import PorismError
from porism.models.causal import CausalGenerator, GenerationSettings
from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.encoder import BiEncoder, CrossEncoder
from porism.models.tokens import LateInteraction, maxsim

Tiny = Callable[[str], Path]
QUERY = "why is $\\sqrt{2}$ irrational"
DOCUMENTS = ["Assume that the square root of two is a fraction.", "Bananas are yellow.", "A banana is a fruit."]


def test_minilm_knows_what_a_text_is_about(minilm: str) -> None:
    encoder = BiEncoder.open(minilm)
    counts: list[int] = []
    vectors = encoder.encode([QUERY, *DOCUMENTS], progress=counts.append)
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors[1:] @ vectors[0]).argmax() == 0
    assert vectors[2] @ vectors[3] > vectors[2] @ vectors[1]
    assert counts == [4]
    record = encoder.record
    assert (record.kind, record.pooling, record.length, record.dimensions) == ("bi-encoder", "mean", 256, 384)
    assert ModelRecord.from_dict(record.as_dict()) == record


def test_long_texts_are_cut_and_counted(minilm: str) -> None:
    encoder = BiEncoder.open(minilm, length=16)
    long = "integral " * 100
    vectors = encoder.encode([long, long + "banana", "short"])
    assert encoder.cut == 2
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)
    assert encoder.record.length == 16


def test_no_texts(tiny: Tiny) -> None:
    assert BiEncoder.open(tiny("encoder")).encode([]).shape == (0, 32)


def test_more_tokens_than_positions_are_refused(tiny: Tiny) -> None:
    with pytest.raises(PorismError, match="reads at most 64 tokens of a text, not 65"):
        BiEncoder.open(tiny("encoder"), length=65)


def test_batches_do_not_change_vectors(tiny: Tiny) -> None:
    encoder = BiEncoder.open(tiny("encoder"))
    texts = [*DOCUMENTS, "x", QUERY * 5]
    assert np.allclose(encoder.encode(texts), encoder.encode(texts, batch_size=1), atol=1e-5)


def test_damaged_tokenizer_is_reported_with_the_directory(copied: Path) -> None:
    (copied / "tokenizer.json").write_text("{}")
    with pytest.raises(PorismError) as caught:
        BiEncoder.open(copied)
    assert caught.value.where == str(copied)


def test_cross_encoder_scores_pairs(tiny: Tiny) -> None:
    model = CrossEncoder(ModelDirectory.open(tiny("cross")))
    scores = model.score([(QUERY, text) for text in DOCUMENTS], batch_size=2)
    again = model.score([(QUERY, DOCUMENTS[2])])
    assert scores.shape == (3,)
    assert scores.dtype == np.float32
    assert scores[2] == pytest.approx(again[0], abs=1e-5)
    assert len(model.score([])) == 0
    assert np.isfinite(model.score([(QUERY, "zero " * 100)])).all()  # too long, and cut


def test_of_two_classes_the_last_counts(tiny: Tiny) -> None:
    model = CrossEncoder(ModelDirectory.open(tiny("two classes")))
    assert model.score([(QUERY, DOCUMENTS[0])]).shape == (1,)
    assert model.record.dimensions == 2


def test_a_bi_encoder_is_no_cross_encoder(tiny: Tiny) -> None:
    with pytest.raises(PorismError, match="needed is cross-encoder"):
        CrossEncoder(ModelDirectory.open(tiny("encoder")))


def test_maxsim_by_hand() -> None:
    query = np.array([[1, 0], [0, 1]], np.float32)
    documents = [
        np.array([[1, 0]], np.float32),
        np.zeros((0, 2), np.float32),
        np.array([[0.6, 0.8], [0, 1]], np.float32),
    ]
    assert maxsim(query, documents) == pytest.approx([1.0, 0.0, 1.6])
    assert len(maxsim(query, [])) == 0


@pytest.mark.parametrize("kind", ["late", "encoder"])
def test_late_interaction(tiny: Tiny, kind: str) -> None:
    model = LateInteraction(ModelDirectory.open(tiny(kind)))
    query = model.encode([DOCUMENTS[0]], role="query")[0]
    vectors = model.encode(DOCUMENTS)
    assert len(vectors) == 3
    assert all(one.shape[1] == model.record.dimensions for one in vectors)
    assert np.allclose(np.linalg.norm(np.concatenate(vectors), axis=1), 1, atol=1e-4)
    assert maxsim(query, vectors).argmax() == 0


def test_minilm_by_late_interaction(minilm: str) -> None:
    model = LateInteraction(ModelDirectory.open(minilm), length=64)
    query = model.encode([QUERY], role="query")[0]
    assert maxsim(query, model.encode(DOCUMENTS)).argmax() == 0
    assert model.record.pooling == "token vectors of a bi-encoder"


def test_causal_is_repeatable_and_bounded(tiny: Tiny) -> None:
    model = CausalGenerator(ModelDirectory.open(tiny("causal")))
    settings = GenerationSettings(max_tokens=8, seed=3)
    text = model.generate("the square root", settings)
    assert text == model.generate("the square root", settings)
    assert model.count_tokens(text) <= 2 * 8 + 2
    model.generate("the square root of two " * 30, settings)  # too long, and cut at its beginning
    with pytest.raises(PorismError, match="has 64 positions, too few for 64 new tokens"):
        model.generate("x", GenerationSettings(max_tokens=64))
