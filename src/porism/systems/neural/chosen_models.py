"""The directory that a run uses for a named model, and what its record says of it: the original, or a substitute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from porism.errors import MissingModelError, PorismError
from porism.models.directory import ModelDirectory
from porism.systems.neural.named_models import NamedModel, directory_for, named_models

Role = Literal["original", "substitute"]


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model as the record of a run names it: its name, the original, the directory in its place, and how it was applied.

    `role` is "original" only where the directory has the name of the original; everything else is a substitute.
    """

    name: str
    original: str
    directory: str
    digest: str
    role: Role
    applied: str

    def note(self) -> str:
        """Return one sentence for a reader of the run."""
        if self.role == "original":
            return f"model {self.name}: {self.directory}, {self.applied}"
        return f"substitute: {self.directory} ({self.applied}) in place of {self.original}"


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A named model and the checked directory that is used for it."""

    model: NamedModel
    directory: ModelDirectory
    role: Role

    def use(self, applied: str) -> ModelUse:
        """Return the entry for the record; `applied` says as what, and with how many tokens."""
        digest = self.directory.digest
        return ModelUse(self.model.name, self.model.original, self.directory.name, digest, self.role, applied)


def chosen_model(name: str, given: Mapping[str, str]) -> ChosenModel:
    """Return the directory for a model. `name` is that of a named model, or a directory of the user's own declaration."""
    place = directory_for(name, given)
    model = named_models().get(name) or NamedModel(name, "bi-encoder", name)
    if not place:
        raise missing_model([model])
    try:
        directory = ModelDirectory.open(place)
    except PorismError as error:
        where = f"model {name}: {error.where}" if error.where else f"model {name}"
        raise PorismError(error.message, where=where, fix=error.fix) from error
    own = name not in named_models()
    return ChosenModel(model, directory, "original" if own or model.is_original(place) else "substitute")


def missing_model(models: list[NamedModel], system: str = "") -> MissingModelError:
    """Return the error for models without a directory: the originals, what to fetch, and the command with a substitute."""
    originals = "; ".join(dict.fromkeys(model.original for model in models))
    who = f"{system} needs a model" if system else "a model is needed"
    fix = "\n       ".join(model.remedy() for model in models)
    return MissingModelError(f"{who} that does not come with Porism: {originals}", fix=fix)


def model_digests(places: Mapping[str, str]) -> dict[str, str]:
    """Return the digest of each model's directory, by the name of the model."""
    return {name: ModelDirectory.open(place).digest for name, place in places.items()}
