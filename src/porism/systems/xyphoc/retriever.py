"""XYPhoc as a part: formulas by the cosine of their symbols' region vectors."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from porism.formula import Parsed
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.tangent.trees import reads_official, searched_formula
from porism.systems.xyphoc import mathjax
from porism.systems.xyphoc.index import (
    BoxStore,
    Levels,
    SymbolIndex,
    add_overlap,
    count_bits,
    index_symbols,
    layout_boxes,
    read_boxes,
    squared_lengths,
    symbol_bits,
    write_boxes,
)
from porism.systems.xyphoc.typeset import GlyphBox, typeset

Source = Literal["layout", "mathjax"]
_CODE = tuple(f"porism.systems.xyphoc.{name}" for name in ("typeset", "index", "mathjax"))


def xy_phoc(
    context: SystemContext,
    columns: int = 7,
    rows: int = 7,
    ellipses: int = 4,
    idf: bool = False,
    boxes: Source = "layout",
) -> Retriever:
    """Find formulas whose symbols are at the same places. `columns`, `rows` and `ellipses` are the highest levels;
    `boxes` says where glyph boxes come from: our own layout model, or MathJax's SVG, which needs node and the npm
    package mathjax."""
    content = context.content
    if boxes == "mathjax":
        mathjax.check()
    made = mathjax.collection_boxes if boxes == "mathjax" else layout_boxes
    total = content.count("visuals")
    folder = context.cached(
        "glyph-boxes",
        mathjax.script_digest() if boxes == "mathjax" else boxes,
        lambda place: write_boxes(made(content), total, context.progress, place),
        _CODE,
    )
    store = read_boxes(folder)
    return PhocSearch(store, Levels(columns, rows, ellipses), idf, boxes, reads_official(content))


class PhocSearch(Retriever):
    """Formulas by the cosine of region vectors, over an inverted index by symbol."""

    finds = "formulas"

    def __init__(self, store: BoxStore, levels: Levels, idf: bool, source: Source, official: bool) -> None:
        self._store, self._levels, self._source, self._official = store, levels, source, official
        self._index: SymbolIndex = index_symbols(store, levels)
        self._symbols = {name: at for at, name in enumerate(store.names)}
        size = len(store.visuals)
        known = self._index.frequencies
        weights = np.log(max(size, 1) / np.maximum(known, 1)) if idf else np.ones(len(known))
        self._unknown = float(np.log(max(size, 2))) if idf else 1.0  # a symbol that no formula has
        self._weights = np.asarray(weights**2)
        lengths = np.zeros(size)
        squared_lengths(self._index, self._weights, lengths)
        self._lengths = np.sqrt(lengths)
        how = "our own layout model" if source == "layout" else "MathJax's SVG"
        self.notes = (f"glyph boxes: {how}",)

    def _boxes(self, formula: Parsed) -> list[GlyphBox]:
        return typeset(formula.layout) if self._source == "layout" else mathjax.formula_boxes(formula.latex)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k formulas by visual id."""
        formula = searched_formula(query, self._official)
        if formula is None:
            return Ranking.of({})
        scores = np.zeros(len(self._store.visuals))
        for part in self._overlaps(formula):
            scores += part.scores
        found = np.flatnonzero(scores)
        return Ranking.sorted(self._store.visuals[found], scores[found]).top(k)

    def _overlaps(self, formula: Parsed) -> list[SymbolScores]:
        """Return what each symbol of the query adds to each formula's cosine."""
        query = symbol_bits(self._boxes(formula), self._levels)
        numbers = [self._symbols.get(name, -1) for name in query.names]
        weights = [float(self._weights[number]) if number >= 0 else self._unknown**2 for number in numbers]
        length = np.sqrt(sum(weight * count_bits(bits) for weight, bits in zip(weights, query.bits, strict=True)))
        found = []
        for name, number, weight, bits in zip(query.names, numbers, weights, query.bits, strict=True):
            common = np.zeros(len(self._store.visuals))
            if number >= 0:
                place = slice(int(self._index.starts[number]), int(self._index.starts[number + 1]))
                add_overlap(bits, weight, self._index.formulas[place], self._index.bits[place], common)
            found.append(SymbolScores(name, common / np.maximum(self._lengths * length, 1e-12)))
        return found

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return what each symbol adds to the cosine."""
        formula = searched_formula(query, self._official)
        rows = np.flatnonzero(self._store.visuals == id)
        if formula is None or not len(rows):
            return Explanation(0.0, "no formula to compare")
        parts = tuple(
            Explanation(float(part.scores[rows[0]]), f"regions of {part.name} in common")
            for part in self._overlaps(formula)
        )
        return Explanation(sum(part.value for part in parts), "cosine of symbol positions", parts)


class SymbolScores:
    """What one symbol of the query adds to the score of each formula."""

    __slots__ = ("name", "scores")

    def __init__(self, name: str, scores: npt.NDArray[np.float64]) -> None:
        self.name, self.scores = name, scores
