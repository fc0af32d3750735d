"""Small vectors trained on the collection itself: threads that use the same terms in the same company lie near each other.

Latent semantic analysis: the singular vectors of the (sampled) matrix of threads and terms. No model is fetched from anywhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.index.storage.columns import ArrayWriter
from porism.index.storage.rows import HALVES, Rows
from porism.index.storage.tally import Tally

FAMILIES = ("words", "tuples")
DIMENSIONS = 200
MOST_TERMS = 30_000
SAMPLE = 20_000  # threads that the basis is learned from; the others are projected
FEWEST = 3  # threads that must have a term
BLOCK = 4096
SCAN = 4_000_000  # codes that are counted together
SEED = 1

Matrix = npt.NDArray[np.float32]


def write_vectors(directory: Path, family: str) -> None:
    """Learn a basis from the rows of a family and write it with the vector of every thread."""
    rows = Rows(directory, f"thread.{family}")
    codes, idf = _vocabulary(rows)
    basis = _basis(rows, codes, idf)
    np.save(directory / f"vectors.{family}.codes.npy", codes)
    np.save(directory / f"vectors.{family}.idf.npy", idf)
    np.save(directory / f"vectors.{family}.basis.npy", basis.astype(np.float16))
    with ArrayWriter(directory / f"vectors.{family}.npy", "<f2", basis.shape[1]) as vectors:
        for at in range(0, len(rows), BLOCK):
            some = np.arange(at, min(at + BLOCK, len(rows)))
            vectors.append(_unit(_weighted(rows, some, codes, idf) @ basis))


class Vectors:
    """Reads the vectors of a family."""

    def __init__(self, directory: Path, family: str) -> None:
        self._codes: npt.NDArray[np.uint32] = np.load(directory / f"vectors.{family}.codes.npy")
        self._idf: Matrix = np.load(directory / f"vectors.{family}.idf.npy")
        self._basis: npt.NDArray[np.float16] = np.load(directory / f"vectors.{family}.basis.npy", mmap_mode="r")
        self._threads: npt.NDArray[np.float16] = np.load(directory / f"vectors.{family}.npy", mmap_mode="r")

    def query(self, codes: npt.NDArray[np.uint32], weights: npt.NDArray[np.float32]) -> Matrix:
        """The vector of a query's terms, of length 1 (or 0 where no term is known)."""
        if not len(self._codes) or not len(codes):
            return np.zeros(self._basis.shape[1], np.float32)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known = self._codes[at] == codes
        at = at[known]
        return _unit((weights[known] * self._idf[at]) @ self._basis[at].astype(np.float32))

    def cosines(self, query: Matrix, threads: npt.NDArray[np.int64]) -> Matrix:
        """How near the threads are to a query."""
        found: Matrix = self._threads[threads].astype(np.float32) @ query
        return found


def _vocabulary(rows: Rows) -> tuple[npt.NDArray[np.uint32], Matrix]:
    """The commonest terms of all that stand in enough threads, and what each is worth."""
    tally = Tally("<u4")
    for at in range(0, len(rows.codes), SCAN):
        tally.add_all(rows.codes[at : at + SCAN])
    codes, df = tally.result()
    kept = (df >= FEWEST) & (df < max(FEWEST + 1, len(rows) // 2))
    codes, df = codes[kept], df[kept]
    if len(codes) > MOST_TERMS:
        most = np.sort(np.argsort(-df, kind="stable")[:MOST_TERMS])
        codes, df = codes[most], df[most]
    return codes, np.log((len(rows) + 1) / (df + 1)).astype(np.float32)


def _weighted(rows: Rows, numbers: npt.NDArray[np.int64], codes: npt.NDArray[np.uint32], idf: Matrix) -> "csr_matrix":  # type: ignore[name-defined]  # noqa: F821, UP037
    """Rows as a sparse matrix of root count x idf over the vocabulary."""
    from scipy.sparse import csr_matrix

    starts = rows.starts[numbers]
    sizes = rows.starts[numbers + 1] - starts
    places = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    found, counts = rows.codes[places], rows.counts[places]
    at = np.minimum(np.searchsorted(codes, found), max(len(codes) - 1, 0))
    known = codes[at] == found if len(codes) else np.zeros(len(found), bool)
    ends = np.concatenate(([0], np.cumsum(known)))[np.concatenate(([0], np.cumsum(sizes)))]
    values = np.sqrt(counts[known].astype(np.float32) / np.float32(HALVES)) * idf[at[known]]
    return csr_matrix((values, at[known], ends), (len(numbers), len(codes)))


def _basis(rows: Rows, codes: npt.NDArray[np.uint32], idf: Matrix) -> Matrix:
    from scipy.sparse import diags, vstack
    from scipy.sparse.linalg import svds

    numbers = np.arange(len(rows))[:: max(1, -(-len(rows) // SAMPLE))]
    parts = [_weighted(rows, numbers[at : at + BLOCK], codes, idf) for at in range(0, max(1, len(numbers)), BLOCK)]
    matrix = vstack(parts, "csr")
    del parts
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    size = min(DIMENSIONS, min(matrix.shape) - 1)
    if size < 1:
        return np.zeros((len(codes), 1), np.float32)
    matrix = (diags(1 / np.maximum(lengths, 1e-9)) @ matrix).astype(np.float32, copy=False)
    vectors = svds(matrix.tocsr(), k=size, random_state=SEED)[2]
    return np.ascontiguousarray(vectors[::-1].T, np.float32)


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    unit: Matrix = vectors / np.maximum(lengths, 1e-9)
    return unit.astype(np.float32)
