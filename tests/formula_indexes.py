"""Formula indexes for tests: a list of LaTeX becomes a collection and its index, by the real commands' code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from porism.corpus.build import build
from porism.corpus.collection import Collection
from porism.corpus.sources import open_source
from porism.index.formulas import build_formula_index


def make_collection(folder: Path, latex: Sequence[str], *more: Path) -> Path:
    """A collection of formulas with visual ids 900000000, 900000001, ..., and of other sources."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "planted.tsv"
    rows = (f"{900_000_000 + at}\t{text}\n" for at, text in enumerate(latex))
    table.write_text("visual_id\tlatex\n" + "".join(rows), "utf-8")
    return build([open_source(path, "") for path in (table, *more)], folder / "collection", jobs=0 if more else 1)


def make_index(folder: Path, latex: Sequence[str], *more: Path) -> Path:
    """The formula index of such a collection."""
    with Collection.open(make_collection(folder, latex, *more)) as collection:
        build_formula_index(collection, folder / "index")
    return folder / "index"
