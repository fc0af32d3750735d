"""Read vectors of posts: those of given posts, and the posts whose vectors are nearest to that of a query, exactly or
by a graph (HNSW)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.terms import ENCODED_FIELDS, ENCODED_FORMAT, ENCODER, EncodedField
from porism.errors import PorismError
from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.encoder import BiEncoder, Role, encode_query
from porism.models.libraries import library
from porism.store.embedded.manifest import Manifest
from porism.store.embedded.storage.columns import read_array
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.records import NO_HITS, Hits

DEFAULT_LENGTH = 192  # tokens of a post; more cost more and gain little on questions and answers
PROBE = "Prove that $\\sqrt{2}$ is irrational."
# In a segment. New vectors are written into the folder that the last commit does not name, so that a killed run leaves
# those before whole.
FOLDERS = ("encoded", "encoded-2")
DEFAULT_FIELDS: tuple[EncodedField, ...] = ENCODED_FIELDS
Vectors = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
GRAPH_FROM = 5_000  # vectors from which on exact search takes more than about 15 ms (docs/results/models.md)
CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 1_000
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class EncoderEntry:
    """The encoder of an index. Its vectors can be compared with those of the same model only."""

    model: ModelRecord
    place: str  # a directory, or the name of an installed package
    fields: tuple[EncodedField, ...]
    texts: str = ENCODED_FORMAT
    folder: str = FOLDERS[0]

    def as_option(self) -> str:
        """Return the entry as an option of the manifest."""
        raw = {"model": self.model.as_dict(), "place": self.place, "fields": list(self.fields), "texts": self.texts}
        raw |= {} if self.folder == FOLDERS[0] else {"folder": self.folder}
        return json.dumps(raw, sort_keys=True)

    @classmethod
    def of(cls, manifest: Manifest) -> EncoderEntry | None:
        """Return the entry of a manifest; None if the index has no vectors of posts."""
        text = manifest.options.get(ENCODER)
        if not text:
            return None
        raw = json.loads(str(text))
        folder = str(raw.get("folder", FOLDERS[0]))
        return cls(ModelRecord.from_dict(raw["model"]), raw["place"], tuple(raw["fields"]), raw["texts"], folder)

    @property
    def next_folder(self) -> str:
        """The folder of the vectors that take the place of these."""
        return FOLDERS[1 - FOLDERS.index(self.folder)]


class IndexEncoder:
    """The encoder of an index, loaded when the first text is encoded. A model with another digest is refused. Safe for
    concurrent use."""

    def __init__(self, entry: EncoderEntry, place: str | Path | None = None) -> None:
        """`place` is where the model is now, if not where it was when the index was made."""
        self.entry = entry
        self.name, self.digest = entry.model.name, entry.model.digest
        self.fields: tuple[str, ...] = entry.fields
        self._place = str(place or entry.place)
        self._lock = Lock()
        self._model: BiEncoder | None = None

    @classmethod
    def new(cls, place: str | Path, fields: Sequence[str], length: int = DEFAULT_LENGTH) -> IndexEncoder:
        """Load a model for an index without vectors."""
        directory = ModelDirectory.open(place)
        most = int(directory.config.get("max_position_embeddings") or length)
        model = BiEncoder(directory, min(length, most))
        model.encode([PROBE])  # damaged weights are found now, not after the work
        known = str(Path(place).resolve()) if Path(place).is_dir() else str(place)  # or the name of a package
        encoder = cls(EncoderEntry(model.record, known, tuple(one for one in ENCODED_FIELDS if one in fields)))
        encoder._model = model
        return encoder

    def as_dict(self) -> dict[str, Any]:
        """Return what a record of a run says of the model."""
        return self.entry.model.as_dict()

    def adopt(self, other: object) -> None:
        """Use the model of another encoder if it is loaded already and the same."""
        if isinstance(other, IndexEncoder) and other.entry.model == self.entry.model:
            self._model = self._model or other._model

    def query(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of a query with these texts."""
        return encode_query(self, texts)

    @property
    def cut(self) -> int:
        """How many texts were longer than the model reads."""
        return self._model.cut if self._model else 0

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Return one vector a text."""
        with self._lock:
            self._model = self._model or self._load()
            return self._model.encode(texts, role=role)

    def _load(self) -> BiEncoder:
        try:
            directory = ModelDirectory.open(self._place)
        except PorismError as error:
            raise PorismError(
                f"the index has vectors of the model {self.entry.model.name}, which cannot be opened: {error.message}",
                where=self._place,
                fix="say where it is (nothing is encoded again): porism model encode INDEX --encoder DIRECTORY; "
                "or remove the vectors: porism model encode INDEX --remove",
            ) from error
        if directory.digest != self.entry.model.digest:
            raise PorismError(
                f"another model ({directory.digest[:12]}) than the one that encoded the index "
                f"({self.entry.model.name}, {self.entry.model.digest[:12]})",
                where=self._place,
                fix="name the same model, or encode the index again: porism model encode INDEX --encoder DIRECTORY",
            )
        return BiEncoder(directory, self.entry.model.length)


def search_rows(matrix: Halves, query: Values, k: int, graph: Any | None) -> Hits:
    """Return rows of a matrix with their similarities to a query, equal ones in the order of rows: about the k nearest
    by a graph, exactly the k nearest without one."""
    if graph is not None:
        graph.expansion_search = max(EXPANSION_SEARCH, k)
        rows = np.sort(np.asarray(graph.search(query, k).keys, np.int64))
        near = search_rows(matrix[rows], query, k, None)
        return Hits(rows[near.numbers], near.scores)
    scores = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), BLOCK):
        scores[start : start + BLOCK] = matrix[start : start + BLOCK].astype(np.float32) @ query
    best = np.argpartition(-scores, k - 1)[:k] if k < len(scores) else np.arange(len(scores))
    order = best[np.lexsort((best, -scores[best]))]
    return Hits(order.astype(np.int64), scores[order].astype(np.float64))


def write_nearest(folder: Path, field: str, matrix: Halves) -> None:
    """Write the graph of a field, if it has enough vectors."""
    if len(matrix) < GRAPH_FROM:
        return
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
        graph.add(np.arange(start, start + len(block)), block, threads=1)  # so the same vectors give the same graph
    graph.save(str(_path(folder, field)))


def open_nearest(folder: Path, field: str) -> Any | None:
    """Map the graph of a field from its file, if it has one."""
    path = _path(folder, field)
    return library("usearch.index").Index.restore(str(path), view=True) if path.is_file() else None


def _path(folder: Path, field: str) -> Path:
    return folder / f"{field}.usearch"


class FieldVectors:
    """The vectors of one field in one segment, mapped; sorted look-ups by id and by hash of the text."""

    def __init__(self, folder: Path, field: EncodedField) -> None:
        self.field = field
        self._folder = folder
        self.ids: Ints = read_array(folder / f"{field}.ids.npy")
        self.matrix: npt.NDArray[np.float16] = read_array(folder / f"{field}.npy")

    @cached_property
    def nearest(self) -> Any | None:
        """The vector index, if the segment is large enough to have one."""
        return open_nearest(self._folder, self.field)

    @cached_property
    def _by_id(self) -> Ints:
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _hashes(self) -> tuple[Ints, Ints]:
        """The hashes of texts, and their rows in the order of hashes."""
        hashes: Ints = read_array(self._folder / f"{self.field}.hashes.npy")
        return hashes, np.argsort(hashes, kind="stable")

    def with_ids(self, ids: Ints) -> Ints:
        """Return the rows of posts, -1 for those that are not here."""
        return find_sorted(self.ids, ids, self._by_id)

    def with_hashes(self, hashes: Ints) -> Ints:
        """Return the rows of texts by their hashes, -1 for unknown texts."""
        held, order = self._hashes
        return find_sorted(held, hashes, order)

    def search(self, query: Values, k: int) -> Hits:
        """Return the k posts with the largest similarity, best first."""
        near = search_rows(self.matrix, query, k, self.nearest)
        return Hits(self.ids[near.numbers], near.scores)


class EncodedPosts:
    """The vectors of posts over all segments. A post that a later segment has replaced is read there."""

    def __init__(self, segments: Sequence[Mapping[str, FieldVectors]], encoder: IndexEncoder) -> None:
        self._segments = segments
        self.encoder = encoder
        self.fields = encoder.fields

    def vectors(self, field: str, ids: Ints) -> Values:
        """Return the vectors of posts; zero for posts without one."""
        own = [segment[field] for segment in self._segments if field in segment]
        values = np.zeros((len(ids), own[0].matrix.shape[1] if own else 0), np.float32)
        missing = np.arange(len(ids))
        for one in reversed(own):
            rows = one.with_ids(ids[missing])
            here = rows >= 0
            values[missing[here]] = one.matrix[rows[here]]
            missing = missing[~here]
        return values

    def search(self, field: str, query: Values, k: int) -> Hits:
        """Return the k posts with the largest similarity, best first; replaced or deleted posts may be among them."""
        found = [NO_HITS, *(segment[field].search(query, k) for segment in self._segments if field in segment)]
        ids, scores = (np.concatenate(values) for values in zip(*found, strict=True))
        order = np.lexsort((ids, -scores))[:k]
        return Hits(ids[order], scores[order])


def open_fields(folder: Path, fields: Sequence[EncodedField]) -> dict[str, FieldVectors]:
    """Open the vectors of a segment; none if it has no such folder."""
    return {field: FieldVectors(folder, field) for field in fields} if folder.is_dir() else {}
