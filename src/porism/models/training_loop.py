"""The training loop: batches in a fixed random order, validation, early stopping, and checkpoints from which a killed
training continues."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.files import already_exists, atomic_directory
from porism.hashing import combine, digest64
from porism.models.libraries import library
from porism.models.loading import computing
from porism.models.trainees import Trainee, TrainingExample, TrainingReport, TrainingSettings, Validation
from porism.progress import Progress, Silent

LEAST = 8  # examples
CLIP = 1.0  # the largest norm of a gradient


@dataclass
class _Progress:
    """Where a training is: what a checkpoint holds beside the weights."""

    key: str
    step: int = 0
    before: float = 0.0
    best: float = -1.0
    bad: int = 0
    weights: Any = None  # the best so far
    course: list[Validation] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)  # of the steps since the last validation


class Training:
    """The training of one model into a new directory. Checkpoints are beside it until it is finished."""

    def __init__(
        self, trainee: Trainee, examples: Sequence[TrainingExample], settings: TrainingSettings, out: Path
    ) -> None:
        if out.exists():
            raise already_exists(out)
        if len(examples) < LEAST:
            fact = f"there are {len(examples)} examples to train on, fewer than {LEAST}"
            raise PorismError(fact, fix="train on a collection with links or answers")
        mixed = random.Random(settings.seed).sample(list(examples), len(examples))
        number = max(2, min(settings.most_held_out, int(len(mixed) * settings.held_out)))
        self._held_out, self._training = mixed[:number], mixed[number:]
        self._trainee, self._settings, self._out = trainee, settings, out
        self._checkpoint = _checkpoint(out)
        self._per_epoch = -(-len(self._training) // settings.batch)
        self.steps = min(self._per_epoch * settings.epochs, settings.steps or sys.maxsize)
        texts = [digest64("\0".join(one)) for one in mixed]
        own = [digest64(json.dumps(settings.as_dict())), digest64(trainee.directory.digest)]
        self._state = _Progress(combine([*texts, *own]).hex())

    def run(self, progress: Progress | None = None) -> TrainingReport:
        """Train, or continue a training that was killed; write the best model."""
        torch = library("torch")
        torch.manual_seed(self._settings.seed)
        self._optimizer = torch.optim.AdamW(self._trainee.model.parameters(), lr=self._settings.learning_rate)
        resumed_at = self._resume()
        state = self._state
        if not resumed_at:
            state.before = state.best = self._validate()
            state.weights = self._copied()
        stopped = state.bad >= self._settings.patience  # killed after the last validation, before the model was written
        with (progress or Silent()).stage("training", self.steps) as advance:
            advance(state.step)
            while state.step < self.steps and not stopped:
                self._step()
                advance(1)
                if state.step % self._settings.validate_every == 0 or state.step == self.steps:
                    stopped = self._judge()
                    self._save_checkpoint()
        self._trainee.model.load_state_dict(state.weights)
        with atomic_directory(self._out) as work:
            self._trainee.save(work)
            record = {
                "start": {"name": self._trainee.directory.name, "digest": self._trainee.directory.digest},
                "examples": {"training": len(self._training), "validation": len(self._held_out)},
                "settings": self._settings.as_dict(),
                "steps": state.step,
                "before": state.before,
                "best": state.best,
                "course": [one._asdict() for one in state.course],
            }
            (work / "training.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
        self._checkpoint.unlink(missing_ok=True)
        return TrainingReport(state.step, state.before, state.best, stopped, resumed_at, tuple(state.course))

    def _step(self) -> None:
        torch = library("torch")
        settings, state = self._settings, self._state
        epoch, number = divmod(state.step, self._per_epoch)
        order = random.Random(settings.seed * 1_000 + epoch).sample(self._training, len(self._training))
        batch = order[number * settings.batch : (number + 1) * settings.batch]
        left = 1 - state.step / self.steps
        for group in self._optimizer.param_groups:
            group["lr"] = settings.learning_rate * min((state.step + 1) / settings.warm_up, left)
        self._trainee.model.train()
        with computing(self._trainee.directory):
            loss = self._trainee.loss(batch)
        if not torch.isfinite(loss):
            fix = "choose a smaller --rate; if it is the first step, copy the model to start from again"
            raise self._trainee.directory.error(f"the loss of step {state.step + 1:,} is not a number", fix)
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trainee.model.parameters(), CLIP)
        self._optimizer.step()
        state.losses.append(float(loss.detach()))
        state.step += 1

    def _validate(self) -> float:
        self._trainee.model.eval()
        with computing(self._trainee.directory):
            return self._trainee.validate(self._held_out)

    def _judge(self) -> bool:
        """Validate; keep the best weights; return whether to stop early."""
        state, value = self._state, self._validate()
        state.course.append(Validation(state.step, sum(state.losses) / len(state.losses), value))
        state.losses = []
        if value > state.best:
            state.best, state.bad, state.weights = value, 0, self._copied()
        else:
            state.bad += 1
        return state.bad >= self._settings.patience

    def _copied(self) -> Any:
        return {name: value.detach().clone() for name, value in self._trainee.model.state_dict().items()}

    def _save_checkpoint(self) -> None:
        torch, state = library("torch"), self._state
        unfinished = self._checkpoint.with_suffix(".part")
        content = {
            "key": state.key, "step": state.step, "before": state.before, "best": state.best, "bad": state.bad,
            "weights": state.weights, "model": self._trainee.model.state_dict(),
            "optimizer": self._optimizer.state_dict(), "random": torch.get_rng_state(),
            "course": [tuple(one) for one in state.course],
        }  # fmt: skip
        torch.save(content, unfinished)
        os.replace(unfinished, self._checkpoint)

    def _resume(self) -> int:
        """Continue from a checkpoint of the same training, if there is one; return its step."""
        if not self._checkpoint.is_file():
            return 0
        torch, state = library("torch"), self._state
        try:
            content = torch.load(self._checkpoint, weights_only=True)
        except Exception:  # a damaged checkpoint is no loss but time
            return 0
        if content["key"] != state.key:
            return 0
        self._trainee.model.load_state_dict(content["model"])
        self._optimizer.load_state_dict(content["optimizer"])
        torch.set_rng_state(content["random"])
        state.step, state.before, state.best = content["step"], content["before"], content["best"]
        state.bad, state.weights = content["bad"], content["weights"]
        state.course = [Validation(*one) for one in content.get("course", ())]
        return state.step


def has_checkpoint(out: Path) -> bool:
    """Return whether a training was begun that can continue."""
    return _checkpoint(out).is_file()


def _checkpoint(out: Path) -> Path:
    return out.with_name(f".{out.name}.training.pt")


def remove_checkpoint(out: Path) -> None:
    """Remove what an abandoned training has left beside a directory."""
    for path in (_checkpoint(out), _checkpoint(out).with_suffix(".part")):
        path.unlink(missing_ok=True)
    shutil.rmtree(out.with_name(f".{out.name}.scratch"), ignore_errors=True)
