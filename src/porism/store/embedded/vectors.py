"""Learn vectors of threads from the collection itself: threads whose terms occur in similar contexts have similar ones.

Latent semantic analysis: the singular vectors of the (sampled) matrix of threads and terms. No pretrained model is
needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FIELDS, THREAD
from porism.store.embedded.posts.store import Matrix, Vectors, unit_vectors
from porism.store.embedded.storage.columns import ArrayWriter, read_array
from porism.store.embedded.storage.rows import FIELD_SHIFT, MOST_COUNT, Rows
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.records import spread

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DIMENSIONS = 200
MOST_TERMS = 30_000
SAMPLE = 20_000  # threads that the basis is learned from; the others are projected
MIN_THREADS = 3  # threads that must contain a term
BLOCK = 1024  # threads that are projected together
SEED = 1
SMALL_MATRIX = 300  # rows or columns up to which a matrix is decomposed exactly, not by iteration

Ints = npt.NDArray[np.int64]


def write_vectors(directory: Path, family: str, rows: Path) -> None:
    """Learn a basis from the rows of a family in the folder `rows`; write it, and the vector of every thread."""
    threads = StoredThreadTerms(directory, family, rows)
    basis = learn_basis(threads)
    by_code = np.argsort(threads.codes)
    np.save(directory / f"vectors.{family}.codes.npy", threads.codes[by_code])
    np.save(directory / f"vectors.{family}.idf.npy", threads.idf[by_code])
    np.save(directory / f"vectors.{family}.basis.npy", basis[by_code].astype(np.float16))
    _write_threads(directory, family, threads, basis)


def project_vectors(directory: Path, family: str, rows: Path, vectors: Vectors, codes: Ints) -> None:
    """Write the vectors of the threads of a later segment on the basis of the first one; `codes` are the codes of all
    terms there, UNKNOWN for new terms."""
    basis = vectors.basis
    own = find_sorted(basis.codes, codes).astype(np.int32)
    threads = ThreadTerms(Rows(rows, family), read_array(directory / "threads.npy"), own, basis.idf)
    _write_threads(directory, family, threads, basis.matrix.astype(np.float32))


def _write_threads(directory: Path, family: str, threads: ThreadTerms, basis: Matrix) -> None:
    with ArrayWriter(directory / f"vectors.{family}.npy", "<f2", basis.shape[1]) as vectors:
        for at in range(0, len(threads), BLOCK):
            block = np.arange(at, min(at + BLOCK, len(threads)))
            vectors.append(unit_vectors(threads.matrix(block) @ basis))


class ThreadTerms:
    """Threads as weighted term vectors. `first` says where the rows of each thread start, `columns` has the column of
    every term, -1 for none; `idf` is by column."""

    def __init__(self, rows: Rows, first: Ints, columns: npt.NDArray[np.int32], idf: Matrix) -> None:
        self._rows = rows
        self._first = first
        self._weights = np.array(THREAD.vector(FIELDS), np.float32)
        self._column = columns
        self.idf = idf

    def __len__(self) -> int:
        return len(self._first) - 1

    def matrix(self, threads: Ints) -> csr_matrix:
        """Return threads as a sparse matrix of root count x idf."""
        from scipy.sparse import csr_matrix

        starts, ends = self._rows.starts[self._first[threads]], self._rows.starts[self._first[threads + 1]]
        sizes = ends - starts
        places = spread(starts, sizes)
        columns = self._column[self._rows.codes[places]]
        known = columns >= 0
        cells = self._rows.cells[places[known]]
        counts = self._weights[cells >> FIELD_SHIFT] * (cells & MOST_COUNT)
        rows = np.repeat(np.arange(len(threads)), sizes)[known]
        matrix = csr_matrix((counts, (rows, columns[known])), (len(threads), len(self.idf)))  # sums equal places
        matrix.data = np.sqrt(matrix.data) * self.idf[matrix.indices]
        return matrix


class StoredThreadTerms(ThreadTerms):
    """Threads over the MOST_TERMS most frequent usable terms; `codes` has them by column."""

    def __init__(self, directory: Path, family: str, rows: Path) -> None:
        documents = read_array(directory / f"{family}.documents.npy").astype(np.int64)
        first: Ints = read_array(directory / "threads.npy")
        number = len(first) - 1
        usable = (documents >= MIN_THREADS) & (documents < max(MIN_THREADS + 1, number // 2))
        # In the order of hashes: codes depend on the order in which terms came, and the vectors must not.
        by_hash = read_array(directory / f"{family}.id.npy")
        kept = by_hash[usable[by_hash]].astype(np.int64)
        if len(kept) > MOST_TERMS:
            kept = kept[np.sort(np.argsort(-documents[kept], kind="stable")[:MOST_TERMS])]
        self.codes: Ints = kept
        columns = np.full(len(documents), -1, np.int32)
        columns[kept] = np.arange(len(kept))
        idf = np.log((number + 1) / (documents[kept] + 1)).astype(np.float32)
        super().__init__(Rows(rows, family), first, columns, idf)


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
