"""Add vectors of posts to an index: segments without them are encoded in one commit, which continues if killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.terms import BATCH, ENCODER, EncodedField, PostText, post_texts
from porism.corpus.content import Content, batched
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.hashing import hash64
from porism.integrity import describe_file
from porism.locks import only_writer
from porism.progress import Progress, Silent
from porism.store.embedded.encoded import (
    FOLDERS,
    EncodedPosts,
    EncoderEntry,
    FieldVectors,
    IndexEncoder,
    open_fields,
    write_nearest,
)
from porism.store.embedded.manifest import SEARCH, Manifest, read_manifest, save_manifest
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.storage.columns import ArrayWriter

Ints = npt.NDArray[np.int64]
Halves = npt.NDArray[np.float16]
UNFINISHED = "encoded.unfinished"
BLOCK = 256  # texts of a block


def write_encoded(
    content: Content,
    questions: Sequence[int],
    segment: Path,
    encoder: IndexEncoder,
    known: Sequence[FieldVectors],
    progress: Progress | None = None,
) -> None:
    """Write the vectors of the threads of these questions into a segment, and their vector index."""
    work, entry = segment / UNFINISHED, encoder.entry
    finished, joined = segment / entry.folder, work / "joined"
    places = {field: work / f"{field}-{entry.model.digest}-{entry.model.length}" for field in entry.fields}
    try:
        for field, place in places.items():
            place.mkdir(parents=True, exist_ok=True)
            total = len(questions) if field != "answers" else _count_answers(content, questions)
            own = [one for one in known if one.field == field]
            with (progress or Silent()).stage(f"encoding {field}", total) as advance:
                _write_blocks(place, post_texts(content, field, questions), encoder, own, advance)
        for left in (finished, joined):  # of a run that was killed: no commit names it
            shutil.rmtree(left, ignore_errors=True)
        joined.mkdir()
        for field, place in places.items():
            _join(sorted(place.glob("*.npz")), joined, field, entry.model.dimensions)
        joined.replace(finished)
    except PorismError:  # of the model: to continue makes no sense
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work)
    for name, vectors in open_fields(finished, entry.fields).items():
        write_nearest(finished, name, vectors.matrix)


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
            unfinished = path.with_suffix(".part")  # so that a block is complete or absent
            with unfinished.open("wb") as stream:
                np.savez(stream, ids=ids, hashes=hashes, vectors=_vectors(chunk, hashes, encoder, known))
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(path)
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


class AddedVectors(NamedTuple):
    """What `add_vectors` did: the encoder, how many vectors the index has, how many texts were cut, and their bytes."""

    entry: EncoderEntry
    vectors: int
    cut: int
    bytes: int


def add_vectors(index: str | Path, encoder: IndexEncoder, progress: Progress | None = None) -> AddedVectors:
    """Encode the posts of an index in one commit. Vectors of another model stay until then."""
    place = Path(index)
    with only_writer(place):
        manifest = read_manifest(place, SEARCH)
        before = EncoderEntry.of(manifest)
        encoder.entry = replace(encoder.entry, folder=before.folder if before else FOLDERS[0])
        if before != encoder.entry:
            encoder.entry = replace(encoder.entry, folder=before.next_folder if before else FOLDERS[0])
            manifest = _encode(place, manifest, encoder, progress)
        _remove_others(place, manifest)
    own = [file.size for name, file in manifest.files.items() if _is_vector(name)]
    number = sum(len(one.ids) for one in _known(place, manifest))
    return AddedVectors(encoder.entry, number, encoder.cut, sum(own))


def _encode(place: Path, manifest: Manifest, encoder: IndexEncoder, progress: Progress | None) -> Manifest:
    """Write the vectors of every segment, then commit them. Vectors of the same model are copied."""
    before = EncoderEntry.of(manifest)
    known = _known(place, manifest) if before and before.model == encoder.entry.model else []
    home = (place / str(manifest.options["collection"])).resolve()
    with Collection.open(home) as collection:
        for entry in manifest.segments:
            questions = EmbeddedPosts(place / entry.name / "posts", vectors=False).question_ids.tolist()
            there = collection.known_posts(questions)
            live = [number for number in questions if number in there]
            write_encoded(collection, live, place / entry.name, encoder, known, progress)
    files = {name: file for name, file in manifest.files.items() if not _is_vector(name)}
    for entry in manifest.segments:
        for path in sorted((place / entry.name / encoder.entry.folder).iterdir()):
            files[str(path.relative_to(place))] = describe_file(path)
    options = {**manifest.options, ENCODER: encoder.entry.as_option()}
    after = replace(manifest, options=options, files=files, generation=manifest.generation + 1)
    save_manifest(place, after)
    return after


def remove_vectors(index: str | Path) -> None:
    """Remove the vectors of posts from an index."""
    place = Path(index)
    with only_writer(place):
        manifest = read_manifest(place, SEARCH)
        files = {name: file for name, file in manifest.files.items() if not _is_vector(name)}
        options = {name: value for name, value in manifest.options.items() if name != ENCODER}
        after = replace(manifest, options=options, files=files, generation=manifest.generation + 1)
        save_manifest(place, after)
        _remove_others(place, after)


def _remove_others(place: Path, manifest: Manifest) -> None:
    """Remove the folders of vectors that a manifest does not name."""
    entry = EncoderEntry.of(manifest)
    for segment in manifest.segments:
        for name in {*FOLDERS, UNFINISHED} - {entry.folder if entry else ""}:
            shutil.rmtree(place / segment.name / name, ignore_errors=True)


def _is_vector(name: str) -> bool:
    """Return whether a file of an index belongs to the vectors of posts."""
    return not set(FOLDERS).isdisjoint(Path(name).parts)


def encode_new_segment(
    index: Path, manifest: Manifest, content: Content, questions: Sequence[int], segment: Path
) -> None:
    """Write the vectors of a new segment, if the index has vectors. Only texts that no segment has are encoded."""
    entry = EncoderEntry.of(manifest)
    if entry:
        ordered = sorted(int(number) for number in questions)
        write_encoded(content, ordered, segment, IndexEncoder(entry), _known(index, manifest))


def open_encoded(index: Path, manifest: Manifest, place: str | Path | None = None) -> EncodedPosts | None:
    """Open the vectors of an index; None if it has none. `place` is where the model is now, if it was moved."""
    entry = EncoderEntry.of(manifest)
    if entry is None:
        if place is not None:
            raise PorismError(
                "has no vectors of posts",
                where=str(index),
                fix=f"encode it: porism model encode {index} --encoder {place}",
            )
        return None
    segments = [open_fields(index / one.name / entry.folder, entry.fields) for one in manifest.segments]
    return EncodedPosts(segments, IndexEncoder(entry, place))


def _known(index: Path, manifest: Manifest) -> list[FieldVectors]:
    entry = EncoderEntry.of(manifest)
    if entry is None:
        return []
    folders = [index / one.name / entry.folder for one in manifest.segments]
    return [vectors for folder in folders for vectors in open_fields(folder, entry.fields).values()]
