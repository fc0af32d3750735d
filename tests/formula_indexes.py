"""Formula indexes for tests: a list of LaTeX becomes a collection and its index, by the real commands' code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.search.formulas.searcher import FormulaSearcher
from porism.store import open_store
from porism.store.embedded.formulas.build import build_formula_index
from porism.store.maintenance import build_index
from porism.store.protocols import Snapshot
from porism.store.records import Formulas, Ints


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


class FormulaIndex:
    """The whole index of a collection, opened to search its formulas."""

    def __init__(self, collection: Path, folder: Path) -> None:
        with Collection.open(collection) as opened:
            build_index(opened, folder)
        self.snapshot: Snapshot = open_store(folder).snapshot()
        self.searcher = FormulaSearcher(self.snapshot)
        numbers = np.arange(self.searcher.size)  # those of an index with one segment
        formulas = self.snapshot.formulas(numbers)
        latex = formulas.records.latex(numbers)
        self._numbers = dict(zip(latex, numbers.tolist(), strict=True))
        self._latex = dict(zip(formulas.visual_ids.tolist(), latex, strict=True))

    @classmethod
    def make(cls, folder: Path, latex: Sequence[str]) -> FormulaIndex:
        """The index of a list of LaTeX."""
        return cls(make_collection(folder, latex), folder / "index")

    def numbers(self, *latex: str) -> Ints:
        """The numbers of formulas by their LaTeX."""
        return np.array([self._numbers[text] for text in latex], np.int64)

    def formulas(self, *latex: str) -> Formulas:
        """The formulas themselves."""
        return self.snapshot.formulas(self.numbers(*latex))

    def visual_id(self, latex: str) -> int:
        """The visual id of a formula by its LaTeX."""
        return int(self.formulas(latex).visual_ids[0])

    def latex(self, visual_id: int) -> str:
        """The LaTeX of a formula by its visual id."""
        return self._latex[visual_id]
