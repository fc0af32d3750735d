"""Models that keep what each token of a text gives: vectors for late interaction, weights of words (SPLADE), vectors in
context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.models import loading
from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.encoder import Role
from porism.models.libraries import library
from porism.models.loading import CHUNK_BATCHES, SAFE, chunks, computing, finite, limited

Vectors = npt.NDArray[np.float32]
BATCH = 32


class LateInteraction:
    """A late-interaction model (ColBERT, PyLate, sentence-transformers), or the token vectors of a bi-encoder used as
    one. Vectors have length 1. Texts that are longer than `length` tokens are cut at the end."""

    def __init__(self, directory: ModelDirectory, length: int | None = None) -> None:
        """`length` is the number of tokens that are read of a document."""
        self.directory = directory.require("late interaction", "bi-encoder")
        self._own = directory.kind == "late interaction"
        library_class = "MultiVectorEncoder" if self._own else "SentenceTransformer"
        maker = getattr(library("sentence_transformers"), library_class)
        self._model: Any = loading.loaded(directory, lambda: maker(str(directory.path), device="cpu", **SAFE))
        loading.check_weights(directory, self._model, pooler=False)
        self._model.max_seq_length = limited(directory, length, self._model.max_seq_length)

    def encode(
        self,
        texts: Sequence[str],
        batch_size: int = BATCH,
        progress: Callable[[int], None] | None = None,
        role: Role = "document",
    ) -> list[Vectors]:
        """Return the normalised token vectors of each text: arrays of (tokens, dimensions)."""
        vectors: list[Vectors] = []
        for chunk in chunks(texts, batch_size * CHUNK_BATCHES, progress):
            with computing(self.directory):
                vectors += [finite(self.directory, one) for one in self._encode(chunk, batch_size, role)]
        return vectors

    def _encode(self, texts: list[str], batch_size: int, role: Role) -> list[Vectors]:
        encode = self._model.encode_query if role == "query" else self._model.encode_document
        options = {} if self._own else {"output_value": "token_embeddings", "convert_to_numpy": False}
        found = encode(texts, batch_size=batch_size, show_progress_bar=False, **options)
        vectors = (np.asarray(one, np.float32) for one in found)
        return [one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-12) for one in vectors]

    @cached_property
    def record(self) -> ModelRecord:
        """What runs and indexes record of the model."""
        length = int(self._model.max_seq_length)
        dimensions = int(self._model.get_embedding_dimension())
        prompts = {role: self._model.prompts.get(role) or "" for role in ("query", "document")}
        return ModelRecord(
            self.directory.name,
            "late interaction",
            self.directory.digest,
            "token vectors" if self._own else "token vectors of a bi-encoder",
            length,
            dimensions,
            f"query: {prompts['query']}<text>; document: {prompts['document']}<text>; vectors of length 1",
            "torch",
        )


def maxsim(query: Vectors, documents: Sequence[npt.NDArray[np.floating]]) -> npt.NDArray[np.float32]:
    """Return MaxSim of a query with each document: the sum over the query's tokens of the largest similarity to a token
    of the document. A document without tokens has 0."""
    if not documents:
        return np.zeros(0, np.float32)
    lengths = np.array([len(one) for one in documents])
    scores = np.zeros(len(documents), np.float32)
    filled = np.flatnonzero(lengths)
    if len(filled):
        vectors = np.concatenate([documents[at] for at in filled.tolist()]).astype(np.float32, copy=False)
        similarities = query @ vectors.T
        starts = np.concatenate(([0], np.cumsum(lengths[filled])[:-1]))
        scores[filled] = np.maximum.reduceat(similarities, starts, axis=1).sum(axis=0)
    return scores


class MeanVectors(NamedTuple):
    """Tokens and the mean of the vectors of their occurrences, in the same order."""

    tokens: list[str]
    vectors: Vectors


class TokenEncoder:
    """A transformer of any kind that reads text, with its tokenizer. `layer` is the one actually read: a small model
    may have fewer."""

    def __init__(self, directory: ModelDirectory, layer: int, length: int | None = None) -> None:
        """`layer` counts from 1; `length` is the number of tokens that are read of a text."""
        self.directory = directory
        inner = directory.path / "0_Transformer"
        self._tokenizer, self._model = loading.load_transformer(
            directory, "AutoModel", inner if inner.is_dir() else None
        )
        if layer < 1:
            raise directory.error(f"layer {layer} does not exist", "write a number from 1")
        self.layer = min(layer, int(self._model.config.num_hidden_layers))
        self.length = limited(directory, length, None)

    def save_tokenizer(self, path: Path) -> None:
        """Write the tokenizer as a file of the library `tokenizers`, without truncation and padding."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None:
            fix = "copy tokenizer.json of the same model into the directory"
            raise self.directory.error("has no fast tokenizer", fix)
        backend.no_truncation()
        backend.no_padding()
        backend.save(str(path))

    def mean_vectors(self, texts: Iterable[str], advance: Callable[[int], None] = lambda number: None) -> MeanVectors:
        """Return the mean vector of every token of the texts. Special tokens of the model are left out."""
        sums: dict[int, Vectors] = {}
        counts: dict[int, int] = {}
        special = set(self._tokenizer.all_special_ids)
        for batch in _batches(texts):
            with computing(self.directory):
                outputs = [(codes, finite(self.directory, vectors)) for codes, vectors in self._outputs(batch)]
            for codes, vectors in outputs:
                for code, vector in zip(codes, vectors, strict=True):
                    if code not in special:
                        sums[code] = sums[code] + vector if code in sums else vector.copy()
                        counts[code] = counts.get(code, 0) + 1
            advance(len(batch))
        found = sorted(sums)
        names = self._tokenizer.convert_ids_to_tokens(found)
        means = [sums[code] / counts[code] for code in found]
        return MeanVectors(names, np.stack(means) if means else np.zeros((0, 1), np.float32))

    def _outputs(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        """Yield the ids of the tokens of each text, and the vectors of the layer."""
        torch = library("torch")
        with torch.inference_mode():
            batch = self._tokenizer(
                list(texts), padding=True, truncation=True, max_length=self.length, return_tensors="pt"
            )
            states = self._model(**batch, output_hidden_states=True).hidden_states[self.layer]
        for codes, mask, vectors in zip(batch["input_ids"], batch["attention_mask"], states, strict=True):
            length = int(mask.sum())
            yield codes[:length].tolist(), vectors[:length].numpy()


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while batch := list(islice(stream, BATCH)):
        yield batch
