"""Similarity of the query to a thread as a whole: of their vectors, those that latent semantic analysis learned from
the collection and those of the encoder of the index (without such vectors every value is 0); and of their formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FIELDS, FORMULA_FAMILIES, VISUAL_FAMILY
from porism.analysis.terms import EncodedField
from porism.compiled import compiled
from porism.search.features.feature import Feature, Level, RankingSoFar
from porism.search.formulas.overlap import THREADS_COMPARED, SimilarFormulas, compare_formulas, has_compared_formulas
from porism.search.query import KINDS, Kind
from porism.search.retrieval.context import BestSimilarities, CandidateBatch, QueryContext, Values
from porism.search.retrieval.query_terms import SLOTS, make_lookup, span_positions
from porism.store.records import TermRows, Threads

F = TypeVar("F", bound=np.floating)
POWER = 4


class VectorSimilarity(Feature):
    """The cosine of the query's and the thread's vector in one family."""

    def __init__(self, family: str, text: str) -> None:
        self.name = f"vectors.{family}"
        self.text = text
        self.vectors = (family,)
        # Vectors of formulas did not help to find questions that they were not fitted on (docs/results).
        self.fitted_for = KINDS if family == "words" else ("answers",)
        self.of_formulas = family in FORMULA_FAMILIES
        self._family = family

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread."""
        if self._family not in batch.documents.vectors:
            return np.zeros(batch.thread_count, np.float32)
        return np.asarray(batch.documents.vectors[self._family] @ batch.context.query_vector(self._family), np.float32)


def same_question(cosines: npt.NDArray[F]) -> npt.NDArray[F]:
    """Return a high power of the cosines of a query and questions: large only if they ask nearly the same."""
    power: npt.NDArray[F] = np.maximum(cosines, 0.0) ** POWER
    return power


class EncoderSimilarity(Feature):
    """The cosine of the query's vector and that of the title, the question or the answer; negative ones count as 0."""

    # Which threads have their formulas compared does not depend on the encoder: it only adds to the score.
    stage: ClassVar[int] = 1
    fitted_for: tuple[Kind, ...] = ("questions",)

    def __init__(self, field: EncodedField, level: Level, text: str) -> None:
        self.name = f"encoder.{field}"
        self.level: Level = level
        self.text = text
        self.vectors = (field,)
        self._field = field

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the cosine for each thread or answer."""
        vectors, query = batch.documents.vectors.get(self._field), batch.context.encoded_query
        if vectors is None or query is None:
            return np.zeros(len(batch.ids("answers" if self.level == "answer" else "questions")), np.float32)
        return np.asarray(np.maximum(vectors @ query, 0.0), np.float32)

    def describe(self, batch: CandidateBatch) -> str:
        """Return the feature in words, with the encoder's name."""
        encoder = batch.context.index.snapshot.learned.encoder
        return f"{self.text} ({encoder.name})" if encoder else self.text


