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
    where = "the shipped model" if path is None else str(path)
    try:
        text = (
            files("porism.search.answers").joinpath(SHIPPED).read_text("utf-8")
            if path is None
            else path.read_text("utf-8")
        )
        raw = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise PorismError(
            f"cannot be read as a model: {error}", where=where, fix="make one: porism model train ranking"
        ) from None
    if not all(isinstance(table, dict) and all(_is_weight(one) for one in table.values()) for table in raw.values()):
        raise PorismError("not a table of weights", where=where, fix="make one: porism model train ranking")
    unknown = [
        f"{kind}.{name}" for kind in raw for name in raw[kind] if kind not in KINDS or name not in feature_names()
    ]
    if unknown or set(KINDS) - set(raw):
        fact = (
            f"names unknown features: {', '.join(unknown[:20])}" if unknown else "has no table for answers or questions"
        )
        repair = or_repair(FEATURES, plugin_features) if unknown else ""
        raise PorismError(fact, where=where, fix=f"make a new one: porism model train ranking{repair}")
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
