"""Features of the formulas of queries, computed once for all parts of a search and kept for the next page."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from cachetools import LRUCache

from porism.analysis.features import Features, features_of_many
from porism.formula import Parsed

FORMULAS_KEPT = 1024

_kept: LRUCache[Parsed, Features] = LRUCache(FORMULAS_KEPT)
_lock = Lock()


def query_features(formulas: Sequence[Parsed]) -> list[Features]:
    """Return the features of formulas; those that are not known yet are computed together."""
    with _lock:
        known = {formula: _kept.get(formula) for formula in formulas}
    missing = [formula for formula, found in known.items() if found is None]
    computed = (
        dict(zip(missing, features_of_many([(one.layout, one.operators) for one in missing]), strict=True))
        if missing
        else {}
    )
    with _lock:
        for formula, found in computed.items():
            _kept[formula] = found
    return [computed.get(formula) or _found(known[formula]) for formula in formulas]


def _found(features: Features | None) -> Features:
    assert features is not None
    return features
