"""Vectors of tokens in context: the output of one layer of a transformer, averaged over the occurrences of each token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.models.libraries import library
from porism.models.loading import computing, finite, limited, load_transformer

Vectors = npt.NDArray[np.float32]
BATCH = 32


class MeanVectors(NamedTuple):
    """Tokens and the mean of the vectors of their occurrences, in the same order."""

    tokens: list[str]
    vectors: Vectors


class TokenEncoder:
    """A transformer of any kind that reads text, with its tokenizer. `layer` is the one actually read: a small model may have fewer."""

    def __init__(self, directory: ModelDirectory, layer: int, length: int | None = None) -> None:
        """`layer` counts from 1; `length` is the number of tokens that are read of a text."""
        self.directory = directory
        inner = directory.path / "0_Transformer"
        self._tokenizer, self._model = load_transformer(directory, "AutoModel", inner if inner.is_dir() else None)
        if layer < 1:
            raise PorismError(f"layer {layer} does not exist", where=str(directory.path), fix="write a number from 1")
        self.layer = min(layer, int(self._model.config.num_hidden_layers))
        self.length = limited(directory, length, None)

    def save_tokenizer(self, path: Path) -> None:
        """Write the tokenizer as a file of the library `tokenizers`, without truncation and padding."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None:
            fix = "copy tokenizer.json of the same model into the directory"
            raise PorismError("has no fast tokenizer", where=str(self.directory.path), fix=fix)
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
