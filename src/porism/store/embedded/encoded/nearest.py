"""The vector index: usearch's graph (HNSW) for many vectors, exact search for few. Exact search is also the check of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.models.libraries import library

Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
GRAPH_FROM = 5_000  # vectors from which on exact search takes more than about 15 ms (docs/results/models.md)
CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 1_000
BLOCK = 65_536


class Nearest:
    """A graph over the rows of a matrix, mapped from its file."""

    def __init__(self, path: Path) -> None:
        self._graph: Any = library("usearch.index").Index.restore(str(path), view=True)

    def rows(self, query: Values, k: int) -> Ints:
        """Return the rows of about the k nearest vectors, in ascending order."""
        self._graph.expansion_search = max(EXPANSION_SEARCH, k)
        return np.sort(np.asarray(self._graph.search(query, k).keys, np.int64))


class NearRows(NamedTuple):
    """Rows of a matrix and their similarities to a query, best first; equal ones in the order of rows."""

    rows: Ints
    scores: Values


def search_rows(matrix: Halves, query: Values, k: int, graph: Nearest | None) -> NearRows:
    """Return about the k nearest vectors by a graph, with their exact similarities; without a graph exactly the k nearest."""
    if graph is None:
        return exact_search(matrix, query, k)
    rows = graph.rows(query, k)
    near = exact_search(matrix[rows], query, k)
    return NearRows(rows[near.rows], near.scores)


def exact_search(matrix: Halves, query: Values, k: int) -> NearRows:
    """Return the k nearest vectors."""
    scores = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), BLOCK):
        scores[start : start + BLOCK] = matrix[start : start + BLOCK].astype(np.float32) @ query
    best = np.argpartition(-scores, k - 1)[:k] if k < len(scores) else np.arange(len(scores))
    order = best[np.lexsort((best, -scores[best]))]
    return NearRows(order.astype(np.int64), scores[order])


def write_nearest(folder: Path, field: str, matrix: Halves) -> None:
    """Write the graph of a field, if it has enough vectors."""
    if len(matrix) >= GRAPH_FROM:
        build_graph(matrix).save(str(_path(folder, field)))


def build_graph(matrix: Halves) -> Any:
    """Return a graph over the rows of a matrix. One thread inserts them, so that the same vectors give the same graph."""
    graph = library("usearch.index").Index(
        ndim=matrix.shape[1],
        metric="cos",
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
    for start in range(0, len(matrix), BLOCK):
        block = np.ascontiguousarray(matrix[start : start + BLOCK], np.float32)
        graph.add(np.arange(start, start + len(block)), block, threads=1)
    return graph


def open_nearest(folder: Path, field: str) -> Nearest | None:
    """Open the graph of a field, if it has one."""
    return Nearest(_path(folder, field)) if _path(folder, field).is_file() else None


def _path(folder: Path, field: str) -> Path:
    return folder / f"{field}.usearch"
