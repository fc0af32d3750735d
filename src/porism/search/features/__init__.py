"""Features of posts for a query. Tuples FEATURES of this package's modules, and plug-ins, add features to the engine.

A feature is an object with a name, a level and two methods: `compute` returns a value for every candidate, `explain`
says what a value is made of. To add one, write a module here and give it a weight in the model (`porism model train
ranking` fits it); nothing else needs to change."""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

import numpy as np
import numpy.typing as npt

from porism.plugins import FEATURES, Plugin, working
from porism.search.features.feature import Feature


@lru_cache(1)
def all_features() -> tuple[Feature, ...]:
    """Return the features of this package and of plug-ins, in the order of their names."""
    found = {feature.name: feature for feature in own_features()}
    for added in working(FEATURES, plugin_features):
        found = {feature.name: feature for feature in added} | found
    return tuple(found[name] for name in sorted(found))


def own_features() -> list[Feature]:
    """Return the features of this package."""
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return [feature for module in modules for feature in getattr(module, "FEATURES", ())]


def plugin_features(plugin: Plugin) -> tuple[Feature, ...]:
    """Return the features of a plug-in: a feature, a tuple of features, or a module with a tuple FEATURES."""
    found = plugin.load()
    found = getattr(found, "FEATURES", found)
    features = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(one, Feature) for one in features):
        raise plugin.broken(f"{plugin.entry.value} is no Feature object, no tuple of them, and no module with FEATURES")
    return features


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
