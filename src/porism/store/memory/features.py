"""The features of the expressions of a collection, computed once each."""

from __future__ import annotations

from porism.analysis.features import Features, features
from porism.analysis.terms import feature_terms
from porism.corpus.content import Content
from porism.formula.binary import unpack


class ExpressionFeatures:
    """Features and terms of all expressions by id."""

    def __init__(self, content: Content) -> None:
        self.expressions = {one.id: one for one in content.expressions()}
        self.features: dict[int, Features] = {
            number: features(*unpack(one.trees)) for number, one in self.expressions.items()
        }
        self.terms: dict[int, dict[str, list[str]]] = {
            number: feature_terms(found) for number, found in self.features.items()
        }
