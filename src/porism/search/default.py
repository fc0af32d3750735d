"""The system named `porism`: candidates from four searches, re-ranked by features. Its parts are open to every other system."""

from __future__ import annotations

from porism.search.answers.candidates import ThreadCandidates
from porism.search.answers.context import Contexts
from porism.search.answers.model import Model, load_model
from porism.search.answers.reranker import FeatureReranker
from porism.search.features.feature import Kind
from porism.search.formulas.retriever import FormulaRetriever
from porism.search.index import Index
from porism.search.retriever import Retriever

RUN_DEPTH = 1_000  # threads that are ranked for a run, which has up to 1,000 answers a topic; pages show the first few


def porism(index: Index, kind: Kind = "answers", model: Model | None = None) -> Retriever:
    """Return the default engine as a retriever of answers or questions."""
    contexts = Contexts(index)
    return ThreadCandidates(contexts) >> FeatureReranker(
        contexts, (model or load_model()).adapted(index.adaptation), kind, RUN_DEPTH
    )


def porism_formulas(index: Index) -> Retriever:
    """Return the default engine as a retriever of formulas."""
    return FormulaRetriever(index.formulas)
