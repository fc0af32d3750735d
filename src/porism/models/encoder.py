"""Encoders. A bi-encoder, run by torch or as ONNX, makes one vector of length 1 of a text, and the dot product of two
vectors is their similarity. A cross-encoder makes one score of a pair of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from porism.models import loading
from porism.models.directory import ONNX, ModelDirectory, ModelRecord
from porism.models.libraries import is_installed, library
from porism.models.loading import CHUNK_BATCHES, SAFE, chunks, computing, finite, limited

Vectors = npt.NDArray[np.float32]
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
POOLINGS = ("mean", "cls")
MODULES = {("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize"), ()}


class OnnxEncoder:
    """The ONNX file of a bi-encoder with mean or first-token pooling."""

    def __init__(self, directory: ModelDirectory, file: Path, pooling: str, length: int) -> None:
        self.pooling, self.length = pooling, length
        self.backend = "onnx" if file.name == Path(ONNX[0]).name else "onnx int8"
        runtime, tokenizers = library("onnxruntime"), library("tokenizers")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(directory.path / "tokenizer.json"))
            options = runtime.SessionOptions()
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting costs no processor time
            self._session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise classes of their own
            fact = f"{file.name} cannot be loaded: {error}".splitlines()[0][:300]
            raise directory.error(fact, "copy the directory again") from error
        loading.check_vocabulary(directory, self._tokenizer.get_vocab())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._inputs = {one.name for one in self._session.get_inputs()}
        self.dimensions = int(directory.config.get("hidden_size") or directory.config.get("dim") or 0)
        shape = self._session.get_outputs()[0].shape
        wrong = len(shape) != 3 or (isinstance(shape[2], int) and shape[2] != self.dimensions)
        if wrong or not self._inputs <= INPUTS:
            inputs = ", ".join(sorted(self._inputs))
            fact = f"{file.name} is not the model of config.json: inputs {inputs}, output {shape}"
            raise directory.error(fact, "copy the directory again, or remove the ONNX file")

    def encode(self, texts: Sequence[str], batch_size: int) -> tuple[Vectors, int]:
        """Return the vectors of texts, and how many texts were cut; texts of similar length share a batch."""
        tokens = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        cut = sum(len(ids) > self.length for ids in tokens)
        tokens = [ids if len(ids) <= self.length else [*ids[: self.length - 1], ids[-1]] for ids in tokens]
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        vectors = np.zeros((len(tokens), self.dimensions), np.float32)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            vectors[batch] = self._run([tokens[at] for at in batch])
        return vectors, cut

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
    """Return the encoder of a directory's ONNX file; None where there is none, or where only torch knows its
    modules."""
    file, pooling = directory.onnx, read_pooling(directory)
    has_tokenizer = (directory.path / "tokenizer.json").is_file()
    if not file or not pooling or not has_tokenizer or not is_installed("onnxruntime"):
        return None
    return OnnxEncoder(directory, file, pooling, limited(directory, length, directory.own_length))


def read_pooling(directory: ModelDirectory) -> str | None:
    """Return the pooling of a directory, if it can be computed from the states of an ONNX model and texts have no
    prompts."""
    known = directory.pooling in POOLINGS and directory.module_types in MODULES and not directory.has_prompts
    return directory.pooling if known else None


Role = Literal["query", "document"]
BATCH, PAIRS = 32, 16  # texts, or pairs of texts, that a model reads at once
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
        """Return one normalised vector a text. `progress` is called with the number of texts encoded since the last
        call. `role` chooses the prompt of models that have different ones for queries and documents."""
        parts = []
        for chunk in chunks(texts, batch_size * CHUNK_BATCHES, progress):
            with computing(self.directory):
                parts.append(finite(self.directory, self._encode(chunk, batch_size, role)))
        return np.concatenate(parts) if parts else np.zeros((0, self.record.dimensions), np.float32)

    def _encode(self, texts: list[str], batch_size: int, role: Role) -> Vectors:
        if self._onnx:
            own, cut = self._onnx.encode(texts, batch_size)
            self.cut += cut
            return own
        self.cut += loading.count_longer(self._torch.tokenizer, texts, int(self._torch.max_seq_length))
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
            self.directory.name,
            "bi-encoder",
            self.directory.digest,
            pooling,
            length,
            dimensions,
            f"query: {prompts['query']}<text>; document: {prompts['document']}<text>; vectors of length 1",
            self._onnx.backend if self._onnx else "torch",
        )


class TextEncoder(Protocol):
    """A bi-encoder, or what opens one when it is first needed."""

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one vector a text."""
        ...


def encode_query(encoder: TextEncoder, texts: Sequence[str]) -> Vectors:
    """Return the vector of a query, the mean direction of its texts. Each is encoded by itself: in one batch all cost
    as much as the longest."""
    return mean_direction(np.concatenate([encoder.encode([text], role="query") for text in texts or ("",)]))


def mean_direction(vectors: Vectors) -> Vectors:
    """Return the mean of vectors as one vector of length 1."""
    mean = vectors.mean(axis=0)
    direction: Vectors = mean / max(float(np.linalg.norm(mean)), LEAST_LENGTH)
    return direction


def _load(directory: ModelDirectory, length: int | None) -> Any:
    sentence_transformers = library("sentence_transformers")
    path = str(directory.path)
    model = loading.loaded(directory, lambda: sentence_transformers.SentenceTransformer(path, device="cpu", **SAFE))
    loading.check_weights(directory, model, pooler=False)
    loading.check_vocabulary(directory, model.tokenizer.get_vocab())
    model.max_seq_length = limited(directory, length, model.max_seq_length)
    return model


class CrossEncoder:
    """A cross-encoder: a pair of texts becomes one score. Slow and exact, for the first candidates of a ranking. Of
    several classes the score is the logit of the last one ("relevant")."""

    def __init__(self, directory: ModelDirectory, length: int | None = None) -> None:
        """`length` is the number of tokens that are read of a pair."""
        self.directory = directory.require("cross-encoder")
        sentence_transformers = library("sentence_transformers")
        path = str(directory.path)
        self._model = loading.loaded(directory, lambda: sentence_transformers.CrossEncoder(path, device="cpu", **SAFE))
        loading.check_weights(directory, self._model, pooler=True)
        self._model.max_seq_length = limited(directory, length, self._model.max_seq_length)

    def score(
        self, pairs: Sequence[tuple[str, str]], batch_size: int = PAIRS, progress: Callable[[int], None] | None = None
    ) -> Vectors:
        """Return one logit for each pair of query and document: the larger, the better."""
        torch = library("torch")
        scores = []
        for chunk in chunks(pairs, batch_size * CHUNK_BATCHES, progress):
            with computing(self.directory):
                options = {"batch_size": batch_size, "show_progress_bar": False, "activation_fn": torch.nn.Identity()}
                logits = self._model.predict(chunk, **options)
            values = finite(self.directory, np.asarray(logits, np.float32))
            scores.append(values if values.ndim == 1 else values[:, -1])
        return np.concatenate(scores) if scores else np.zeros(0, np.float32)

    @cached_property
    def record(self) -> ModelRecord:
        """What runs record of the model."""
        length = int(self._model.max_seq_length)
        return ModelRecord(
            self.directory.name,
            "cross-encoder",
            self.directory.digest,
            "none",
            length,
            int(self._model.num_labels),
            "pair (query, document); score: logit",
            "torch",
        )
