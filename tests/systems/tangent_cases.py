"""Trees and reference values for the tests of Tangent-S and the systems that build on its trees."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.formula import Node, from_tangent
from porism.systems.tangent.alignment import align
from porism.systems.tangent.forest import Labels, label_classes, make_forest
from porism.systems.tangent.text import read_operators

READERS = {"slt": from_tangent, "opt": read_operators}


def vector(query: str, candidate: str, kind: str = "slt") -> tuple[float, float, float]:
    """Return similarity, precision and recall of two trees in the text format of Tangent-S."""
    read = READERS[kind]
    found = vectors(read(query), [read(candidate)], kind == "opt")
    return tuple(found[0].tolist())


def vectors(query: Node, candidates: list[Node], operators: bool) -> npt.NDArray[np.float64]:
    labels = Labels.of(candidates)
    extended = labels.extended(query)
    forest = make_forest(candidates, labels.ids)
    classes = label_classes(extended.texts, extended.ranks)
    return align(make_forest([query], extended.ids), forest, np.arange(len(candidates)), classes, operators)


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def by_topic(rows: list[dict[str, str]], topics: int) -> dict[str, list[dict[str, str]]]:
    """Group rows by topic and keep the first topics."""
    groups: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[row["topic"]].append(row)
    return dict(list(groups.items())[:topics])
