"""Cross-encoders: a pair of texts becomes one score. Slow and exact, for the first candidates of a ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.libraries import library
from porism.models.loading import CHUNK_BATCHES, SAFE, check_weights, chunks, computing, finite, limited, loaded

BATCH = 16


class CrossEncoder:
    """A cross-encoder. Of several classes the score is the logit of the last one ("relevant"). `cut` counts pairs that
    were too long."""

    def __init__(self, directory: ModelDirectory, length: int | None = None) -> None:
        """`length` is the number of tokens that are read of a pair."""
        self.directory = directory.require("cross-encoder")
        self.cut = 0
        sentence_transformers = library("sentence_transformers")
        path = str(directory.path)
        self._model = loaded(directory, lambda: sentence_transformers.CrossEncoder(path, device="cpu", **SAFE))
        check_weights(directory, self._model, pooler=True)
        self._model.max_seq_length = limited(directory, length, self._model.max_seq_length)

    @classmethod
    def open(cls, name_or_path: str | Path, length: int | None = None) -> CrossEncoder:
        """Load the cross-encoder of a directory."""
        return cls(ModelDirectory.open(name_or_path), length)

    def score(
        self, pairs: Sequence[tuple[str, str]], batch_size: int = BATCH, progress: Callable[[int], None] | None = None
    ) -> npt.NDArray[np.float32]:
        """Return one logit for each pair of query and document: the larger, the better."""
        torch = library("torch")
        scores = []
        for chunk in chunks(pairs, batch_size * CHUNK_BATCHES, progress):
            self.cut += self._longer(chunk)
            with computing(self.directory):
                logits = self._model.predict(
                    chunk, batch_size=batch_size, show_progress_bar=False, activation_fn=torch.nn.Identity()
                )
            values = finite(self.directory, np.asarray(logits, np.float32))
            scores.append(values if values.ndim == 1 else values[:, -1])
        return np.concatenate(scores) if scores else np.zeros(0, np.float32)

    def _longer(self, pairs: Sequence[tuple[str, str]]) -> int:
        length = int(self._model.max_seq_length)
        long = [pair for pair in pairs if sum(len(text.encode()) for text in pair) >= length - 3]
        if not long:
            return 0
        first, second = map(list, zip(*long, strict=True))
        tokens = self._model.tokenizer(first, second, truncation=False, verbose=False)["input_ids"]
        return sum(len(one) > length for one in tokens)

    @cached_property
    def record(self) -> ModelRecord:
        """What runs record of the model."""
        length = int(self._model.max_seq_length)
        return ModelRecord(
            self.directory.name, "cross-encoder", self.directory.digest, "none", length,
            int(self._model.num_labels), "pair (query, document); score: logit", "torch",
        )  # fmt: skip
