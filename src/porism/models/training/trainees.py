"""The two models that can be trained: how they compute a loss, how they are validated, and how they are saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from porism.models.directory import ModelDirectory
from porism.models.libraries import library
from porism.models.loading import load_transformer
from porism.models.training.settings import TrainingExample, TrainingSettings

POOLINGS = ("mean", "cls")
VALIDATION_BATCH = 50


class Trainee(Protocol):
    """A model in training, and the directory that it started from."""

    directory: ModelDirectory
    model: Any

    def loss(self, batch: Sequence[TrainingExample]) -> Any:
        """Return the loss of a batch, from which gradients are computed."""
        ...

    def validate(self, examples: Sequence[TrainingExample]) -> float:
        """Return how well the model ranks the positives of held-out examples: 1 is best."""
        ...

    def save(self, path: Path) -> None:
        """Write the model directory."""
        ...


class BiEncoderTrainee:
    """A bi-encoder: every other positive of the batch, and every hard negative, is a negative of a query."""

    def __init__(self, directory: ModelDirectory, settings: TrainingSettings) -> None:
        self.directory = directory
        self._settings = settings
        self._pooling = directory.pooling if directory.pooling in POOLINGS else "mean"
        self._tokenizer, self.model = load_transformer(directory, "AutoModel")

    def _vectors(self, texts: Sequence[str]) -> Any:
        torch = library("torch")
        tokens = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._settings.length, return_tensors="pt"
        )
        states = self.model(**tokens).last_hidden_state
        weights = tokens["attention_mask"].unsqueeze(-1).float()
        pooled = states[:, 0] if self._pooling == "cls" else (states * weights).sum(1) / weights.sum(1)
        return torch.nn.functional.normalize(pooled, dim=1)

    def loss(self, batch: Sequence[TrainingExample]) -> Any:
        """Return the cross-entropy of finding the positive of each query among all texts of the batch."""
        torch = library("torch")
        texts = [one.positive for one in batch] + [one.negative for one in batch if one.negative]
        scores = self._vectors([one.query for one in batch]) @ self._vectors(texts).T / self._settings.temperature
        equal = [
            [at != own and text == batch[own].positive for at, text in enumerate(texts)] for own in range(len(batch))
        ]
        scores = scores.masked_fill(torch.tensor(equal), float("-inf"))  # one positive of two queries is no negative
        return torch.nn.functional.cross_entropy(scores, torch.arange(len(batch)))

    def validate(self, examples: Sequence[TrainingExample]) -> float:
        """Return the mean reciprocal rank of each positive among all texts of the examples."""
        torch = library("torch")
        texts = [one.positive for one in examples] + [one.negative for one in examples if one.negative]
        with torch.inference_mode():
            queries = torch.cat([self._vectors(part) for part in _parts([one.query for one in examples])])
            scores = (queries @ torch.cat([self._vectors(part) for part in _parts(texts)]).T).numpy()
        own = scores[np.arange(len(examples)), np.arange(len(examples))]
        return float(np.mean(1 / (1 + (scores > own[:, None]).sum(axis=1))))

    def save(self, path: Path) -> None:
        """Write the model directory in the layout of sentence-transformers."""
        self.model.save_pretrained(path)
        self._tokenizer.save_pretrained(path)
        names = ("Transformer", "Pooling", "Normalize")
        places = ("", "1_Pooling", "2_Normalize")
        modules = [
            {"idx": at, "name": str(at), "path": place, "type": f"sentence_transformers.models.{name}"}
            for at, (name, place) in enumerate(zip(names, places, strict=True))
        ]
        pooling = {
            "word_embedding_dimension": self.model.config.hidden_size,
            "pooling_mode_cls_token": self._pooling == "cls",
            "pooling_mode_mean_tokens": self._pooling == "mean",
        }
        for place in places[1:]:
            (path / place).mkdir(exist_ok=True)
        _write_json(path / "modules.json", modules)
        _write_json(path / "1_Pooling" / "config.json", pooling)
        _write_json(
            path / "sentence_bert_config.json", {"max_seq_length": self._settings.length, "do_lower_case": False}
        )


class CrossEncoderTrainee:
    """A cross-encoder: the positive of a query should score higher than its negatives, and others of the batch."""

    def __init__(self, directory: ModelDirectory, settings: TrainingSettings) -> None:
        self.directory = directory
        self._settings = settings
        self._tokenizer, self.model = load_transformer(
            directory, "AutoModelForSequenceClassification", num_labels=1, new_head=True
        )

    def _logits(self, first: Sequence[str], second: Sequence[str]) -> Any:
        tokens = self._tokenizer(
            list(first),
            list(second),
            padding=True,
            truncation=True,
            max_length=self._settings.length,
            return_tensors="pt",
        )
        return self.model(**tokens).logits[:, 0]

    def loss(self, batch: Sequence[TrainingExample]) -> Any:
        """Return the binary cross-entropy over positives and negatives; without a hard negative the next positive is one."""
        torch = library("torch")
        queries = [one.query for one in batch]
        negatives = [one.negative or batch[(at + 1) % len(batch)].positive for at, one in enumerate(batch)]
        logits = self._logits(queries * 2, [one.positive for one in batch] + negatives)
        labels = torch.cat([torch.ones(len(batch)), torch.zeros(len(batch))])
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)

    def validate(self, examples: Sequence[TrainingExample]) -> float:
        """Return the share of examples whose positive scores higher than its negative."""
        torch = library("torch")
        wins = []
        with torch.inference_mode():
            for start in range(0, len(examples), VALIDATION_BATCH):
                part = examples[start : start + VALIDATION_BATCH]
                queries = [one.query for one in part]
                negatives = [one.negative or part[(at + 1) % len(part)].positive for at, one in enumerate(part)]
                good = self._logits(queries, [one.positive for one in part])
                wins.append((good > self._logits(queries, negatives)).float())
        return float(torch.cat(wins).mean())

    def save(self, path: Path) -> None:
        """Write the model directory."""
        self.model.save_pretrained(path)
        self._tokenizer.save_pretrained(path)


def _parts(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[start : start + VALIDATION_BATCH] for start in range(0, len(texts), VALIDATION_BATCH)]


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
