"""Parts of Approach Zero: formulas by their paths (Task 2), and answers by words and paths (Task 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from porism.corpus.content import Content
from porism.corpus.post import Formula
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.approach0.formula_index import PathIndex, index_formulas
from porism.systems.approach0.structure import StructureOptions, StructureSearch
from porism.systems.approach0.text_index import (
    ANALYSERS,
    LEAST_PROXIMITY,
    Analyser,
    DocumentFormulas,
    TextIndex,
    distinct_formulas,
    formula_instances,
    index_answers,
)
from porism.systems.arrays import Floats, first_of_each, open_arrays, save_arrays
from porism.systems.declared.context import SystemContext
from porism.systems.topic_queries import HandQueries, query_formula, topic_of, topic_text
from porism.text.words import FORMULA

CODE = ("porism.systems.approach0",)
MOST_HITS = 1000  # the engine returns no more documents
# Added to every score where no two words of the query are in the document.
NO_PROXIMITY = float(np.log(LEAST_PROXIMITY))
VISUALS, FORMULAS = "visuals.npy", "formulas"
SAME_DIGITS = 9  # weights are rounded to nine decimals, so that rounding errors do not break ties
SHORTEST_FORMULA = 2  # characters of a formula of an automatic query: single symbols are in most posts


def formulas_of(query: ReadQuery, queries: HandQueries | None) -> tuple[str, ...]:
    """Return the formulas of a query of Task 2."""
    topic = topic_of(query)
    if queries is not None and topic.id:
        return queries.of(topic.id).formulas
    formula = query_formula(query)
    return () if formula is None else (formula.latex,)


def _text_query(query: ReadQuery, queries: HandQueries | None, analyser: Analyser) -> tuple[list[str], Sequence[str]]:
    """Return words and formulas of Task 1: those of the file, or words of the title and formulas of the whole post."""
    topic = topic_of(query)
    if queries is not None and topic.id:
        hand = queries.of(topic.id)
        return [word for phrase in hand.phrases for word in analyser(phrase)], hand.formulas
    if query.topic is None:
        words = analyser(f"{query.title} {query.body}".replace(FORMULA, " "))
        return words, [one.parsed.latex for one in query.formulas]
    title, question = topic_text(topic, "title"), topic_text(topic, "question")
    found = (segment.text.strip() for text in (title, question) for segment in text.formulas)
    words = analyser(" ".join(segment.text for segment in title.segments if segment.kind == "text"))
    return words, [latex for latex in dict.fromkeys(found) if len(latex) >= SHORTEST_FORMULA]


class PathFormulas(Retriever):
    """Finds formulas by their operator trees."""

    finds = "formulas"

    def __init__(self, folder: Path, search: StructureSearch, content: Content, queries: HandQueries | None) -> None:
        self._documents = open_arrays(folder / FORMULAS, DocumentFormulas)
        self._visuals = np.load(folder / VISUALS)
        self._search, self._content, self._queries = search, content, queries

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the visual ids of the best 1000 instances, each once."""
        totals = self._totals(query)
        rows = np.flatnonzero(totals > 0)
        rows = rows[np.argsort(-totals[rows], kind="stable")][:MOST_HITS]
        kept = first_of_each(self._visuals, rows, k)
        return Ranking(self._visuals[kept], totals[kept] + NO_PROXIMITY)

    def instances(self, visual_ids: Sequence[int]) -> dict[int, Formula]:
        """Return the instance that represents each visual id: the first that was indexed."""
        rows = np.flatnonzero(np.isin(self._visuals, visual_ids))
        found, firsts = np.unique(self._visuals[rows], return_index=True)
        numbers = self._documents.ids[rows[firsts]].tolist()
        formulas = self._content.formulas_by_id(numbers)
        return {visual: formulas[number] for visual, number in zip(found.tolist(), numbers, strict=True)}

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of a visual id by the formulas of the query."""
        rows = np.flatnonzero(self._visuals == id)
        if not len(rows):
            return super().explain(query, id)
        best = int(self._documents.formulas[rows][np.argmax(self._totals(query)[rows])])
        parts = [
            Explanation(float(weight * self._search.scores(latex).score[best]), f"paths and symbols of {latex}")
            for latex, weight in self._weighted(query)
        ]
        parts.append(Explanation(NO_PROXIMITY, "proximity of words: none in a query of formulas"))
        return Explanation.total("operator-tree paths of Approach Zero", parts)

    def _totals(self, query: ReadQuery) -> Floats:
        """Return the score of every instance, without the constant of proximity."""
        totals = np.zeros(len(self._documents.ids))
        for latex, weight in self._weighted(query):
            totals += weight * self._search.scores(latex).score[self._documents.formulas]
        return totals

    def _weighted(self, query: ReadQuery) -> Iterator[tuple[str, float]]:
        formulas = formulas_of(query, self._queries)
        return zip(formulas, self._search.weights(formulas), strict=True)


class PathAnswers(Retriever):
    """Finds answers, read with their questions, by words and by the operator trees of formulas."""

    def __init__(self, folder: Path, search: StructureSearch, stemmer: str, queries: HandQueries | None) -> None:
        self._documents = open_arrays(folder / FORMULAS, DocumentFormulas)
        self._text = TextIndex.open(folder)
        self._search, self._analyser, self._queries = search, ANALYSERS[stemmer], queries

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the k best answers, at most 1000."""
        words, formulas = _text_query(query, self._queries, self._analyser)
        totals, found = self._text.scores(words)
        for latex, weight in zip(formulas, self._search.weights(formulas), strict=True):
            best = self._best(latex)
            totals += weight * best
            found |= best > 0
        totals += self._text.proximity(words)
        rows = np.flatnonzero(found)
        rows = rows[np.argsort(-totals[rows], kind="stable")][: min(max(k, 0), MOST_HITS)]
        return Ranking(self._documents.ids[rows], totals[rows])

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of an answer by words, proximity and formulas."""
        rows = np.flatnonzero(self._documents.ids == id)
        if not len(rows):
            return super().explain(query, id)
        row = int(rows[0])
        words, formulas = _text_query(query, self._queries, self._analyser)
        parts = []
        for word in words:
            documents, weights = self._text.weights(word)
            found = weights[documents == row].tolist()
            parts += [Explanation(value, f"BM25 of {word}") for value in found]
        parts.append(Explanation(float(self._text.proximity(words)[row]), "proximity of two words"))
        for latex, weight in zip(formulas, self._search.weights(formulas), strict=True):
            value = float(weight * self._best(latex)[row])
            parts += [Explanation(value, f"paths and symbols of {latex}")] if value else []
        return Explanation.total("words and operator-tree paths of Approach Zero", parts)

    def _best(self, latex: str) -> Floats:
        """Return the score of each answer's best formula: the first with most matching paths, as in the original."""
        starts, formulas = self._documents.starts, self._documents.formulas
        found = self._search.scores(latex)
        matched = found.matched[formulas]
        owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.lexsort((np.arange(len(matched)), -np.round(matched, SAME_DIGITS), owners))
        best = np.zeros(len(starts) - 1)
        documents, firsts = np.unique(owners[order], return_index=True)
        best[documents] = found.score[formulas[order[firsts]]]
        return best


