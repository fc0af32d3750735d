"""Models that can be trained, also from scratch: their settings, how they compute a loss, are validated and saved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from porism.models.directory import ModelDirectory
from porism.models.libraries import library
from porism.models.loading import Item, load_transformer


class TrainingExample(NamedTuple):
    """A query, a text that answers it, and a text that is similar but does not (empty if none is known)."""

    query: str
    positive: str
    negative: str = ""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a model is trained. Training stops after `epochs`, after `steps` unless 0, or when `patience` validations in
    a row bring nothing better."""

    epochs: int = 3
    steps: int = 0
    batch: int = 16
    learning_rate: float = 5e-5
    length: int = 128
    validate_every: int = 50  # steps; a checkpoint is written at the same time
    patience: int = 3
    warm_up: int = 20  # steps
    held_out: float = 0.1  # share of the examples that validate
    most_held_out: int = 200
    seed: int = 1
    temperature: float = 0.05  # of the contrast

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a JSON object."""
        return asdict(self)


class Validation(NamedTuple):
    """A validation in the course of a training: after which step, the mean loss of the steps since the one before, and
    how well positives rank."""

    step: int
    loss: float
    value: float


class TrainingReport(NamedTuple):
    """The result of a training: steps, the validation before and at its best, whether it stopped early, and all
    validations."""

    steps: int
    before: float
    best: float
    stopped_early: bool
    resumed_at: int
    course: tuple[Validation, ...] = ()


POOLINGS = ("mean", "cls")
VALIDATION_BATCH = 50


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
        own = {"max_seq_length": self._settings.length, "do_lower_case": False}
        configured = {"modules.json": modules, "1_Pooling/config.json": pooling, "sentence_bert_config.json": own}
        for name, content in configured.items():
            (path / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")


class CrossEncoderTrainee:
    """A cross-encoder: the positive of a query should score higher than its negatives, and others of the batch."""

    def __init__(self, directory: ModelDirectory, settings: TrainingSettings) -> None:
        self.directory = directory
        self._settings = settings
        self._tokenizer, self.model = load_transformer(
            directory, "AutoModelForSequenceClassification", num_labels=1, new_head=True
        )

    def _logits(self, first: Sequence[str], second: Sequence[str]) -> Any:
        options = {"padding": True, "truncation": True, "max_length": self._settings.length, "return_tensors": "pt"}
        return self.model(**self._tokenizer(list(first), list(second), **options)).logits[:, 0]

    def loss(self, batch: Sequence[TrainingExample]) -> Any:
        """Return the binary cross-entropy over positives and negatives; without a hard negative the next positive is
        one."""
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
            for part in _parts(examples):
                queries = [one.query for one in part]
                negatives = [one.negative or part[(at + 1) % len(part)].positive for at, one in enumerate(part)]
                good = self._logits(queries, [one.positive for one in part])
                wins.append((good > self._logits(queries, negatives)).float())
        return float(torch.cat(wins).mean())

    def save(self, path: Path) -> None:
        """Write the model directory."""
        self.model.save_pretrained(path)
        self._tokenizer.save_pretrained(path)


Trainee = BiEncoderTrainee | CrossEncoderTrainee


def _parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + VALIDATION_BATCH] for start in range(0, len(items), VALIDATION_BATCH)]


Architecture = Literal["BertModel", "BertForSequenceClassification"]
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LAYERS, WIDTH, HEADS, VOCABULARY = 2, 128, 2, 8_000
MOST_CHARACTERS = 1_000


def write_scratch_model(path: Path, texts: Iterable[str], architecture: Architecture, length: int, seed: int) -> None:
    """Write the directory of an untrained model."""
    torch, transformers = library("torch"), library("transformers")
    torch.manual_seed(seed)
    tokenizer = _tokenizer(texts, length)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=max(length, 64),
        num_labels=1,
    )
    getattr(transformers, architecture)(config).save_pretrained(path)
    tokenizer.save_pretrained(path)


def _tokenizer(texts: Iterable[str], length: int) -> Any:
    tokenizers, transformers = library("tokenizers"), library("transformers")
    words = _untrained(tokenizers.models.WordPiece(vocabulary(list(texts)), unk_token=SPECIAL[1]))
    words.post_processor = tokenizers.processors.BertProcessing(
        ("[SEP]", words.token_to_id("[SEP]")), ("[CLS]", words.token_to_id("[CLS]"))
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=length, **names)


def _untrained(model: Any) -> Any:
    tokenizers = library("tokenizers")
    words = tokenizers.Tokenizer(model)
    words.normalizer = tokenizers.normalizers.BertNormalizer()
    words.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return words


def vocabulary(texts: list[str]) -> dict[str, int]:
    """Return the pieces of words and their numbers.

    The library numbers single characters inside words in a random order, and breaks ties by these numbers: it gets them
    as special tokens, in a fixed order, so that the same texts give the same model. A training that was killed can
    continue only with the same vocabulary.
    """
    tokenizers = library("tokenizers")
    words = _untrained(tokenizers.models.WordPiece(unk_token=SPECIAL[1]))
    characters = sorted({character for text in texts for character in words.normalizer.normalize_str(text)})
    inside = [f"##{character}" for character in characters if not character.isspace()][:MOST_CHARACTERS]
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=VOCABULARY, special_tokens=[*SPECIAL, *inside], show_progress=False
    )
    words.train_from_iterator(texts, trainer)
    numbers = words.get_vocab(with_added_tokens=False)
    return {piece: numbers[piece] for piece in sorted(numbers, key=numbers.__getitem__)}
