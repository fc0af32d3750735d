"""CS, the contextual similarity of an answer with its best reference: BERTScore F1 with any encoder of tokens.

Zhang et al., BERTScore, ICLR 2020. With a local copy of witiko/mathberta, layer 10, it is the lab's CS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from porism.errors import PorismError
from porism.evaluate.task3.overlap import is_mathberta
from porism.models.directory import ModelDirectory
from porism.models.libraries import library
from porism.models.loading import load_transformer

LAYER = 10


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token vectors (one row each) and their weights; special tokens have weight 0."""

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Encoder:
    """A function that turns text into token vectors; `measure` names the resulting measure."""

    measure: str
    encode: Callable[[str], Encoded]


def bert_score_f1(answer: Encoded, reference: Encoded) -> float:
    """Match each token with the nearest of the other text; precision and recall are weighted means of these cosines."""
    one, two = _unit_rows(answer.vectors), _unit_rows(reference.vectors)
    cosines = one @ two.T
    precision = float(np.average(cosines.max(axis=1), weights=answer.weights))
    recall = float(np.average(cosines.max(axis=0), weights=reference.weights))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows to length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float64] = vectors / np.where(lengths == 0, 1, lengths)
    return scaled


def similarity(
    answers: Mapping[str, str], references: Mapping[str, Sequence[str]], encoder: Encoder
) -> dict[str, float]:
    """Return the similarity of each answer with its best reference. Topics without reference are left out."""
    values = {}
    for topic, text in answers.items():
        others = [encoder.encode(reference) for reference in references.get(topic, ()) if reference]
        if others and text:
            mine = encoder.encode(text)
            values[topic] = max(bert_score_f1(mine, other) for other in others)
    if not values:
        raise PorismError("no answered topic has a reference", fix="give references: answers of grade 2 or 3")
    return values


def local_encoder(directory: str | Path, layer: int = LAYER) -> Encoder:
    """Load the encoder of a local model directory; nothing is downloaded, and nothing in it is run."""
    found = ModelDirectory.open(directory)
    tokenizer, model = load_transformer(found, "AutoModel", tokenizer_options={"add_prefix_space": True})
    torch = library("torch")
    special = set(tokenizer.all_special_ids)
    # Only the lab's own model gives the measure called CS. A model with fewer layers uses its last one.
    depth = min(layer, int(model.config.num_hidden_layers))
    named = is_mathberta(found.path) and depth == LAYER

    def encode(text: str) -> Encoded:
        batch = tokenizer(text, return_tensors="pt", truncation=True)
        with torch.no_grad():
            states = model(**batch, output_hidden_states=True).hidden_states[depth][0]
        weights = [0.0 if int(token) in special else 1.0 for token in batch["input_ids"][0]]
        return Encoded(np.asarray(states, dtype=np.float64), np.asarray(weights))

    return Encoder("CS" if named else "CS-local", encode)
