"""Add vectors of posts to an index: to every segment that lacks them, as one commit. An interrupted run continues."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from porism.analysis.model_texts import FIELDS, OPTION, EncodedField
from porism.corpus.content import Content
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.integrity import describe_file
from porism.locks import only_writer
from porism.progress import Progress
from porism.store.embedded.encoded.nearest import write_nearest
from porism.store.embedded.encoded.record import FOLDERS, EncoderEntry, IndexEncoder
from porism.store.embedded.encoded.store import EncodedPosts, FieldVectors, open_fields
from porism.store.embedded.encoded.writing import UNFINISHED, encode_segment
from porism.store.embedded.manifest import SEARCH, Manifest, read_manifest, save_manifest
from porism.store.embedded.posts.store import EmbeddedPosts


class AddedVectors(NamedTuple):
    """What `add_vectors` did: the encoder, how many vectors the index has, how many texts were cut, and their bytes."""

    entry: EncoderEntry
    vectors: int
    cut: int
    bytes: int


def add_vectors(index: str | Path, encoder: IndexEncoder, progress: Progress | None = None) -> AddedVectors:
    """Encode the posts of an index and commit their vectors. Vectors of another model are replaced; those before stay until the commit."""
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
    options = {**manifest.options, OPTION: encoder.entry.as_option()}
    after = replace(manifest, options=options, files=files, generation=manifest.generation + 1)
    save_manifest(place, after)
    return after


def remove_vectors(index: str | Path) -> None:
    """Remove the vectors of posts from an index."""
    place = Path(index)
    with only_writer(place):
        manifest = read_manifest(place, SEARCH)
        files = {name: file for name, file in manifest.files.items() if not _is_vector(name)}
        options = {name: value for name, value in manifest.options.items() if name != OPTION}
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


def write_encoded(
    content: Content,
    questions: Sequence[int],
    segment: Path,
    encoder: IndexEncoder,
    known: Sequence[FieldVectors],
    progress: Progress | None = None,
) -> None:
    """Write the vectors of a segment and their vector index."""
    folder = encode_segment(content, questions, segment, encoder, known, progress)
    for field, vectors in open_fields(folder, encoder.entry.fields).items():
        write_nearest(folder, field, vectors.matrix)


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
                "has no vectors of posts", where=str(index), fix=f"encode it: porism encode {index} --encoder {place}"
            )
        return None
    segments = [open_fields(index / one.name / entry.folder, entry.fields) for one in manifest.segments]
    return EncodedPosts(segments, IndexEncoder(entry, place))


def chosen_fields(names: Sequence[str]) -> tuple[EncodedField, ...]:
    """Return the fields of a request, in their order."""
    return tuple(field for field in FIELDS if field in names)


def _known(index: Path, manifest: Manifest) -> list[FieldVectors]:
    entry = EncoderEntry.of(manifest)
    if entry is None:
        return []
    folders = [index / one.name / entry.folder for one in manifest.segments]
    return [vectors for folder in folders for vectors in open_fields(folder, entry.fields).values()]
