"""Read vectors of posts: those of given posts, and the posts whose vectors are nearest to that of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.analysis.pieces import EncodedField
from porism.store.embedded.encoded.nearest import Nearest, open_nearest, search_rows
from porism.store.embedded.encoded.record import IndexEncoder
from porism.store.embedded.storage.columns import read_array
from porism.store.records import Hits

Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]


class FieldVectors:
    """The vectors of one field in one segment, mapped; sorted look-ups by id and by hash of the text."""

    def __init__(self, folder: Path, field: EncodedField) -> None:
        self.field = field
        self._folder = folder
        self.ids: Ints = read_array(folder / f"{field}.ids.npy")
        self.matrix: npt.NDArray[np.float16] = read_array(folder / f"{field}.npy")

    @cached_property
    def nearest(self) -> Nearest | None:
        """The vector index, if the segment is large enough to have one."""
        return open_nearest(self._folder, self.field)

    @cached_property
    def _by_id(self) -> Ints:
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _hashes(self) -> Ints:
        hashes: Ints = read_array(self._folder / f"{self.field}.hashes.npy")
        return hashes

    @cached_property
    def _by_hash(self) -> Ints:
        return np.argsort(self._hashes, kind="stable")

    def with_ids(self, ids: Ints) -> Ints:
        """Return the rows of posts, -1 for those that are not here."""
        return _rows(self.ids, self._by_id, ids)

    def with_hashes(self, hashes: Ints) -> Ints:
        """Return the rows of texts by their hashes, -1 for unknown texts."""
        return _rows(self._hashes, self._by_hash, hashes)

    def search(self, query: Values, k: int) -> Hits:
        """Return the k posts with the largest similarity, best first."""
        near = search_rows(self.matrix, query, k, self.nearest)
        return Hits(self.ids[near.rows], near.scores.astype(np.float64))


class EncodedPosts:
    """The vectors of the posts of an index, over all its segments. A post that a later segment has replaced is read there."""

    def __init__(self, segments: Sequence[Mapping[str, FieldVectors]], encoder: IndexEncoder) -> None:
        self._segments = segments
        self.encoder = encoder

    @property
    def fields(self) -> tuple[str, ...]:
        """The encoded fields."""
        return self.encoder.entry.fields

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
        """Return the k posts of a field with the largest similarity, best first; posts that were replaced or deleted may be among them."""
        found = [segment[field].search(query, k) for segment in self._segments if field in segment]
        ids = np.concatenate([one.numbers for one in found]) if found else np.empty(0, np.int64)
        scores = np.concatenate([one.scores for one in found]) if found else np.empty(0)
        order = np.lexsort((ids, -scores))[:k]
        return Hits(ids[order], scores[order])


def open_fields(folder: Path, fields: Sequence[EncodedField]) -> dict[str, FieldVectors]:
    """Open the vectors of a segment; none if it has no such folder."""
    return {field: FieldVectors(folder, field) for field in fields} if folder.is_dir() else {}


def _rows(values: Ints, order: Ints, wanted: Ints) -> Ints:
    if not len(values):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(values, wanted, sorter=order), len(values) - 1)
    rows = order[at]
    return np.where(values[rows] == wanted, rows, -1)
