"""Vectors of threads, trained on the collection itself: threads whose terms occur in similar contexts have similar vectors.

Latent semantic analysis: the singular vectors of the (sampled) matrix of threads and terms. No pretrained model is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from porism.index.schema import FIELDS, THREAD
from porism.index.storage.columns import ArrayWriter, read_array
from porism.index.storage.rows import FIELD_SHIFT, MOST_COUNT, Rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

VECTOR_FAMILIES = ("words", "tuples")
DIMENSIONS = 200
MOST_TERMS = 30_000
SAMPLE = 20_000  # threads that the basis is learned from; the others are projected
MIN_THREADS = 3  # threads that must contain a term
BLOCK = 4096
SEED = 1
SMALL_MATRIX = 300  # rows or columns up to which a matrix is decomposed exactly, not by iteration

Matrix = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def write_vectors(directory: Path, family: str) -> None:
    """Learn a basis from the rows of a family and write it with the vector of every thread."""
    threads = StoredThreadTerms(directory, family)
    basis = learn_basis(threads)
    np.save(directory / f"vectors.{family}.codes.npy", threads.codes)
    np.save(directory / f"vectors.{family}.idf.npy", threads.idf)
    np.save(directory / f"vectors.{family}.basis.npy", basis.astype(np.float16))
    with ArrayWriter(directory / f"vectors.{family}.npy", "<f2", basis.shape[1]) as vectors:
        for at in range(0, len(threads), BLOCK):
            block = np.arange(at, min(at + BLOCK, len(threads)))
            vectors.append(_unit(threads.matrix(block) @ basis))


class Vectors:
    """The vectors of a family, and the basis that projects a query."""

    def __init__(self, directory: Path, family: str) -> None:
        self._codes: Ints = np.load(directory / f"vectors.{family}.codes.npy")
        self._idf: Matrix = np.load(directory / f"vectors.{family}.idf.npy")
        self._basis: npt.NDArray[np.float16] = read_array(directory / f"vectors.{family}.basis.npy")
        self._threads: npt.NDArray[np.float16] = read_array(directory / f"vectors.{family}.npy")

    def query(self, codes: Ints, weights: Matrix) -> Matrix:
        """Return the vector of a query's terms, of length 1 (or 0 if no term is in the vocabulary)."""
        if not len(self._codes) or not len(codes):
            return np.zeros(self._basis.shape[1], np.float32)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known = self._codes[at] == codes
        at = at[known]
        return _unit((weights[known] * self._idf[at]) @ self._basis[at].astype(np.float32))

    def threads(self, rows: Ints) -> Matrix:
        """Return the vectors of threads."""
        return self._threads[rows].astype(np.float32)


class StoredThreadTerms:
    """Threads as weighted term vectors, over the MOST_TERMS most frequent terms that neither too few nor too many threads contain."""

    def __init__(self, directory: Path, family: str) -> None:
        self._rows = Rows(directory, family)
        self._first: Ints = read_array(directory / "threads.npy")
        self._weights = np.array(THREAD.vector(FIELDS), np.float32)
        documents = read_array(directory / f"{family}.documents.npy").astype(np.int64)
        kept = np.flatnonzero((documents >= MIN_THREADS) & (documents < max(MIN_THREADS + 1, len(self) // 2)))
        if len(kept) > MOST_TERMS:
            kept = np.sort(kept[np.argsort(-documents[kept], kind="stable")[:MOST_TERMS]])
        self.codes: Ints = kept
        self.idf: Matrix = np.log((len(self) + 1) / (documents[kept] + 1)).astype(np.float32)
        self._column = np.full(len(documents), -1, np.int32)
        self._column[kept] = np.arange(len(kept))

    def __len__(self) -> int:
        return len(self._first) - 1

    def matrix(self, threads: Ints) -> csr_matrix:
        """Return threads as a sparse matrix of root count x idf."""
        from scipy.sparse import csr_matrix

        starts, ends = self._rows.starts[self._first[threads]], self._rows.starts[self._first[threads + 1]]
        sizes = ends - starts
        places = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        columns = self._column[self._rows.codes[places]]
        known = columns >= 0
        cells = self._rows.cells[places[known]]
        counts = self._weights[cells >> FIELD_SHIFT] * (cells & MOST_COUNT)
        rows = np.repeat(np.arange(len(threads)), sizes)[known]
        matrix = csr_matrix((counts, (rows, columns[known])), (len(threads), len(self.codes)))  # sums equal places
        matrix.data = np.sqrt(matrix.data) * self.idf[matrix.indices]
        return matrix


def learn_basis(threads: StoredThreadTerms) -> Matrix:
    """Return the right singular vectors of the matrix of threads and terms, one column each."""
    from scipy.sparse import diags, vstack
    from scipy.sparse.linalg import svds

    numbers = np.arange(len(threads))[:: max(1, -(-len(threads) // SAMPLE))]
    matrix = vstack([threads.matrix(numbers[at : at + BLOCK]) for at in range(0, max(1, len(numbers)), BLOCK)], "csr")
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    # A small or plain collection has fewer independent directions than that, or none.
    size = min(DIMENSIONS, min(matrix.shape) - 1, int((lengths > 0).sum()) - 1)
    if size < 1:
        return np.zeros((len(threads.codes), 1), np.float32)
    matrix = (diags(1 / np.maximum(lengths, 1e-9)) @ matrix).astype(np.float32, copy=False)
    if min(matrix.shape) <= SMALL_MATRIX:
        vectors = np.linalg.svd(matrix.toarray(), full_matrices=False)[2][:size]
    else:
        vectors = svds(matrix.tocsr(), k=size, random_state=SEED)[2][::-1]
    return np.ascontiguousarray(vectors.T, np.float32)


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    unit: Matrix = vectors / np.maximum(lengths, 1e-9)
    return unit.astype(np.float32)
