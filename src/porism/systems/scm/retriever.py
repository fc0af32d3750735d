"""Parts of the SCM runs: one soft vector space for text and LaTeX, or two for text and for Tangent-L tuples whose
scores are added."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.models.tokens import TokenEncoder
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.neural.dense import fitting_length
from porism.systems.neural.named_models import ModelUse, chosen_model
from porism.systems.scm.model import ModelOptions, SoftModel, open_model, query_counts
from porism.systems.topic_queries import topic_of

Floats = npt.NDArray[np.float64]


class SoftSearch(Retriever):
    """Ranks answers by the weighted sum of their scores in soft vector spaces."""

    def __init__(
        self,
        spaces: tuple[SoftModel, ...],
        weights: tuple[float, ...],
        notes: tuple[str, ...],
        models: tuple[ModelUse, ...] = (),
    ) -> None:
        self._spaces = spaces
        self._weights = weights
        self.notes = notes
        self.models = models

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the k best answers with a score above 0; of equal scores the smaller id comes first."""
        scores = np.zeros(len(self._spaces[0].ids))
        for model, weight in zip(self._spaces, self._weights, strict=True):
            scores += weight * (model.answers @ expanded(model, query))
        rows = np.flatnonzero(scores > 0)
        order = rows[np.argsort(-scores[rows], kind="stable")][: max(k, 0)]
        return Ranking(self._spaces[0].ids[order], scores[order])

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of an answer token by token."""
        places = np.flatnonzero(self._spaces[0].ids == id)
        parts: list[Explanation] = []
        for model, weight in zip(self._spaces, self._weights, strict=True):
            vector = expanded(model, query)
            for place in places:
                row = model.answers[int(place)]
                parts += [
                    Explanation(float(weight * value * vector[code]), model.vocabulary.tokens[code])
                    for code, value in zip(row.indices, row.data, strict=True)
                    if vector[code]
                ]
        if not parts:
            return super().explain(query, id)
        parts.sort(key=lambda part: -part.value)
        return Explanation(sum(part.value for part in parts), "tokens of the answer similar to the query", tuple(parts))


def expanded(model: SoftModel, query: ReadQuery) -> Floats:
    """Return S q for the query's counts q, scaled by |q| / sqrt(q S q), which keeps the query's length."""
    found = query_counts(model, topic_of(query))
    codes = np.array(sorted(found), np.int64)
    counts = np.array([found[code] for code in codes.tolist()], np.float64)
    if not len(codes):
        return np.zeros(len(model.vocabulary.tokens))
    soft = np.asarray(
        model.similarity[codes].T @ counts
    )  # the matrix is symmetric, so the rows of the query's tokens are enough
    return np.asarray(soft * np.sqrt((counts @ counts) / (counts @ soft[codes])))


def joint_search(
    context: SystemContext,
    positional: bool = False,
    alpha: float = 0.1,
    gamma: int = 5,
    epochs: int = 0,
    tokenizer: str = "",
) -> Retriever:
    """Make the search in one space of text and LaTeX. `epochs` 0 is that of the original; `tokenizer` a directory of
    roberta-base."""
    options = checked_model_options(ModelOptions("text+latex", positional, alpha, gamma, epochs, tokenizer))
    return SoftSearch((open_model(context, options),), (1.0,), _notes(options))


def interpolated_search(
    context: SystemContext,
    positional: bool = True,
    alpha: float = 0.1,
    beta: float = 0.5,
    gamma: int = 5,
    epochs: int = 0,
    tokenizer: str = "",
) -> Retriever:
    """Make the search in two spaces: `beta` is the weight of the text's scores, the rest that of the Tangent-L tuples'
    scores."""
    if not 0 <= beta <= 1:
        raise PorismError(f"beta is {beta:g}", fix="write a number from 0 to 1")
    options = checked_model_options(ModelOptions("text", positional, alpha, gamma, epochs, tokenizer))
    tuples = replace(options, representation="tangentl", tokenizer="")
    return SoftSearch((open_model(context, options), open_model(context, tuples)), (beta, 1 - beta), _notes(options))


def checked_model_options(options: ModelOptions) -> ModelOptions:
    """Return options whose values are possible."""
    if not 0 <= options.alpha <= 1:
        raise PorismError(f"alpha is {options.alpha:g}", fix="write a number from 0 to 1")
    if options.gamma < 0 or options.epochs < 0:
        raise PorismError("gamma and epochs cannot be negative", fix="write a number from 0")
    return options


def _notes(options: ModelOptions) -> tuple[str, ...]:
    source = options.tokenizer or "trained on the collection"
    kind = "positional" if options.positional else "plain"
    return (f"byte pairs: {source}; {kind} word vectors trained on the collection",)


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
    """Make the search in one space whose tokens and token vectors are those of a transformer. `lines` limits the
    training lines that are read for vectors; 0 reads all."""
    chosen = chosen_model(token_encoder, context.models)
    encoder = TokenEncoder(chosen.directory, layer, fitting_length(chosen.directory, LENGTH))
    source = f"{chosen.directory.digest} {encoder.layer} {lines}"
    options = checked_model_options(ModelOptions(representation, False, alpha, gamma, 0, "", source, lines))
    use = chosen.use(f"token vectors of layer {encoder.layer}")
    return SoftSearch((open_model(context, options, encoder),), (1.0,), (), (use,))
