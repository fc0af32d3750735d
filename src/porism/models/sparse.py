"""Learned sparse models (SPLADE): the masked-language head of a text becomes weights of the words of a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.libraries import library
from porism.models.loading import chunks, computing, count_longer, finite, limited, load_transformer

BATCH = 16
LEAST_WEIGHT = 1e-4


class SparseEncoder:
    """A sparse encoder: weight = max over the tokens of log(1 + max(0, logit)). `cut` counts texts that were too long."""

    def __init__(self, directory: ModelDirectory, length: int | None = None) -> None:
        """`length` is the number of tokens that are read of a text."""
        self.directory = directory.require("sparse")
        self.cut = 0
        self._tokenizer, self._model = load_transformer(directory, "AutoModelForMaskedLM")
        own = self._tokenizer.model_max_length
        self.length = limited(directory, length, own if own < 1 << 20 else None)

    @classmethod
    def open(cls, name_or_path: str | Path, length: int | None = None) -> SparseEncoder:
        """Load the sparse model of a directory."""
        return cls(ModelDirectory.open(name_or_path), length)

    def encode(
        self,
        texts: Sequence[str],
        batch_size: int = BATCH,
        progress: Callable[[int], None] | None = None,
        most: int = 256,
    ) -> list[dict[str, float]]:
        """Return the weights of the words of each text, at most the `most` largest, by word piece."""
        found: list[dict[str, float]] = []
        for chunk in chunks(texts, batch_size, progress):
            self.cut += count_longer(self._tokenizer, chunk, self.length)
            with computing(self.directory):
                found += [self._words(row, most) for row in finite(self.directory, self._weights(chunk))]
        return found

    def _weights(self, texts: list[str]) -> npt.NDArray[np.float32]:
        torch = library("torch")
        tokens = self._tokenizer(texts, padding=True, truncation=True, max_length=self.length, return_tensors="pt")
        with torch.inference_mode():
            logits = self._model(**tokens).logits
            weights = torch.log1p(torch.relu(logits)) * tokens["attention_mask"].unsqueeze(-1)
        return np.asarray(weights.amax(dim=1).numpy(), np.float32)

    def _words(self, weights: npt.NDArray[np.float32], most: int) -> dict[str, float]:
        special = set(self._tokenizer.all_special_ids)
        order = np.argsort(-weights, kind="stable")
        chosen = [
            int(at) for at in order[: most + len(special)] if weights[at] > LEAST_WEIGHT and int(at) not in special
        ]
        words = self._tokenizer.convert_ids_to_tokens(chosen[:most])
        return {word: float(weights[at]) for word, at in zip(words, chosen, strict=False)}

    @cached_property
    def record(self) -> ModelRecord:
        """What runs and indexes record of the model."""
        return ModelRecord(
            self.directory.name, "sparse", self.directory.digest, "max of log(1 + relu)", self.length,
            int(self._model.config.vocab_size), "<text>; weights of word pieces", "torch",
        )  # fmt: skip
