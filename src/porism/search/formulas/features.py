"""Features of formula search: each compares the query with candidates in one way. A score is their weighted sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.deadline import check
from porism.formula.canonical.forms import LEVELS
from porism.formula.layout.tuples import mathtuples
from porism.formula.tree import Node
from porism.search.formulas.alignment import LabelTable, similarities
from porism.search.formulas.candidates import NO_LEVEL, FormulaBatch
from porism.search.formulas.query import FormulaQuery
from porism.search.formulas.structure import structure_scores

Scores = npt.NDArray[np.float64]
EDGE_COST = 1.0
RENAMED_LEVEL = LEVELS.index("renamed")


@dataclass(frozen=True, slots=True)
class FormulaContext:
    """What features read besides the candidates: the query, and kind and weight of every label in both trees."""

    query: FormulaQuery
    layout_labels: LabelTable
    operator_labels: LabelTable


class FormulaFeature:
    """One way to compare the query with candidates. `weight` is its factor in the score."""

    name: str
    text: str
    weight: float = 0.25

    def compute(self, context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
        """Return the value for each candidate; `computed` has the values of the features before this one."""
        raise NotImplementedError

    def explain(self, context: FormulaContext, layout: Node) -> str:
        """Say in words what the feature found in the formula with this layout tree."""
        return self.text


class TupleFeature(FormulaFeature):
    """BM25 of layout tuples, as a share of what the query scores against itself: what the candidate search found."""

    name = "tuples"

    def compute(self, context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
        """Return the scores of the search."""
        return batch.tuple_scores

    def explain(self, context: FormulaContext, layout: Node) -> str:
        """Count the shared tuples."""
        tuples = context.query.tuples
        shared = tuples & Counter(mathtuples(layout))
        return f"{shared.total()} of {tuples.total()} layout tuples are shared"


class LayoutFeature(FormulaFeature):
    """Alignment of the layout trees in reading order."""

    name = "layout"
    text = "the same symbols in the same order and position"

    def compute(self, context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
        """Align symbols and the edges between them."""
        return similarities(context.query.layout, batch.layout, context.layout_labels, EDGE_COST)


class OperatorFeature(FormulaFeature):
    """Alignment of the operator trees in normal form, in pre-order."""

    name = "operators"
    text = "the same operators and operands in the same order"

    def compute(self, context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
        """Align operators and operands."""
        return similarities(context.query.operators, batch.operators, context.operator_labels, 0.0)


class StructureFeature(FormulaFeature):
    """The largest common substructure of the operator trees."""

    name = "structure"
    text = "the largest common structure, with names exchanged consistently"

    def compute(self, context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
        """Compare the paths of the operator trees."""
        query = context.query
        return structure_scores(query.path_groups, query.features.tree_paths.leaves, batch.paths)


class OccurrenceFeature(FormulaFeature):
    """A bonus for the same formula and for formulas that contain the query.

    Where the query must occur, the searcher replaces it by the level of the match, which then decides first."""

    name = "occurrence"
    text = "the query occurs in the formula"
    weight = 1.0
    same, renamed, inside = 0.4, 0.1, 0.1

    def compute(self, context: FormulaContext, batch: FormulaBatch, computed: Mapping[str, Scores]) -> Scores:
        """Give the bonus by level; operator trees that align perfectly are the same formula."""
        whole = batch.operator_sizes == len(context.query.operators.labels)
        renamed = np.where((batch.levels == RENAMED_LEVEL) & whole, self.renamed, 0.0)
        inside = (batch.levels != NO_LEVEL) & (batch.levels != RENAMED_LEVEL)
        bonus = np.where(inside, self.inside, renamed)
        bonus[computed["operators"] > 1 - 1e-6] = self.same
        return bonus


FEATURES: tuple[FormulaFeature, ...] = (
    TupleFeature(), LayoutFeature(), OperatorFeature(), StructureFeature(), OccurrenceFeature()
)  # fmt: skip
OCCURRENCE = -1  # the column of the last feature
WEIGHTS: Scores = np.array([feature.weight for feature in FEATURES])
TREE_SHARE = 0.75  # of the weights of the first four features, those that compare trees: all but that of tuples


def compute_features(context: FormulaContext, batch: FormulaBatch) -> Scores:
    """Return one row for each candidate, one column for each feature, unweighted."""
    computed: dict[str, Scores] = {}
    for feature in FEATURES:
        check()
        computed[feature.name] = feature.compute(context, batch, computed)
    return np.stack(list(computed.values()), axis=1)
