"""Encodings of documents, kept beside the index: one vector a document, or one a token. An encoding that is interrupted continues.

Blocks of documents are written as they are encoded; the last step joins them. A folder belongs to the collection, to the digest of the model and
to the form of the text.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.systems.context import SystemContext
from porism.systems.documents import TextDocument

Ints = npt.NDArray[np.int64]
Halves = npt.NDArray[np.float16]
Singles = npt.NDArray[np.float32]
Documents = Callable[[], Iterable[TextDocument]]
Encode = Callable[[Sequence[str]], Sequence[Singles]]  # texts -> the vectors of each, as rows
BLOCK = 256  # documents that are encoded and written together
_ROWS = 16_384  # vectors that are compared at once


class EncodedDocuments(NamedTuple):
    """Documents by id, and the vectors of each: rows starts[d] to starts[d + 1]. The vectors are mapped, not read."""

    ids: Ints
    starts: Ints
    vectors: Halves

    def cosines(self, query: Singles) -> Singles:
        """Return the dot product of each document, which must have one vector, with the query."""
        parts = [block.astype(np.float32) @ query for block in self._blocks(0, len(self.vectors))]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def maxsim(self, query: Singles, positions: Ints | None = None) -> Singles:
        """Return MaxSim of each document, or of those at some positions, with the token vectors of a query."""
        wanted = np.arange(len(self.ids)) if positions is None else positions
        scores = np.zeros(len(wanted), np.float32)
        for places in self._groups(wanted):
            rows = wanted[places]
            vectors = np.concatenate([self.vectors[self.starts[row] : self.starts[row + 1]] for row in rows])
            lengths = self.starts[rows + 1] - self.starts[rows]
            best = np.maximum.reduceat(
                query @ vectors.astype(np.float32).T, np.append(0, np.cumsum(lengths)[:-1]), axis=1
            )
            scores[places] = best.sum(axis=0)
        return scores

    def _groups(self, wanted: Ints) -> Iterator[Ints]:
        """Yield groups of places in `wanted` whose documents have vectors, of limited size together."""
        lengths = self.starts[wanted + 1] - self.starts[wanted]
        filled = np.flatnonzero(lengths)
        group = np.cumsum(lengths[filled]) // _ROWS
        for number in np.unique(group):
            yield filled[group == number]

    def _blocks(self, start: int, end: int) -> Iterator[Halves]:
        return (self.vectors[at : min(at + _ROWS, end)] for at in range(start, end, _ROWS))


def encoded_documents(
    context: SystemContext, name: str, key: Sequence[object], documents: Documents, encode: Encode
) -> EncodedDocuments:
    """Return the encodings of documents; they are computed once. `key` holds the digest of the model and all that shapes the texts."""
    digest = hashlib.sha256(json.dumps([name, key, context.collection.digest], default=str).encode()).hexdigest()[:16]
    blocks = context.cache / f"{name}-{digest}.blocks"
    build = partial(_build, context, name, blocks, documents, encode)
    folder = context.cached(name, list(key), build, ("porism.systems.documents", "porism.systems.neural.texts"))
    return EncodedDocuments(
        np.load(folder / "ids.npy"), np.load(folder / "starts.npy"), np.load(folder / "vectors.npy", mmap_mode="r")
    )


def _build(
    context: SystemContext, name: str, blocks: Path, documents: Documents, encode: Encode, folder: Path
) -> None:
    blocks.mkdir(parents=True, exist_ok=True)
    total = sum(1 for _ in documents())
    files = []
    with context.progress.stage(f"{name}: encoding {total:,} documents", total) as advance:
        for number, block in enumerate(_batches(documents())):
            file = blocks / f"{number:06}.npz"
            if not _is_complete(file, block):
                _write_block(file, block, encode)
            files.append(file)
            advance(len(block))
    _join(files, folder)
    shutil.rmtree(blocks, ignore_errors=True)


def _batches(documents: Iterable[TextDocument]) -> Iterator[list[TextDocument]]:
    stream = iter(documents)
    while block := list(islice(stream, BLOCK)):
        yield block


def _texts_digest(block: Sequence[TextDocument]) -> str:
    return hashlib.sha256("\0".join(f"{one.id} {one.text}" for one in block).encode("utf-8", "replace")).hexdigest()


def _is_complete(file: Path, block: Sequence[TextDocument]) -> bool:
    """Return whether a block was written before, for the same texts."""
    try:
        with np.load(file) as stored:
            return str(stored["texts"]) == _texts_digest(block)
    except (OSError, ValueError, KeyError):
        return False


def _write_block(file: Path, block: Sequence[TextDocument], encode: Encode) -> None:
    found = encode([one.text for one in block])
    vectors = np.concatenate(found).astype(np.float16) if found else np.zeros((0, 0), np.float16)
    if not np.isfinite(vectors).all():
        raise PorismError("the model gives vectors that are not finite numbers", fix="name another model directory")
    unfinished = file.with_suffix(".part")
    with open(unfinished, "wb") as stream:
        np.savez(
            stream,
            ids=np.array([one.id for one in block], np.int64),
            counts=np.array([len(one) for one in found], np.int64),
            vectors=vectors,
            texts=np.array(_texts_digest(block)),
        )
    unfinished.replace(file)


def _join(files: Sequence[Path], folder: Path) -> None:
    """Write all blocks as one set of arrays."""
    ids, counts, width = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for file in files:
        with np.load(file) as stored:
            ids.append(stored["ids"])
            counts.append(stored["counts"])
            width = stored["vectors"].shape[1]
    starts = np.append(0, np.cumsum(np.concatenate(counts))).astype(np.int64)
    np.save(folder / "ids.npy", np.concatenate(ids))
    np.save(folder / "starts.npy", starts)
    if not starts[-1]:
        np.save(folder / "vectors.npy", np.zeros((0, width), np.float16))
        return
    joined = np.lib.format.open_memmap(
        folder / "vectors.npy", mode="w+", dtype=np.float16, shape=(int(starts[-1]), width)
    )
    at = 0
    for file in files:
        with np.load(file) as stored:
            vectors = stored["vectors"]
            joined[at : at + len(vectors)] = vectors
            at += len(vectors)
    joined.flush()
