"""Features: one file per idea. Each module of this package with a tuple FEATURES adds its features to the engine.

A feature is an object with a name, a level and two methods: `compute` returns a value for every candidate, `explain` says what a value is
made of. To add one, write a module here and give it a weight in the model (`porism train` fits it); nothing else needs to change.
"""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

import numpy as np
import numpy.typing as npt

from porism.search.features.feature import Feature


@lru_cache(1)
def all_features() -> tuple[Feature, ...]:
    """Return the features of threads and answers that the modules of this package declare, in the order of their names."""
    found: list[Feature] = []
    for module in pkgutil.iter_modules(__path__):
        found += getattr(import_module(f"{__name__}.{module.name}"), "FEATURES", ())
    return tuple(sorted(found, key=lambda feature: feature.name))


def feature_names() -> tuple[str, ...]:
    """Return the names of all features, in the order of columns of a feature matrix."""
    return tuple(feature.name for feature in all_features())


def unit_columns() -> npt.NDArray[np.int64]:
    """Return for each column of a feature matrix the column in whose unit its values are measured."""
    names = feature_names()
    return np.array([names.index(feature.unit_of or feature.name) for feature in all_features()])


def formula_columns() -> npt.NDArray[np.bool_]:
    """Return which columns of a feature matrix compare formulas."""
    return np.array([feature.of_formulas for feature in all_features()])
