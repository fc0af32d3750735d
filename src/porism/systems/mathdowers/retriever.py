"""Parts of the MathDowers runs: search over thread pages (Task 1) and over formulas by visual id (Task 2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from porism.corpus.content import Content
from porism.corpus.post import Formula
from porism.errors import PorismError
from porism.progress import Progress
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.lexical.inverted import Document, InvertedIndex, invert
from porism.systems.mathdowers.documents import ThreadDocuments, formula_documents
from porism.systems.mathdowers.keywords import PUBLISHED, WordLists, collection_lists, read_lists
from porism.systems.mathdowers.queries import formula_query_tokens, query_tokens
from porism.systems.mathdowers.ranking import WeightedBM25
from porism.systems.mathdowers.tuples import L1_SEARCH, L8_SEARCH, TupleRules
from porism.systems.mathdowers.words import engine_tokens
from porism.systems.queries.topic_query import query_formula, topic_of

LISTS_VARIABLE = "PORISM_MATHDOWERS_LISTS"
TEST_DATA_LISTS = "data/fidelity/mathdowers-lists"
CODE = ("porism.systems.mathdowers", "porism.systems.lexical.inverted")
_RULES: dict[str, TupleRules] = {"L8": L8_SEARCH, "L1": L1_SEARCH}
_FORMULAS = "formulas.npy"


class _TokenRetriever(Retriever):
    """Ranks documents by the tokens of a query. Subclasses make the tokens."""

    def __init__(self, index: InvertedIndex, alpha: float) -> None:
        self._ranking = WeightedBM25(index, alpha)

    def tokens(self, query: ReadQuery) -> list[str]:
        """Return the tokens of a query."""
        raise NotImplementedError

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the k best documents."""
        return self._ranking.search(self.tokens(query), k)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of a document token by token."""
        return self._ranking.explain(self.tokens(query), id) or super().explain(query, id)


class ThreadSearch(_TokenRetriever):
    """Finds answers by the page of their thread."""

    def __init__(self, index: InvertedIndex, alpha: float, rules: TupleRules, lists: WordLists) -> None:
        super().__init__(index, alpha)
        self._rules = rules
        self._lists = lists
        self.notes = (f"words of queries were chosen with {lists.source}",)

    def tokens(self, query: ReadQuery) -> list[str]:
        """Return the tuples and stemmed words of a topic."""
        return engine_tokens(" ".join(query_tokens(topic_of(query), self._lists, self._rules)))


class FormulaSearch(_TokenRetriever):
    """Finds visual ids by their tuples and, on request, the words of their LaTeX."""

    finds = "formulas"

    def __init__(self, folder: Path, content: Content, alpha: float, with_latex: bool) -> None:
        index = InvertedIndex.open(folder)
        super().__init__(index, alpha)
        self._content = content
        self._formulas = dict(zip(index.ids.tolist(), np.load(folder / _FORMULAS).tolist(), strict=True))
        self._with_latex = with_latex

    def tokens(self, query: ReadQuery) -> list[str]:
        """Return the tokens of the formula that a query is about."""
        formula = query_formula(query)
        return [] if formula is None else engine_tokens(" ".join(formula_query_tokens(formula, self._with_latex)))

    def instances(self, visual_ids: Sequence[int]) -> dict[int, Formula]:
        """Return the formula that was indexed for each visual id."""
        numbers = {visual: self._formulas[visual] for visual in visual_ids if visual in self._formulas}
        formulas = self._content.formulas_by_id(list(numbers.values()))
        return {visual: formulas[number] for visual, number in numbers.items()}


def thread_search(
    context: SystemContext, alpha: float = 0.18, tuples: Literal["L8", "L1"] = "L8", lists: str = ""
) -> Retriever:
    """Make the retriever of the Task 1 runs. `alpha` is the weight of math, `tuples` those of the query, `lists` the folder of word lists."""
    if not 0 <= alpha <= 1:
        raise PorismError(f"alpha is {alpha:g}", fix="write a number from 0 to 1")
    if tuples not in _RULES:
        raise PorismError(f"tuples are {tuples}", fix=f"write {' or '.join(_RULES)}")
    build = partial(_build_threads, context.content, context.progress)
    index = InvertedIndex.open(context.cached("mathdowers-threads", "L8", build, CODE))
    return ThreadSearch(index, alpha, _RULES[tuples], _word_lists(context, lists))


def formula_search(context: SystemContext, alpha: float = 0.18, latex: bool = False) -> Retriever:
    """Make the retriever of the Task 2 runs. With `latex`, words of the LaTeX count as words, with weight 1 - `alpha`."""
    if not 0 <= alpha <= 1:
        raise PorismError(f"alpha is {alpha:g}", fix="write a number from 0 to 1")
    build = partial(_build_formulas, context.content, context.progress, latex)
    folder = context.cached("mathdowers-formulas", latex, build, CODE)
    return FormulaSearch(folder, context.content, alpha, latex)


def _build_threads(content: Content, progress: Progress, folder: Path) -> None:
    answers = sum(1 for _ in content.posts("answer"))
    with progress.stage("MathDowers: pages of threads", answers) as advance:
        invert(_counted(ThreadDocuments(content), advance)).save(folder)


def _build_formulas(content: Content, progress: Progress, latex: bool, folder: Path) -> None:
    numbers: list[int] = []

    with progress.stage("MathDowers: formulas", content.count("visuals")) as advance:

        def documents() -> Iterator[Document]:
            for document, formula in formula_documents(content, latex):
                numbers.append(formula.id)
                advance(1)
                yield document

        invert(documents()).save(folder)
    np.save(folder / _FORMULAS, np.array(numbers, np.int64))


def _counted(documents: Iterable[Document], advance: Callable[[int], None]) -> Iterator[Document]:
    for document in documents:
        advance(1)
        yield document


def _lists_of_test_data() -> str:
    """Return the folder of the lists beside the test data, by which the fidelity of the runs is measured; empty where it is absent."""
    folder = Path(os.environ.get("PORISM_SHARED", "../shared")) / TEST_DATA_LISTS
    return str(folder) if folder.is_dir() else ""


def _word_lists(context: SystemContext, folder: str) -> WordLists:
    """Read the lists that the option or the environment names; without them make lists from the collection."""
    named = folder or os.environ.get(LISTS_VARIABLE, "") or _lists_of_test_data()
    if not named:
        return collection_lists(context)
    if not Path(named).is_dir():
        raise PorismError(
            "the folder of word lists does not exist",
            where=named,
            fix=f"name the folder of the lists; published at {PUBLISHED}",
        )
    return read_lists(Path(named))
