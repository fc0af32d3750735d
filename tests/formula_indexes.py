"""Formula indexes for tests: a list of LaTeX becomes a collection and its index, by the real commands' code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.store.embedded.formulas.build import build_formula_index
from porism.store.protocols import FormulaStore


def make_collection(folder: Path, latex: Sequence[str]) -> Path:
    """A collection of formulas with formula ids 1, 2, ...; those that look the same share a visual id"""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "planted.tsv"
    rows = (f"{at}\t{text}\n" for at, text in enumerate(latex, 1))
    table.write_text("id\tlatex\n" + "".join(rows), "utf-8")
    return build([open_source(table, "")], folder / "collection", jobs=1 if len(latex) < 1000 else 0)


def make_index(folder: Path, latex: Sequence[str]) -> Path:
    """The formula index of such a collection."""
    with Collection.open(make_collection(folder, latex)) as collection:
        build_formula_index(collection, folder / "index")
    return folder / "index"


def visual_id(store: FormulaStore, latex: str) -> int:
    """The id of a formula by its LaTeX."""
    row = store.latex(range(store.formulas)).index(latex)
    return int(store.visual_ids(np.array([row]))[0])
