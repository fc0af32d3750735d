"""The stored formula trees of a collection, and the formula of a query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from porism.corpus.content import Content
from porism.formula import Parsed, parse, parse_mathml
from porism.formula.binary import Trees, unpack
from porism.formula.tree import Node
from porism.progress import Progress
from porism.records import Explanation, TopicFormula
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Ints, Small, open_arrays, save_arrays
from porism.systems.declared.context import SystemContext
from porism.systems.tangent.forest import Forest, ForestBuilder, Labels, make_forest
from porism.systems.topic_queries import query_formula

_LABELS = "labels.txt"
TREE_CODE = ("porism.systems.tangent.forest", __name__)


class TreeSet(NamedTuple):
    """The distinct trees of one kind, their labels, and the tree of each visual id by its position."""

    forest: Forest
    labels: Labels
    tree_of: Small


class CollectionTrees(NamedTuple):
    """The visual ids of a collection with their layout trees and operator trees."""

    visuals: Ints
    layout: TreeSet
    operators: TreeSet


class FormulaTrees(NamedTuple):
    """The two trees of the first formula with a visual id."""

    visual_id: int
    trees: Trees
    latex: str


def visual_trees(content: Content) -> Iterator[FormulaTrees]:
    """Yield the trees of every visual id, in the order of expressions."""
    visuals: dict[int, list[int]] = defaultdict(list)
    for visual in content.visuals():
        visuals[visual.expression_id].append(visual.id)
    for expression in content.expressions():
        for visual_id in visuals.get(expression.id, ()):
            yield FormulaTrees(visual_id, unpack(expression.trees), expression.latex)


def write_trees(
    content: Content, kinds: Mapping[str, Callable[[Trees], Node]], progress: Progress, folder: Path
) -> None:
    """Write trees of every visual id to a folder; `kinds` says by name which trees they are."""
    builders = {kind: ForestBuilder() for kind in kinds}
    rows: list[tuple[int, ...]] = []
    with progress.stage("trees", content.count("visuals")) as advance:
        for visual_id, trees, _ in visual_trees(content):
            rows.append((visual_id, *(builders[kind].add(chosen(trees)) for kind, chosen in kinds.items())))
            advance(1)
    columns = np.array(rows, np.int64).reshape(-1, 1 + len(kinds))
    columns = columns[np.argsort(columns[:, 0], kind="stable")]
    np.save(folder / "visuals.npy", columns[:, 0])
    for column, (kind, builder) in enumerate(builders.items(), 1):
        forest, labels = builder.finish()
        save_arrays(folder / kind, forest)
        np.save(folder / kind / "tree_of.npy", columns[:, column].astype(np.int32))
        text = "\n".join(label.replace("\\", "\\\\").replace("\n", "\\n") for label in labels.texts)
        (folder / kind / _LABELS).write_text(text, "utf-8", "surrogatepass", newline="\n")


def read_set(folder: Path) -> TreeSet:
    """Open trees of one kind that `write_trees` wrote."""
    text = (folder / _LABELS).read_bytes().decode("utf-8", "surrogatepass")
    parts = [part.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") for part in text.split("\n")]
    labels = Labels(parts if text else [])
    return TreeSet(open_arrays(folder, Forest), labels, np.load(folder / "tree_of.npy", mmap_mode="r"))


def open_trees(context: SystemContext) -> CollectionTrees:
    """Return the trees of the collection; they are written beside the index once."""
    kinds: dict[str, Callable[[Trees], Node]] = {
        "layout": lambda one: one.layout, "operators": lambda one: one.operators
    }  # fmt: skip
    folder = context.cached("trees", None, partial(write_trees, context.content, kinds, context.progress), TREE_CODE)
    visuals = np.load(folder / "visuals.npy", mmap_mode="r")
    return CollectionTrees(visuals, read_set(folder / "layout"), read_set(folder / "operators"))


def one_tree(root: Node, ids: dict[str, int]) -> Forest:
    """Return a forest of one tree, as the compiled functions expect a query."""
    return make_forest([root], ids)


def reads_official(content: Content) -> bool:
    """Return whether the trees of a collection were read from official MathML; those of queries then are, too."""
    return bool(content.facts["options"].get("trees") == "official")


def searched_formula(query: ReadQuery, official: bool) -> Parsed | None:
    """Return the formula that a query searches for: that of the topic, or the first one."""
    if query.topic is None:
        return query.formulas[0].parsed if query.formulas else None
    formula = query_formula(query)
    return None if formula is None else parse_formula(formula, official)


def largest_formula(query: ReadQuery, official: bool) -> Parsed | None:
    """Return the first formula with the largest layout tree: of the title if it has formulas, else of the body."""
    if query.topic is None:
        typed = [one for one in query.formulas if one.field == "title"] or query.formulas
        parsed = [one.parsed for one in typed]
    else:
        formulas = [one for one in query.topic.formulas if one.field == "title"] or query.topic.formulas
        parsed = [parse_formula(one, official) for one in formulas]
    return max(parsed, key=lambda one: one.layout.size(), default=None)


def parse_formula(formula: TopicFormula, official: bool) -> Parsed:
    """Parse a topic formula from its official MathML where the collection's were, else from LaTeX."""
    if official and formula.mathml:
        return parse_mathml(formula.mathml, formula.latex, formula.content)
    return parse(formula.latex, wildcards=True)


def trees_of(parsed: Parsed) -> Trees:
    """Return both trees of a parsed formula."""
    return Trees(parsed.layout, parsed.operators)


class TreeRetriever(Retriever):
    """Finds formulas for the formula of a query. Subclasses implement `ranked`, and may implement `explained`."""

    finds: Literal["posts", "formulas"] = "formulas"

    def __init__(self, official: bool) -> None:
        self._official = official

    def formula(self, query: ReadQuery) -> Parsed | None:
        """Return the formula that is searched."""
        return searched_formula(query, self._official)

    def ranked(self, formula: Parsed, k: int) -> Ranking:
        """Return what is found for a formula, at least the best k."""
        raise NotImplementedError

    def explained(self, formula: Parsed, id: int) -> Explanation | None:
        """Return the reasons of a score; None for what is not found."""
        raise NotImplementedError

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k hits."""
        formula = self.formula(query)
        return Ranking.of({}) if formula is None else self.ranked(formula, k).top(k)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the reasons of a score."""
        formula = self.formula(query)
        found = None if formula is None else self.explained(formula, id)
        return found or Explanation(0.0, "not found by the formula of the query")
