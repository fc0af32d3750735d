"""The system named `porism`: candidates from four searches, re-ranked by features. Its parts are open to every other system."""

from __future__ import annotations

from dataclasses import dataclass

from porism.search.answers.candidates import ThreadCandidates
from porism.search.answers.context import Contexts
from porism.search.answers.model import Model, load_model
from porism.search.answers.reranker import FeatureReranker
from porism.search.features.feature import Kind
from porism.search.formulas.retriever import FormulaRetriever
from porism.search.index import Index
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever

RUN_DEPTH = 1_000  # threads that are ranked for a run, which has up to 1,000 answers a topic; pages show the first few


@dataclass(frozen=True, repr=False)
class DefaultRetriever(Retriever):
    """Candidates re-ranked by features. Threads pass between the two by their numbers, which no other retriever knows."""

    candidates: ThreadCandidates
    reranker: FeatureReranker

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers or questions."""
        threads = self.reranker.choose(self.candidates.find(query, self.reranker.depth))
        return self.reranker.score(query, threads).ranking(self.reranker.kind).top(k)

    def __repr__(self) -> str:
        return f"{self.candidates} >> {self.reranker}"


def porism(index: Index, kind: Kind = "answers", model: Model | None = None) -> Retriever:
    """Return the default engine as a retriever of answers or questions."""
    contexts = Contexts(index)
    fitted = (model or load_model()).adapted(index.adaptation)
    return DefaultRetriever(ThreadCandidates(contexts), FeatureReranker(contexts, fitted, kind, RUN_DEPTH))


def porism_formulas(index: Index) -> Retriever:
    """Return the default engine as a retriever of formulas."""
    return FormulaRetriever(index.formulas)
