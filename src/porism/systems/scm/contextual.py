"""SCM with the token vectors of a transformer: the output of layer 10, averaged over all occurrences of a token in the training lines."""

from __future__ import annotations

from typing import Literal

from porism.models.token_vectors import TokenEncoder
from porism.search.retriever import Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.neural.chosen_models import chosen_model
from porism.systems.neural.opening import fitting_length
from porism.systems.scm.model import ModelOptions, open_model
from porism.systems.scm.retriever import SoftSearch, checked_model_options

LENGTH = 512  # tokens of a line


def contextual_search(
    context: SystemContext,
    token_encoder: str,
    representation: Literal["text", "text+latex"] = "text+latex",
    layer: int = 10,
    alpha: float = 0.1,
    gamma: int = 5,
    lines: int = 0,
) -> Retriever:
    """Make the search in one space whose tokens and token vectors are those of a transformer. `lines` limits the training lines that are read for
    vectors; 0 reads all."""
    chosen = chosen_model(token_encoder, context.models)
    encoder = TokenEncoder(chosen.directory, layer, fitting_length(chosen.directory, LENGTH))
    source = f"{chosen.directory.digest} {encoder.layer} {lines}"
    options = checked_model_options(ModelOptions(representation, False, alpha, gamma, 0, "", source, lines))
    use = chosen.use(f"token vectors of layer {encoder.layer}")
    return SoftSearch((open_model(context, options, encoder),), (1.0,), (), (use,))
