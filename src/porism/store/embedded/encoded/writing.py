"""Encode the posts of a segment. Texts that any earlier segment or an interrupted run has encoded are copied, not encoded again.

Vectors are written in blocks, each complete or absent; a run that was killed continues with the first missing block. The cost is the model:
about 18 posts a second and core for a MiniLM of six layers at 192 tokens by torch, 45 as ONNX with 8-bit weights.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.model_texts import BATCH, EncodedField, PostText, post_texts
from porism.corpus.content import Content, batched
from porism.errors import PorismError
from porism.hashing import hash64
from porism.progress import Progress, Silent
from porism.store.embedded.encoded.record import IndexEncoder
from porism.store.embedded.encoded.store import FieldVectors
from porism.store.embedded.storage.columns import ArrayWriter

Ints = npt.NDArray[np.int64]
Halves = npt.NDArray[np.float16]
UNFINISHED = "encoded.unfinished"
BLOCK = 256  # texts of a block


class EncodedBlock(NamedTuple):
    """The ids, hashes of texts and vectors of some posts."""

    ids: Ints
    hashes: Ints
    vectors: Halves


def encode_segment(
    content: Content,
    questions: Sequence[int],
    segment: Path,
    encoder: IndexEncoder,
    known: Sequence[FieldVectors] = (),
    progress: Progress | None = None,
) -> Path:
    """Write the vectors of the threads of these questions into a segment; return their folder."""
    try:
        return _encode_segment(content, questions, segment, encoder, known, progress)
    except PorismError:  # of the model: to continue makes no sense
        shutil.rmtree(segment / UNFINISHED, ignore_errors=True)
        raise


def _encode_segment(
    content: Content,
    questions: Sequence[int],
    segment: Path,
    encoder: IndexEncoder,
    known: Sequence[FieldVectors],
    progress: Progress | None,
) -> Path:
    work = segment / UNFINISHED
    for field in encoder.entry.fields:
        place = work / f"{field}-{encoder.entry.model.digest}-{encoder.entry.model.length}"
        place.mkdir(parents=True, exist_ok=True)
        total = len(questions) if field != "answers" else _count_answers(content, questions)
        own = [one for one in known if one.field == field]
        with (progress or Silent()).stage(f"encoding {field}", total) as advance:
            _write_blocks(place, post_texts(content, field, questions), encoder, own, advance)
    finished = segment / encoder.entry.folder
    shutil.rmtree(finished, ignore_errors=True)  # of a run that was killed: no commit names it
    joined = work / "joined"
    shutil.rmtree(joined, ignore_errors=True)
    joined.mkdir()
    for field in encoder.entry.fields:
        blocks = sorted((work / f"{field}-{encoder.entry.model.digest}-{encoder.entry.model.length}").glob("*.npz"))
        _join(blocks, joined, field, encoder.entry.model.dimensions)
    joined.replace(finished)
    shutil.rmtree(work)
    return finished


def _count_answers(content: Content, questions: Sequence[int]) -> int:
    if len(questions) >= 5_000:
        return content.count("posts") - sum(1 for _ in content.question_ids())
    batches = batched(map(int, questions), BATCH)
    return sum(len(own) for batch in batches for own in content.answers_by_question(batch).values())


def _write_blocks(
    place: Path,
    texts: Iterator[PostText],
    encoder: IndexEncoder,
    known: Sequence[FieldVectors],
    advance: Callable[[int], None],
) -> None:
    """Write block after block; blocks that are there and have the same texts are kept."""
    number = 0
    for number, chunk in enumerate(batched(texts, BLOCK), 1):
        path = place / f"{number - 1:08d}.npz"
        ids = np.array([one.id for one in chunk], np.int64)
        hashes = np.array([hash64(one.text) for one in chunk], np.int64)
        if not _is_done(path, ids, hashes):
            _save(path, EncodedBlock(ids, hashes, _vectors(chunk, hashes, encoder, known)))
        advance(len(chunk))
    for path in sorted(place.glob("*.npz"))[number:]:
        path.unlink()


def _is_done(path: Path, ids: Ints, hashes: Ints) -> bool:
    if not path.is_file():
        return False
    with np.load(path) as block:
        return np.array_equal(block["ids"], ids) and np.array_equal(block["hashes"], hashes)


def _vectors(chunk: Sequence[PostText], hashes: Ints, encoder: IndexEncoder, known: Sequence[FieldVectors]) -> Halves:
    """Return the vectors of texts: copied where their hash is known, encoded elsewhere."""
    vectors = np.zeros((len(chunk), encoder.entry.model.dimensions), np.float16)
    missing = np.ones(len(chunk), np.bool_)
    for stored in known:
        found = stored.with_hashes(hashes)
        copied = missing & (found >= 0)
        vectors[copied] = stored.matrix[found[copied]]
        missing &= ~copied
    if missing.any():
        wanted = np.flatnonzero(missing)
        vectors[wanted] = encoder.encode([chunk[at].text for at in wanted.tolist()]).astype(np.float16)
    return vectors


def _save(path: Path, block: EncodedBlock) -> None:
    """Write a block so that it is complete or absent."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as stream:
        np.savez(stream, ids=block.ids, hashes=block.hashes, vectors=block.vectors)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)


def _join(blocks: Sequence[Path], folder: Path, field: EncodedField, dimensions: int) -> None:
    """Join blocks to the mapped files of a field."""
    with (
        ArrayWriter(folder / f"{field}.ids.npy", "<i8") as ids,
        ArrayWriter(folder / f"{field}.hashes.npy", "<i8") as hashes,
        ArrayWriter(folder / f"{field}.npy", "<f2", dimensions) as vectors,
    ):
        for path in blocks:
            with np.load(path) as block:
                ids.append(block["ids"])
                hashes.append(block["hashes"])
                vectors.append(block["vectors"])
