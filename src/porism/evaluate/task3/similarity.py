"""CS, contextual similarity of an answer with references: BERTScore F1 with any encoder of text into token vectors.

Zhang et al., BERTScore, ICLR 2020. With a local copy of witiko/mathberta, layer 10, it is the lab's CS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from porism.errors import PorismError

LAYER = 10


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token vectors (one row each) and their weights; marks of begin and end weigh 0."""

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Encoder:
    """Text becomes vectors; `measure` is the name under which the result may be reported."""

    measure: str
    encode: Callable[[str], Encoded]


def f1(answer: Encoded, reference: Encoded) -> float:
    """Each token is matched with the nearest of the other side; precision and recall are the weighted means of these cosines."""
    one, two = unit(answer.vectors), unit(reference.vectors)
    cosines = one @ two.T
    precision = float(np.average(cosines.max(axis=1), weights=answer.weights))
    recall = float(np.average(cosines.max(axis=0), weights=reference.weights))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float64] = vectors / np.where(lengths == 0, 1, lengths)
    return scaled


def similarity(
    answers: Mapping[str, str], references: Mapping[str, Sequence[str]], encoder: Encoder
) -> dict[str, float]:
    """The similarity of each answer with its best reference; topics without reference are left out."""
    values = {}
    for topic, text in answers.items():
        others = [encoder.encode(reference) for reference in references.get(topic, ()) if reference]
        if others and text:
            mine = encoder.encode(text)
            values[topic] = max(f1(mine, other) for other in others)
    if not values:
        raise PorismError("no answered topic has a reference", fix="give references: answers of grade 2 or 3")
    return values


def local_encoder(directory: str | Path, layer: int = LAYER) -> Encoder:
    """The encoder in a local model directory; nothing is fetched."""
    if not (Path(directory) / "config.json").is_file():
        raise PorismError(
            "no config.json here", where=str(directory), fix="name a local copy of the model witiko/mathberta"
        )
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
        from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise PorismError(
            "the packages torch and transformers are not installed", fix="pip install torch transformers"
        ) from None
    tokenizer: Any = AutoTokenizer.from_pretrained(str(directory), local_files_only=True, add_prefix_space=True)
    model: Any = AutoModel.from_pretrained(str(directory), local_files_only=True).eval()
    marks = set(tokenizer.all_special_ids)
    # Only the lab's own model may give a figure under the lab's name; a smaller model gives its last layer.
    depth = min(layer, int(model.config.num_hidden_layers))
    named = "mathberta" in Path(directory).resolve().name.lower() and depth == LAYER

    def encode(text: str) -> Encoded:
        batch = tokenizer(text, return_tensors="pt", truncation=True)
        with torch.no_grad():
            states = model(**batch, output_hidden_states=True).hidden_states[depth][0]
        weights = [0.0 if int(token) in marks else 1.0 for token in batch["input_ids"][0]]
        return Encoded(np.asarray(states, dtype=np.float64), np.asarray(weights))

    return Encoder("CS" if named else "CS-local", encode)
