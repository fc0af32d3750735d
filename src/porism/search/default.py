"""The default engine as parts of a pipeline: candidates from five searches, re-ranked by features. `systems.toml`
declares it as the system `porism`; its parts are open to every other system."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from porism.search.answers.reranker import FeatureReranker, Model, load_model
from porism.search.formulas.searcher import FormulaRetriever, Mode
from porism.search.index import Index
from porism.search.query import Kind
from porism.search.retrieval.candidates import ThreadCandidates
from porism.search.retrieval.context import Contexts
from porism.search.retriever import Pipeline
from porism.store.weighting import BM25, BM25Plus, TfIdf, TfIdfWeighting

WEIGHTINGS: dict[str, TfIdfWeighting] = {"BM25": BM25(), "BM25+": BM25Plus(), "TF-IDF": TfIdf()}
RUN_DEPTH = 1_000  # threads that are ranked for a run, which has up to 1,000 answers a topic; pages show the first few


class PartContext(Protocol):
    """What the factories read of the context of a system."""

    @property
    def index(self) -> Index:
        """The opened index."""

    @property
    def kind(self) -> Kind:
        """What is searched."""


def thread_candidates(
    context: PartContext, weighting: Literal["BM25", "BM25+", "TF-IDF"] = "BM25", encoded: bool = False
) -> ThreadCandidates:
    """Threads of five searches, fused by reciprocal ranks. `encoded` adds vectors of posts as a source."""
    return ThreadCandidates(Contexts(context.index, WEIGHTINGS[weighting]), encoded=encoded)


def feature_reranker(
    context: PartContext, find: Literal["", "answers", "questions"] = "", model: str = "", ranked: int = RUN_DEPTH
) -> FeatureReranker:
    """Answers, or questions, of threads by the weighted sum of features. `find` is by default what the topics ask for;
    `model` is a file of `porism model train ranking`; `ranked` the number of threads."""
    fitted = load_model(Path(model) if model else None).adapted(context.index.adaptation)
    return FeatureReranker(context.index, fitted, find or context.kind, ranked)


def formula_search(context: PartContext, mode: Mode = "similar") -> FormulaRetriever:
    """Distinct formulas for the first formula of the query."""
    return FormulaRetriever(context.index.formulas, mode)


def porism(index: Index, kind: Kind = "answers", model: Model | None = None) -> Pipeline:
    """Return the default engine as a retriever of answers or questions."""
    fitted = (model or load_model()).adapted(index.adaptation)
    return ThreadCandidates(Contexts(index)) >> FeatureReranker(index, fitted, kind, RUN_DEPTH)


def porism_formulas(index: Index) -> FormulaRetriever:
    """Return the default engine as a retriever of formulas."""
    return FormulaRetriever(index.formulas)
