"""What a training reads and reports: examples, settings, results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class TrainingExample(NamedTuple):
    """A query, a text that answers it, and a text that is similar but does not (empty if none is known)."""

    query: str
    positive: str
    negative: str = ""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a model is trained. Training stops after `epochs`, after `steps` unless 0, or when `patience` validations in a row bring nothing better."""

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
    """A validation in the course of a training: after which step, the mean loss of the steps since the one before, and how well positives rank."""

    step: int
    loss: float
    value: float


class TrainingReport(NamedTuple):
    """The result of a training: steps, the validation before and at its best, whether it stopped early, and all validations."""

    steps: int
    before: float
    best: float
    stopped_early: bool
    resumed_at: int
    course: tuple[Validation, ...] = ()
