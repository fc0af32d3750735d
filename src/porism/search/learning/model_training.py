"""Train a model on a collection: from scratch, or from a given directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.files import already_exists
from porism.models.directory import ModelDirectory
from porism.models.trainees import (
    Architecture,
    BiEncoderTrainee,
    CrossEncoderTrainee,
    Trainee,
    TrainingReport,
    TrainingSettings,
    write_scratch_model,
)
from porism.models.training_loop import Training, has_checkpoint, remove_checkpoint
from porism.progress import Progress
from porism.search.learning.model_pairs import CollectionPairs, collection_pairs

TrainedKind = Literal["encoder", "cross-encoder"]
ARCHITECTURES: dict[TrainedKind, Architecture] = {
    "encoder": "BertModel",
    "cross-encoder": "BertForSequenceClassification",
}
TRAINEES: dict[TrainedKind, Callable[[ModelDirectory, TrainingSettings], Trainee]] = {
    "encoder": BiEncoderTrainee,
    "cross-encoder": CrossEncoderTrainee,
}
SCRATCH_RATE = 5e-4  # untrained weights need larger steps than trained ones


class TrainedModel(NamedTuple):
    """A trained model: how many examples there were, and how the training went."""

    pairs: CollectionPairs
    report: TrainingReport


def train_model(
    content: Content,
    out: Path,
    kind: TrainedKind,
    settings: TrainingSettings,
    *,
    start: str | Path | None = None,
    exclude: frozenset[int] = frozenset(),
    progress: Progress | None = None,
) -> TrainedModel:
    """Train a model on a collection into a new directory; a training that was killed continues."""
    if out.exists():
        raise already_exists(out)
    pairs = collection_pairs(content, exclude=exclude, links=kind == "encoder", seed=settings.seed)
    try:
        directory = ModelDirectory.open(start) if start else _scratch(out, kind, pairs, settings)
        directory.require("bi-encoder", "sparse", *(("cross-encoder",) if kind == "cross-encoder" else ()))
        report = Training(TRAINEES[kind](directory, settings), pairs.examples, settings, out).run(progress)
    except PorismError:  # a wrong model, too few examples, a full disk
        if not has_checkpoint(out):
            remove_checkpoint(out)
        raise
    remove_checkpoint(out)
    return TrainedModel(pairs, report)


def _scratch(out: Path, kind: TrainedKind, pairs: CollectionPairs, settings: TrainingSettings) -> ModelDirectory:
    """Return the untrained model of a collection; the same collection and seed give the same one."""
    place = out.with_name(f".{out.name}.scratch")
    shutil.rmtree(place, ignore_errors=True)
    texts = (text for example in pairs.examples for text in (example.query, example.positive))
    write_scratch_model(place, texts, ARCHITECTURES[kind], settings.length, settings.seed)
    return ModelDirectory.open(place)
