"""Models of a run, opened once for each directory and length. Torch is imported here first, when a part needs a model."""

from __future__ import annotations

from functools import lru_cache

from porism.models.cross_encoder import CrossEncoder
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder
from porism.models.late import LateInteraction

_DEFAULT_POSITIONS, _ROBERTA_RESERVED = 512, 2
_KEPT = 4  # models that stay in memory


def fitting_length(directory: ModelDirectory, wanted: int) -> int | None:
    """Return the number of tokens to read: that of the system, or fewer where the model has fewer positions; None for the model's own."""
    if not wanted:
        return None
    most = int(directory.config.get("max_position_embeddings") or _DEFAULT_POSITIONS)
    if "roberta" in str(directory.config.get("model_type", "")):
        most -= _ROBERTA_RESERVED
    return min(wanted, most)


@lru_cache(_KEPT)
def open_bi_encoder(directory: ModelDirectory, length: int) -> BiEncoder:
    """Open a bi-encoder that reads `length` tokens of a text, 0 for its own number."""
    return BiEncoder(directory, fitting_length(directory, length))


@lru_cache(_KEPT)
def open_cross_encoder(directory: ModelDirectory, length: int) -> CrossEncoder:
    """Open a cross-encoder that reads `length` tokens of a pair."""
    return CrossEncoder(directory, fitting_length(directory, length))


@lru_cache(_KEPT)
def open_late_interaction(directory: ModelDirectory, length: int) -> LateInteraction:
    """Open a late-interaction model that reads `length` tokens of a text."""
    return LateInteraction(directory, fitting_length(directory, length))
