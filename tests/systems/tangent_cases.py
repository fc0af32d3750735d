"""Trees and stored values for the tests of Tangent-S and DPRL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench.verify.values import alignment_values, read_tree

from porism.formula import Parsed
from porism.systems.tangent.forest import ForestBuilder
from porism.systems.tangent.trees import CollectionTrees, TreeSet


def make_trees(formulas: list[Parsed], first: int = 0) -> CollectionTrees:
    """Return the trees of formulas in memory; their visual ids count from `first`."""
    layout, operators = ForestBuilder(), ForestBuilder()
    columns = np.array([(layout.add(one.layout), operators.add(one.operators)) for one in formulas], np.int32)
    sets = [TreeSet(*builder.finish(), columns[:, at]) for at, builder in enumerate((layout, operators))]
    return CollectionTrees(np.arange(first, first + len(formulas)), *sets)


def vector(query: str, candidate: str, kind: str = "slt") -> tuple[float, float, float]:
    """Return similarity, precision and recall of two trees in the text format of Tangent-S."""
    trees = read_tree(query, kind), read_tree(candidate, kind)
    assert trees[0] is not None
    assert trees[1] is not None
    similarity, precision, recall = alignment_values(trees[0], [trees[1]], kind)[0].tolist()
    return similarity, precision, recall


def first_topics(data: Path, file: str, topics: int, folder: Path) -> Path:
    """Make a folder of test data in which a file of stored values has the first topics only, so that a test is fast."""
    lines = (data / file).read_text("utf-8").splitlines(keepends=True)
    wanted = list(dict.fromkeys(line.split("\t")[0] for line in lines[1:]))[:topics]
    kept = [lines[0], *(line for line in lines[1:] if line.split("\t")[0] in wanted)]
    (folder / "fidelity").mkdir()
    (folder / file).write_text("".join(kept), "utf-8")
    (folder / "formula-pool-2020").symlink_to(data / "formula-pool-2020")
    return folder