class SameQuestion(EncoderSimilarity):
    """A high power of the cosine of the query's vector and that of the question.

    Answers gain by it on topics that were not fitted, and less by the cosine itself, by titles or by answers
    (docs/results/models.md)."""

    fitted_for: tuple[Kind, ...] = ("answers",)

    def __init__(self) -> None:
        super().__init__("questions", "thread", "a question of similar meaning")
        self.name = "encoder.same_question"

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the power for each thread."""
        return same_question(super().compute(batch))


SIMILAR = "similar formulas"
COMPARED_FIELDS = np.isin(FIELDS, ("title", "question", "answer"))  # comments quote the formulas of the post


@compiled
def _best(
    starts: Any, ends: Any, keys: Any, fields: Any, slots: Any, slot_keys: Any, slot_places: Any, values: Any,
    compared: Any, out: Any,
) -> None:  # fmt: skip
    """Fill `out` with the largest value among the formulas of each post."""
    for post in range(len(starts)):
        for at in range(starts[post], ends[post]):
            if not compared[fields[at]]:
                continue
            slot = keys[at] & (SLOTS - 1)
            for spot in range(slots[slot], slots[slot + 1]):
                if slot_keys[spot] == keys[at]:
                    out[post] = max(out[post], values[slot_places[spot]])


def best_similarity(rows: TermRows, found: SimilarFormulas) -> npt.NDArray[np.float64]:
    """Return for each post of a batch the largest similarity among its formulas."""
    out = np.zeros(len(rows.starts))
    table = make_lookup(found.keys)
    _best(
        rows.starts, rows.ends, rows.keys, rows.fields, table.starts, table.keys, table.places, found.similarities,
        COMPARED_FIELDS, out,
    )  # fmt: skip
    return out


def formulas_of(documents: Threads, threads: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the keys of the formulas in the compared fields of some threads of a batch, ascending."""
    rows = documents.terms[VISUAL_FAMILY]
    posts = span_positions(documents.starts[threads], documents.ends[threads])
    places = span_positions(rows.starts[posts], rows.ends[posts])
    compared = places[COMPARED_FIELDS[rows.fields[places]]]
    return np.asarray(np.unique(rows.keys[compared]), np.int64)


def _similar(batch: CandidateBatch) -> tuple[SimilarFormulas, ...]:
    found: tuple[SimilarFormulas, ...] = batch.context.prepared.get(SIMILAR, ())
    return found


def _best_similarities(batch: CandidateBatch) -> list[npt.NDArray[np.float64]]:
    """Return `best_similarity` for each formula of the query. The two features share it."""
    similar = _similar(batch)
    if batch.compared is None or batch.compared.similar is not similar:
        terms = batch.documents.terms
        batch.compared = BestSimilarities(similar, [best_similarity(terms[VISUAL_FAMILY], found) for found in similar])
    return batch.compared.best


class FormulaOverlap(Feature):
    """For each query formula, the square of its best similarity in the thread or answer, times the log of its size."""

    families = (VISUAL_FAMILY,)
    of_formulas = True
    stage: ClassVar[int] = 1
    prepares: ClassVar[str] = SIMILAR

    def __init__(self, level: Level) -> None:
        self.name = f"formula_overlap.{level}"
        self.level = level
        self.text = f"the {level} has formulas like yours"

    def reads(self, context: QueryContext) -> Sequence[str]:
        """Return the family of formulas if the query has one."""
        return self.families if context.query.formulas else ()

    def prepare(self, batch: CandidateBatch, so_far: RankingSoFar) -> tuple[SimilarFormulas, ...]:
        """Return the formulas of the best threads that are similar to those of the query."""
        context = batch.context
        if not has_compared_formulas(context.query):
            return ()
        keys = formulas_of(batch.documents, so_far.best_threads(so_far.kind, THREADS_COMPARED))
        bound = (found.similar for found in context.bound_formulas)
        return (*bound, *compare_formulas(context.query, keys, batch.documents.lookup, context.index.formulas))

    def compute(self, batch: CandidateBatch) -> Values:
        """Return the sum over the query's formulas."""
        size = len(batch.answer_posts) if self.level == "answer" else batch.thread_count
        total = np.zeros(size, np.float32)
        for found, best in zip(_similar(batch), _best_similarities(batch), strict=True):
            if self.level == "answer":
                own = best[batch.answer_posts]
            else:
                own = np.maximum.reduceat(best, batch.documents.starts) if size else best
            total += (np.log(found.size) * own**2).astype(np.float32)
        return total


FEATURES: tuple[Feature, ...] = (
    VectorSimilarity("words", "about a similar subject"),
    VectorSimilarity("tuples", "its formulas have a similar structure"),
    EncoderSimilarity("titles", "thread", "a title of similar meaning"),
    EncoderSimilarity("questions", "thread", "a question of similar meaning"),
    EncoderSimilarity("answers", "answer", "an answer of similar meaning"),
    SameQuestion(),
    FormulaOverlap("thread"),
    FormulaOverlap("answer"),
)
