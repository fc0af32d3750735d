"""Documents encoded by a model, once beside the index and block by block, and compared with vectors of a query."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from porism.corpus.content import batched
from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder, CrossEncoder
from porism.models.tokens import LateInteraction, maxsim
from porism.systems.arrays import Halves, Ints, Singles, starts_of
from porism.systems.declared.context import SystemContext
from porism.systems.documents import TextDocument

_DEFAULT_POSITIONS, _ROBERTA_RESERVED = 512, 2
_KEPT = 4  # models that stay in memory


def fitting_length(directory: ModelDirectory, wanted: int) -> int | None:
    """Return the number of tokens to read: `wanted`, or fewer where the model has fewer; None for the model's own."""
    if not wanted:
        return None
    most = int(directory.config.get("max_position_embeddings") or _DEFAULT_POSITIONS)
    if "roberta" in str(directory.config.get("model_type", "")):
        most -= _ROBERTA_RESERVED
    return min(wanted, most)


@lru_cache(_KEPT)
def open_bi_encoder(directory: ModelDirectory, length: int) -> BiEncoder:
    """Open a bi-encoder that reads `length` tokens of a text, 0 for its own number."""
    return BiEncoder(directory, fitting_length(directory, length))


@lru_cache(_KEPT)
def open_cross_encoder(directory: ModelDirectory, length: int) -> CrossEncoder:
    """Open a cross-encoder that reads `length` tokens of a pair."""
    return CrossEncoder(directory, fitting_length(directory, length))


@lru_cache(_KEPT)
def open_late_interaction(directory: ModelDirectory, length: int) -> LateInteraction:
    """Open a late-interaction model that reads `length` tokens of a text."""
    return LateInteraction(directory, fitting_length(directory, length))


Documents = Callable[[], Iterable[TextDocument]]
Encode = Callable[[Sequence[str]], Sequence[Singles]]  # texts -> the vectors of each, as rows
BLOCK = 256  # documents that are encoded and written together
_ROWS = 16_384  # vectors that are compared at once
_KEY, _DIGESTS = "key.json", "digests.json"


class EncodedDocuments(NamedTuple):
    """Documents by id, and the vectors of each: rows starts[d] to starts[d + 1]. The vectors are mapped, not read."""

    ids: Ints
    starts: Ints
    vectors: Halves

    @classmethod
    def open(cls, folder: Path) -> EncodedDocuments:
        """Open the encodings of a folder."""
        ids, starts = np.load(folder / "ids.npy"), np.load(folder / "starts.npy")
        return cls(ids, starts, np.load(folder / "vectors.npy", mmap_mode="r"))

    def cosines(self, query: Singles) -> Singles:
        """Return the dot product of each document, which must have one vector, with the query."""
        starts = range(0, len(self.vectors), _ROWS)
        parts = [self.vectors[at : at + _ROWS].astype(np.float32) @ query for at in starts]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def maxsim(self, query: Singles, positions: Ints | None = None) -> Singles:
        """Return MaxSim of each document, or of those at some positions, with the token vectors of a query."""
        wanted = np.arange(len(self.ids)) if positions is None else positions
        scores = np.zeros(len(wanted), np.float32)
        sizes = self.starts[wanted + 1] - self.starts[wanted]
        filled = np.flatnonzero(sizes)
        group = np.cumsum(sizes[filled]) // _ROWS  # documents that have vectors, of limited size together
        for number in np.unique(group):
            places = filled[group == number]
            spans = (slice(self.starts[row], self.starts[row + 1]) for row in wanted[places])
            scores[places] = maxsim(query, [self.vectors[span] for span in spans])
        return scores


class VectorBlock(NamedTuple):
    """The ids of a block of documents, the number of vectors of each, and the vectors."""

    ids: Ints
    counts: Ints
    vectors: Halves


class TextSource(NamedTuple):
    """What is encoded: the name of the encodings, what shapes the texts, the documents, the modules that write them."""

    name: str
    key: Sequence[object]
    documents: Documents
    code: Sequence[str]


def encoded_documents(
    context: SystemContext, source: TextSource, model: Sequence[object], encode: Encode
) -> EncodedDocuments:
    """Return encodings, computed once. `model` holds the model's digest and all else that shapes its vectors."""
    key = json.dumps([source.name, *source.key, *model], default=str)
    build = partial(_build, context, source, key, encode)
    modules = ("porism.systems.documents", *sorted(set(source.code)))
    return EncodedDocuments.open(context.cached(source.name, key, build, modules))


