"""The linear model that turns features into one score: a weight for each feature, in units of the feature's spread."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.files import atomic_file
from porism.plugins import FEATURES, or_repair
from porism.search.features import feature_names, plugin_features
from porism.search.index import Adaptation
from porism.search.query import KINDS, Kind

SHIPPED = "model.toml"


@dataclass(frozen=True, slots=True)
class Model:
    """Weights by kind of post and feature; a feature without a weight has weight 0."""

    weights: Mapping[str, Mapping[str, float]]

    def adapted(self, adaptation: Adaptation) -> Model:
        """Return the model with the weights of questions as a collection chose them."""
        return Model({**self.weights, "questions": adaptation.adapted(self.weights["questions"])})

    def vector(self, kind: Kind) -> npt.NDArray[np.float32]:
        """Return the weights in the order of `feature_names()`."""
        named = self.weights[kind]
        return np.array([named.get(name, 0.0) for name in feature_names()], np.float32)


def load_model(path: Path | None = None) -> Model:
    """Read a model from a file, or the one that comes with Porism."""
    where, fix = "the shipped model" if path is None else str(path), "make one: porism model train ranking"
    try:
        file = files("porism.search.answers").joinpath(SHIPPED) if path is None else path
        raw = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise PorismError(f"cannot be read as a model: {error}", where=where, fix=fix) from None
    if not all(isinstance(table, dict) and all(map(_is_weight, table.values())) for table in raw.values()):
        raise PorismError("not a table of weights", where=where, fix=fix)
    names = frozenset(f"{kind}.{name}" for kind in KINDS for name in feature_names())
    unknown = [found for kind in raw for name in raw[kind] if (found := f"{kind}.{name}") not in names]
    fix = "make a new one: porism model train ranking"
    if unknown:
        fact = f"names unknown features: {', '.join(unknown[:20])}"
        raise PorismError(fact, where=where, fix=fix + or_repair(FEATURES, plugin_features))
    if set(KINDS) - set(raw):
        raise PorismError("has no table for answers or questions", where=where, fix=fix)
    return Model(raw)


def _is_weight(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def save_model(model: Model, path: Path, remark: str) -> None:
    """Write a model as a readable table; weights of 0 are left out."""
    with atomic_file(path) as out:
        out.write("".join(f"# {line}\n" for line in remark.splitlines()))
        for kind in KINDS:
            out.write(f"\n[{kind}]\n")
            for name in feature_names():
                if (weight := round(model.weights[kind].get(name, 0.0), 3)) > 0:
                    out.write(f'"{name}" = {weight}\n')
