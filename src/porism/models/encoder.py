"""Bi-encoders: a text becomes one vector of length 1, and the dot product of two vectors is their similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.libraries import library
from porism.models.loading import (
    CHUNK_BATCHES,
    SAFE,
    check_vocabulary,
    check_weights,
    chunks,
    computing,
    count_longer,
    finite,
    limited,
    loaded,
)
from porism.models.onnx import OnnxEncoder, onnx_encoder

Vectors = npt.NDArray[np.float32]
Role = Literal["query", "document"]
BATCH = 32
LEAST_LENGTH = 1e-12


class BiEncoder:
    """A bi-encoder. Texts that are longer than `length` tokens are cut at the end; `cut` counts them."""

    def __init__(self, directory: ModelDirectory, length: int | None = None) -> None:
        """`length` is the number of tokens that are read of a text, the model's own unless another is given."""
        self.directory = directory.require("bi-encoder", "sparse")
        self.cut = 0
        self._onnx: OnnxEncoder | None = onnx_encoder(directory, length)
        self._torch: Any = None if self._onnx else _load(directory, length)

    @classmethod
    def open(cls, name_or_path: str | Path, length: int | None = None) -> BiEncoder:
        """Load the bi-encoder of a directory or of an installed package."""
        return cls(ModelDirectory.open(name_or_path), length)

    def encode(
        self,
        texts: Sequence[str],
        batch_size: int = BATCH,
        progress: Callable[[int], None] | None = None,
        role: Role = "document",
    ) -> Vectors:
        """Return one normalised vector a text. `progress` is called with the number of texts encoded since the last call.

        `role` chooses the prompt of models that have different ones for queries and documents.
        """
        parts = [self._encode(chunk, batch_size, role) for chunk in chunks(texts, batch_size * CHUNK_BATCHES, progress)]
        return np.concatenate(parts) if parts else np.zeros((0, self.record.dimensions), np.float32)

    def _encode(self, texts: list[str], batch_size: int, role: Role) -> Vectors:
        with computing(self.directory):
            return finite(self.directory, self._computed(texts, batch_size, role))

    def _computed(self, texts: list[str], batch_size: int, role: Role) -> Vectors:
        if self._onnx:
            encoded = self._onnx.encode(texts, batch_size)
            self.cut += encoded.cut
            return encoded.vectors
        self.cut += count_longer(self._torch.tokenizer, texts, int(self._torch.max_seq_length))
        encode = self._torch.encode_query if role == "query" else self._torch.encode_document
        vectors = encode(texts, batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)

    @cached_property
    def record(self) -> ModelRecord:
        """What runs and indexes record of the model."""
        if self._onnx:
            pooling, length, dimensions = self._onnx.pooling, self._onnx.length, self._onnx.dimensions
            prompts = {"query": "", "document": ""}
        else:
            pooling = self.directory.pooling
            length, dimensions = int(self._torch.max_seq_length), int(self._torch.get_embedding_dimension())
            prompts = {role: self._torch.prompts.get(role) or "" for role in ("query", "document")}
        return ModelRecord(
            self.directory.name, "bi-encoder", self.directory.digest, pooling, length, dimensions,
            f"query: {prompts['query']}<text>; document: {prompts['document']}<text>; vectors of length 1",
            self._onnx.backend if self._onnx else "torch",
        )  # fmt: skip


class TextEncoder(Protocol):
    """A bi-encoder, or what opens one when it is first needed."""

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one vector a text."""
        ...


def encode_query(encoder: TextEncoder, texts: Sequence[str]) -> Vectors:
    """Return the vector of a query, the mean direction of its texts. Each is encoded by itself: in one batch all cost as much as the longest."""
    return mean_direction(np.concatenate([encoder.encode([text], role="query") for text in texts or ("",)]))


def mean_direction(vectors: Vectors) -> Vectors:
    """Return the mean of vectors as one vector of length 1."""
    mean = vectors.mean(axis=0)
    direction: Vectors = mean / max(float(np.linalg.norm(mean)), LEAST_LENGTH)
    return direction


def _load(directory: ModelDirectory, length: int | None) -> Any:
    sentence_transformers = library("sentence_transformers")
    model = loaded(
        directory,
        lambda: sentence_transformers.SentenceTransformer(str(directory.path), device="cpu", **SAFE),
    )
    check_weights(directory, model, pooler=False)
    check_vocabulary(directory, model.tokenizer.get_vocab())
    model.max_seq_length = limited(directory, length, model.max_seq_length)
    return model