def _build(context: SystemContext, source: TextSource, key: str, encode: Encode, folder: Path) -> None:
    part = hashlib.sha256(f"{key} {context.content.digest}".encode()).hexdigest()[:16]
    blocks = context.prepared / f"{source.name}-{part}.blocks"
    try:
        digests = _write_blocks(context, source, key, encode, blocks)
    except PorismError:  # of the model: to continue makes no sense
        shutil.rmtree(blocks, ignore_errors=True)
        raise
    _join([blocks / f"{digest}.npz" for digest in digests], folder)
    (folder / _DIGESTS).write_text(json.dumps(digests), "utf-8")
    (folder / _KEY).write_text(key, "utf-8")
    shutil.rmtree(blocks, ignore_errors=True)


def _write_blocks(context: SystemContext, source: TextSource, key: str, encode: Encode, blocks: Path) -> list[str]:
    """Write the blocks that are missing; return the names of all, in their order."""
    blocks.mkdir(parents=True, exist_ok=True)
    earlier = _earlier_blocks(context.prepared, source.name, key)
    total = sum(1 for _ in source.documents())
    digests = []
    with context.progress.stage(f"{source.name}: encoding {total:,} documents", total) as advance:
        for block in batched(source.documents(), BLOCK):
            texts = "\0".join(f"{one.id} {one.text}" for one in block)
            digest = hashlib.sha256(texts.encode("utf-8", "replace")).hexdigest()
            if not (blocks / f"{digest}.npz").is_file():
                found = earlier[digest]() if digest in earlier else _encoded(block, encode)
                unfinished = blocks / f"{digest}.part"  # a file with its own name is complete
                with open(unfinished, "wb") as stream:
                    np.savez(stream, **found._asdict())
                unfinished.replace(blocks / f"{digest}.npz")
            digests.append(digest)
            advance(len(block))
    return digests


def _earlier_blocks(cache: Path, name: str, key: str) -> Mapping[str, Callable[[], VectorBlock]]:
    """Return how to read each block that an earlier encoding with the same key holds, by its digest."""
    found: dict[str, Callable[[], VectorBlock]] = {}
    for folder in sorted(cache.glob(f"{name}-*")):
        if (folder / _KEY).is_file() and (folder / _KEY).read_text("utf-8") == key:
            digests = json.loads((folder / _DIGESTS).read_text("utf-8"))
            found |= {digest: partial(_read_earlier, folder, number) for number, digest in enumerate(digests)}
    return found


def _read_earlier(folder: Path, number: int) -> VectorBlock:
    stored = EncodedDocuments.open(folder)
    start, end = number * BLOCK, min((number + 1) * BLOCK, len(stored.ids))
    rows = slice(stored.starts[start], stored.starts[end])
    return VectorBlock(stored.ids[start:end], np.diff(stored.starts[start : end + 1]), stored.vectors[rows])


def _encoded(block: Sequence[TextDocument], encode: Encode) -> VectorBlock:
    found = encode([one.text for one in block])
    vectors = np.concatenate(found).astype(np.float16)
    if not np.isfinite(vectors).all():
        raise PorismError("the model gives vectors that are not finite numbers", fix="name another model directory")
    ids, counts = [one.id for one in block], [len(one) for one in found]
    return VectorBlock(np.array(ids, np.int64), np.array(counts, np.int64), vectors)


def _join(files: Sequence[Path], folder: Path) -> None:
    """Write all blocks as one set of arrays."""
    ids, counts, width = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for file in files:
        with np.load(file) as stored:
            ids.append(stored["ids"])
            counts.append(stored["counts"])
            width = stored["vectors"].shape[1]
    starts = starts_of(np.concatenate(counts))
    np.save(folder / "ids.npy", np.concatenate(ids))
    np.save(folder / "starts.npy", starts)
    if not starts[-1]:
        np.save(folder / "vectors.npy", np.zeros((0, width), np.float16))
        return
    shape = (int(starts[-1]), width)
    joined = np.lib.format.open_memmap(folder / "vectors.npy", mode="w+", dtype=np.float16, shape=shape)
    at = 0
    for file in files:
        with np.load(file) as stored:
            vectors = stored["vectors"]
            joined[at : at + len(vectors)] = vectors
            at += len(vectors)
    joined.flush()
