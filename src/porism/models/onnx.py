"""Bi-encoders as ONNX: queries take half of torch's time, and it is loaded in a fraction of its time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.models.directory import ONNX, ModelDirectory
from porism.models.libraries import is_installed, library
from porism.models.loading import check_vocabulary, limited

Vectors = npt.NDArray[np.float32]
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
POOLINGS = ("mean", "cls")
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
        self.backend = "onnx" if file.name == Path(ONNX[0]).name else "onnx int8"
        runtime, tokenizers = library("onnxruntime"), library("tokenizers")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(directory.path / "tokenizer.json"))
            options = runtime.SessionOptions()
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting costs no processor time
            self._session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise classes of their own
            fact = f"{file.name} cannot be loaded: {error}".splitlines()[0][:300]
            raise PorismError(fact, where=str(directory.path), fix="copy the directory again") from error
        check_vocabulary(directory, self._tokenizer.get_vocab())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._inputs = {one.name for one in self._session.get_inputs()}
        self.dimensions = int(directory.config.get("hidden_size") or directory.config.get("dim") or 0)
        shape = self._session.get_outputs()[0].shape
        wrong = len(shape) != 3 or (isinstance(shape[2], int) and shape[2] != self.dimensions)
        if wrong or not self._inputs <= INPUTS:
            raise PorismError(
                f"{file.name} is not the model of config.json: inputs {', '.join(sorted(self._inputs))}, output {shape}",
                where=str(directory.path),
                fix="copy the directory again, or remove the ONNX file",
            )

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
    file, pooling = directory.onnx, read_pooling(directory)
    if not file or not pooling or not is_installed("onnxruntime"):
        return None
    if not (directory.path / "tokenizer.json").is_file():
        return None
    return OnnxEncoder(directory, file, pooling, limited(directory, length, directory.own_length))


def read_pooling(directory: ModelDirectory) -> str | None:
    """Return the pooling of a directory, if it can be computed from the states of an ONNX model and texts have no prompts."""
    known = directory.pooling in POOLINGS and directory.module_types() in MODULES and not directory.has_prompts
    return directory.pooling if known else None
