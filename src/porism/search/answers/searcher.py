"""Answers and questions for a query: candidate threads from the postings, then many views of each as features of one linear model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from porism.index.analysis.terms import FAMILIES, code
from porism.index.postings import Term
from porism.index.storage.rows import Values
from porism.index.threads.posts import Posts
from porism.index.vectors.lsa import FAMILIES as VECTOR_FAMILIES
from porism.index.vectors.lsa import Vectors
from porism.search.answers.alike import Alike, AlikeSearcher, alike_scores
from porism.search.answers.asked import Asked, ask
from porism.search.answers.concepts import CONCEPT_FAMILIES, Concepts, Meeting
from porism.search.answers.feedback import FEEDBACK_FAMILIES, expand
from porism.search.answers.scoring import idf, score_rows
from porism.search.fusion import unite
from porism.search.query import ReadQuery

Numbers = npt.NDArray[np.int64]
# Which families are searched together for candidates, and how many of their strongest terms.
SEARCHES = (("words", "pairs"), ("tuples", "paths"), ("parts",))
STRONGEST = 60
POOL = 1000  # threads of each search
DEEPER = 8  # times as many are looked at when a filter left too few of them

THREAD = tuple(f"thread.{family}" for family in FAMILIES)
TITLE = tuple(f"title.{family}" for family in FAMILIES)
LINKS = tuple(f"links.{family}" for family in FAMILIES)
ANSWER = tuple(f"answer.{family}" for family in FAMILIES)
VECTORS = tuple(f"vectors.{family}" for family in VECTOR_FAMILIES)
FEEDBACK = tuple(f"feedback.{family}" for family in FEEDBACK_FAMILIES)
CONCEPTS = tuple(f"concepts.{family}" for family in CONCEPT_FAMILIES)
ALIKE = ("alike.thread", "alike.answer")
FEATURES = (*THREAD, *TITLE, *LINKS, *ANSWER, *ALIKE, "tags", *VECTORS, *CONCEPTS, *FEEDBACK)
BY_ANSWER = frozenset((*ANSWER, ALIKE[1]))


@dataclass(frozen=True, slots=True)
class Table:
    """Candidate threads, and one column for each feature of FEATURES; `answers` and `own` say the same of their answers."""

    threads: Numbers
    answers: Numbers
    thread_of: Numbers  # for each answer the place of its thread among `threads`
    values: dict[str, Values]  # by thread, but for BY_ANSWER

    def rows(self, kind: str) -> Numbers:
        """The posts of the kind."""
        return self.threads if kind == "questions" else self.answers

    def matrix(self, kind: str) -> npt.NDArray[np.float32]:
        """One row a post of the kind, one column a feature."""
        if kind == "questions":
            zero = np.zeros(len(self.threads), np.float32)
            return np.stack([zero if name in BY_ANSWER else self.values[name] for name in FEATURES], 1)
        columns = [self.values[name] if name in BY_ANSWER else self.values[name][self.thread_of] for name in FEATURES]
        return np.stack(columns, 1)


@dataclass(frozen=True, slots=True)
class Study:
    """All that was found out for a query: what it asks, what goes with it, what was learned from the best, and the table."""

    query: ReadQuery
    asked: dict[str, Asked]
    meetings: list[Meeting]
    related: dict[str, Asked]
    alike: tuple[Alike, ...]
    learned: dict[str, Asked]
    used: frozenset[str]  # the features that are computed
    table: Table


NONE: Numbers = np.empty(0, np.int64)
NO_TABLE = Table(NONE, NONE, NONE, {})


class AnswerSearcher:
    """Searches the posts of an index."""

    def __init__(self, posts: Posts, alike: AlikeSearcher, *, vectors: bool = True) -> None:
        self.posts = posts
        self.alike = alike
        self.concepts = Concepts(posts)
        self.vectors = {family: Vectors(posts.directory, family) for family in VECTOR_FAMILIES if vectors}
        self._tag_codes = np.array(posts.tags.codes)
        self._tag_threads = np.repeat(np.arange(len(posts.tags)), np.diff(posts.tags.starts))

    def ids(self, kind: str) -> Numbers:
        """The ids of all posts of a kind, by row."""
        ids: Numbers = self.posts.question_ids if kind == "questions" else self.posts.answer_ids
        return ids

    def candidates(self, asked: Sequence[Mapping[str, Asked]], allowed: npt.NDArray[np.bool_] | None = None) -> Numbers:
        """Threads worth a closer look: the best of several different searches, united; only those allowed, where that is said."""
        searches: list[tuple[Mapping[str, Asked], tuple[str, ...]]] = [(asked[0], families) for families in SEARCHES]
        searches += [(more, tuple(more)) for more in asked[1:]]
        found = []
        for terms, families in searches:
            wanted = [term for family in families for term in strongest(family, terms[family])]
            found.append(self._best_threads(wanted, allowed))
        return unite(found)

    def _best_threads(self, terms: list[Term], allowed: npt.NDArray[np.bool_] | None) -> Numbers:
        """The best threads of one search; where only some are allowed, it goes deeper until there are enough of them."""
        depth = POOL
        while True:
            found = self.posts.postings.search(terms, depth).keys
            kept = found if allowed is None else found[allowed[found]]
            if len(kept) >= POOL or len(found) < depth:
                return kept[:POOL]
            depth *= DEEPER

    def study(self, query: ReadQuery, weights: npt.NDArray[np.float32], *, every: bool = False) -> Study:
        """The features of all candidates that have a weight (in the order of FEATURES), or every feature."""
        asked = ask(query, self.posts)
        meetings = self.concepts.meet(query)
        related = self.concepts.ask(meetings)
        used = frozenset(name for name, weight in zip(FEATURES, weights.tolist(), strict=True) if every or weight > 0)
        used = used if self.vectors else used.difference(VECTORS)
        alike = () if used.isdisjoint(ALIKE) else self.alike.find(query)
        known = Study(query, asked, meetings, related, alike, {}, used, NO_TABLE)
        table = self.table(known, self.candidates((asked, related)))
        if used.isdisjoint(FEEDBACK):
            return replace(known, table=table)
        known = replace(known, learned=expand(self._best(table, weights), self.posts))
        self._add_feedback(known, table)
        return replace(known, table=table)

    def table(self, study: Study, threads: Numbers) -> Table:
        """The features of these threads and of their answers, by what a study found out."""
        answers, thread_of = self._answers(threads)
        table = Table(threads, answers, thread_of, {})
        for name in FEATURES:
            size = len(answers) if name in BY_ANSWER else len(threads)
            table.values[name] = np.zeros(size, np.float32)
        for name in sorted(study.used.difference(FEEDBACK, ALIKE)):
            table.values[name] = self._feature(name, study, table)
        ids = self.posts.question_ids[threads], self.posts.answer_ids[answers]
        table.values.update(zip(ALIKE, alike_scores(study.alike, *ids), strict=True))
        self._add_feedback(study, table)
        return table

    def _add_feedback(self, study: Study, table: Table) -> None:
        for family, terms in study.learned.items():
            rows = self.posts.rows["thread", family]
            table.values[f"feedback.{family}"] = score_rows(rows, table.threads, terms.codes, terms.power)

    def _feature(self, name: str, study: Study, table: Table) -> Values:
        """One column of the table."""
        if name == "tags":
            return self.tag_scores(study.query.tags, table.threads)
        view, family = name.split(".")
        asked = study.asked[family]
        if view == "vectors":
            vectors = self.vectors[family]
            return vectors.cosines(vectors.query(asked.codes, asked.weights), table.threads)
        terms = study.related[family] if view == "concepts" else asked
        rows = self.posts.rows["thread" if view == "concepts" else view, family]
        return score_rows(rows, table.answers if view == "answer" else table.threads, terms.codes, terms.power)

    def _best(self, table: Table, weights: npt.NDArray[np.float32]) -> Numbers:
        """The candidates, best first by what is known before feedback."""
        matrix = table.matrix("questions")
        scores = matrix @ (weights / scales(matrix, len(self.posts.question_ids)))
        return table.threads[np.argsort(-scores, kind="stable")]

    def _answers(self, threads: Numbers) -> tuple[Numbers, Numbers]:
        """The answers of threads, and for each the place of its thread."""
        sizes = self.posts.answers_of[threads]
        thread_of = np.repeat(np.arange(len(threads)), sizes)
        within = np.arange(len(thread_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.posts.first_answer[threads][thread_of] + within, thread_of

    def tag_scores(self, tags: tuple[str, ...], threads: Numbers) -> Values:
        """What the tags that a query and a thread share are worth."""
        total = np.zeros(len(self.posts.tags), np.float32)
        for tag in sorted(set(tags)):  # sums of floats depend on the order
            holders = self._tag_threads[self._tag_codes == code(tag)]
            total[holders] += idf(len(total), np.array([len(holders)], np.float64))[0]
        return total[threads]


def strongest(family: str, asked: Asked) -> list[Term]:
    """The terms of a family that find the most."""
    power = asked.power
    best = np.argsort(-power, kind="stable")[:STRONGEST]
    return [
        Term(family, f"{number:x}", float(weight))
        for number, weight in zip(asked.codes[best].tolist(), asked.weights[best].tolist(), strict=True)
    ]


def scales(matrix: npt.NDArray[np.float32], posts: int) -> npt.NDArray[np.float32]:
    """How far each feature spreads among all posts, those that are no candidates having none of it (1 where it does not)."""
    number = max(1, posts, len(matrix))
    mean = matrix.sum(0, np.float64) / number
    square = (matrix.astype(np.float64) ** 2).sum(0) / number
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return np.where(deviation > 1e-9, deviation, 1.0).astype(np.float32)
