"""The stored formula trees of a collection, and the formula of a query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.content import Content
from porism.formula import Parsed, parse, parse_mathml
from porism.formula.binary import Trees, unpack
from porism.formula.tree import Node
from porism.progress import Progress, Silent
from porism.records import TopicFormula
from porism.search.query import ReadQuery
from porism.systems.tangent.forest import Forest, ForestBuilder, Labels, make_forest
from porism.systems.topic_queries import query_formula

_LABELS = "labels.txt"


class TreeSet(NamedTuple):
    """The distinct trees of one kind, their labels, and the tree of each visual id by its position."""

    forest: Forest
    labels: Labels
    tree_of: npt.NDArray[np.int32]


class CollectionTrees(NamedTuple):
    """The visual ids of a collection with their layout trees and operator trees."""

    visuals: npt.NDArray[np.int64]
    layout: TreeSet
    operators: TreeSet


class VisualTrees(NamedTuple):
    """The two trees of the first formula with a visual id."""

    visual_id: int
    trees: Trees
    latex: str


def visual_trees(content: Content) -> Iterator[VisualTrees]:
    """Yield the trees of every visual id, in the order of expressions."""
    visuals: dict[int, list[int]] = defaultdict(list)
    for visual in content.visuals():
        visuals[visual.expression_id].append(visual.id)
    for expression in content.expressions():
        for visual_id in visuals.get(expression.id, ()):
            yield VisualTrees(visual_id, unpack(expression.trees), expression.latex)


def write_trees(
    content: Content,
    folder: Path,
    progress: Progress | None = None,
    reshape: Callable[[Node], Node] | None = None,
) -> None:
    """Write the trees of a collection to a folder. `reshape` changes each layout tree before it is stored."""
    layout, operators = ForestBuilder(), ForestBuilder()
    rows: list[tuple[int, int, int]] = []
    with (progress or Silent()).stage("trees", content.count("visuals")) as advance:
        for visual_id, trees, _ in visual_trees(content):
            rows.append((visual_id, layout.add(trees.layout), operators.add(trees.operators)))
            advance(1)
    columns = np.array(rows, np.int64).reshape(-1, 3)
    columns = columns[np.argsort(columns[:, 0], kind="stable")]
    np.save(folder / "visuals.npy", columns[:, 0])
    for name, builder, column in (("layout", layout, 1), ("operators", operators, 2)):
        forest, labels = builder.finish()
        (folder / name).mkdir()
        write_set(folder / name, TreeSet(forest, labels, columns[:, column].astype(np.int32)))


def write_layout(
    content: Content, reshape: Callable[[Node], Node], folder: Path, progress: Progress | None = None
) -> None:
    """Write the layout trees of a collection to a folder, each changed by `reshape`; the order of visual ids is that of
    `write_trees`."""
    builder = ForestBuilder()
    rows: list[tuple[int, int]] = []
    with (progress or Silent()).stage("layout trees", content.count("visuals")) as advance:
        for visual_id, trees, _ in visual_trees(content):
            rows.append((visual_id, builder.add(reshape(trees.layout))))
            advance(1)
    columns = np.array(rows, np.int64).reshape(-1, 2)
    order = np.argsort(columns[:, 0], kind="stable")
    write_set(folder, TreeSet(*builder.finish(), columns[order, 1].astype(np.int32)))


def write_set(folder: Path, trees: TreeSet) -> None:
    """Write trees of one kind to a folder."""
    for field, array in trees.forest._asdict().items():
        np.save(folder / f"{field}.npy", array)
    np.save(folder / "tree_of.npy", trees.tree_of)
    text = "\n".join(label.replace("\\", "\\\\").replace("\n", "\\n") for label in trees.labels.texts)
    (folder / _LABELS).write_text(text, "utf-8", "surrogatepass", newline="\n")


def read_trees(folder: Path) -> CollectionTrees:
    """Open trees that `write_trees` wrote."""
    visuals = np.load(folder / "visuals.npy", mmap_mode="r")
    return CollectionTrees(visuals, read_set(folder / "layout"), read_set(folder / "operators"))


def read_set(folder: Path) -> TreeSet:
    """Open trees of one kind that `write_set` wrote."""
    forest = Forest(*(np.load(folder / f"{field}.npy", mmap_mode="r") for field in Forest._fields))
    text = (folder / _LABELS).read_bytes().decode("utf-8", "surrogatepass")
    parts = [part.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") for part in text.split("\n")]
    labels = Labels(parts if text else [])
    return TreeSet(forest, labels, np.load(folder / "tree_of.npy", mmap_mode="r"))


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
    """Return the formula with the largest layout tree: of the title if it has formulas, else of the body. Of equal ones
    the first."""
    if query.topic is None:
        titled = [one.parsed for one in query.formulas if one.field == "title"]
        parsed = titled or [one.parsed for one in query.formulas]
    else:
        formulas = query.topic.formulas
        titled_formulas = [one for one in formulas if one.field == "title"]
        parsed = [parse_formula(one, official) for one in titled_formulas or formulas]
    return max(parsed, key=lambda one: one.layout.size(), default=None)


def parse_formula(formula: TopicFormula, official: bool) -> Parsed:
    """Parse a topic formula from its official MathML where the collection's were, else from LaTeX."""
    if official and formula.mathml:
        return parse_mathml(formula.mathml, formula.latex, formula.content)
    return parse(formula.latex, wildcards=True)


def trees_of(parsed: Parsed) -> Trees:
    """Return both trees of a parsed formula."""
    return Trees(parsed.layout, parsed.operators)
