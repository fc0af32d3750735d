"""Bi-encoders as ONNX: faster on a processor than torch, and loaded in a fraction of its time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.models.libraries import is_installed, library

Vectors = npt.NDArray[np.float32]
POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
MODULES = {("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize"), ()}


class EncodedTexts(NamedTuple):
    """Vectors of texts, and how many of the texts were cut."""

    vectors: Vectors
    cut: int


class OnnxEncoder:
    """The ONNX file of a bi-encoder with mean or first-token pooling."""

    def __init__(self, directory: ModelDirectory, file: Path, pooling: str, length: int) -> None:
        self.pooling = pooling
        self.length = length
        runtime, tokenizers = library("onnxruntime"), library("tokenizers")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(directory.path / "tokenizer.json"))
            self._session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise classes of their own
            fact = f"{file.name} cannot be loaded: {error}".splitlines()[0][:300]
            raise PorismError(fact, where=str(directory.path), fix="copy the directory again") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._inputs = {one.name for one in self._session.get_inputs()}
        self.dimensions = int(directory.config.get("hidden_size") or directory.config["dim"])

    def encode(self, texts: Sequence[str], batch_size: int) -> EncodedTexts:
        """Return the vectors of texts; texts of similar length share a batch."""
        tokens = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        cut = sum(len(ids) > self.length for ids in tokens)
        tokens = [ids if len(ids) <= self.length else [*ids[: self.length - 1], ids[-1]] for ids in tokens]
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        vectors = np.zeros((len(tokens), self.dimensions), np.float32)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            vectors[batch] = self._run([tokens[at] for at in batch])
        return EncodedTexts(vectors, cut)

    def _run(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(tokens):
            ids[row, : len(own)], mask[row, : len(own)] = own, 1
        values: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: value for name, value in values.items() if name in self._inputs})[0]
        weights = mask[:, :, None].astype(np.float32)
        pooled = states[:, 0] if self.pooling == "cls" else (states * weights).sum(1) / weights.sum(1)
        return np.asarray(pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12), np.float32)


def onnx_encoder(directory: ModelDirectory, length: int | None) -> OnnxEncoder | None:
    """Return the encoder of a directory's ONNX file; None where there is none, or where only torch knows its modules."""
    file = directory.onnx
    poolings = [name for key, name in POOLINGS.items() if directory.pooling_config().get(key)]
    if not file or len(poolings) != 1 or directory.module_types() not in MODULES or not is_installed("onnxruntime"):
        return None
    if not (directory.path / "tokenizer.json").is_file():
        return None
    most = int(directory.config.get("max_position_embeddings") or 512)
    return OnnxEncoder(directory, file, poolings[0], min(length or most, most))