def formula_search(context: SystemContext, scoring: StructureOptions) -> Retriever:
    """Make the retriever of Task 2. `weight` is that of formulas, `leading` the share of the first formula, `length`
    the weight of length, `same_symbol` the value of an equal symbol under other operators, `other_symbol` that of
    another symbol."""

    def build(folder: Path) -> None:
        instances = [(one.id, one.formula, one.visual_id) for one in formula_instances(context.content)]
        ids, formulas, visuals = np.array(instances, np.int64).reshape(-1, 3).T
        save_arrays(folder / FORMULAS, DocumentFormulas(ids, np.arange(len(ids) + 1, dtype=np.int64), formulas))
        np.save(folder / VISUALS, visuals)

    folder = context.cached("approach0-instances", "", build, CODE)
    return PathFormulas(folder, _structure(context, folder, scoring), context.content, context.queries)


def answer_search(
    context: SystemContext, stemmer: Literal["porter", "none"] = "porter", *, scoring: StructureOptions
) -> Retriever:
    """Make the retriever of Task 1; `stemmer` is that of words, the other options are those of `formula_search`."""

    def build(folder: Path) -> None:
        answers = sum(1 for _ in context.content.posts("answer"))
        with context.progress.stage("Approach Zero: answers", answers) as advance:
            documents, words = index_answers(context.content, ANALYSERS[stemmer], advance)
        save_arrays(folder / FORMULAS, documents)
        words.save(folder)

    folder = context.cached("approach0-answers", stemmer, build, CODE)
    return PathAnswers(folder, _structure(context, folder, scoring), stemmer, context.queries)


def _structure(context: SystemContext, folder: Path, options: StructureOptions) -> StructureSearch:
    """Return the scores of the collection's formulas, which occur in the documents of a folder."""

    def build(place: Path) -> None:
        with context.progress.stage(
            "Approach Zero: paths of formulas", context.content.count("expressions")
        ) as advance:
            index_formulas(distinct_formulas(context.content), advance).save(place)

    paths = PathIndex.open(context.cached("approach0-paths", "", build, CODE))
    documents = open_arrays(folder / FORMULAS, DocumentFormulas)
    occurrences = np.bincount(documents.formulas, minlength=len(paths.leaves)).astype(np.int64)
    return StructureSearch(paths, occurrences, options)
