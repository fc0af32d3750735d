"""What the manifest of an index says of its encoder: the model's record, where the model is, and which fields are
encoded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.pieces import FIELDS, FORMAT, OPTION, EncodedField
from porism.errors import PorismError
from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.encoder import BiEncoder, Role, encode_query
from porism.store.embedded.manifest import Manifest

DEFAULT_LENGTH = 192  # tokens of a post; more cost more and gain little on questions and answers
PROBE = "Prove that $\\sqrt{2}$ is irrational."
# In a segment. New vectors are written into the folder that the last commit does not name, so that a killed run leaves
# those before whole.
FOLDERS = ("encoded", "encoded-2")
DEFAULT_FIELDS: tuple[EncodedField, ...] = FIELDS
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EncoderEntry:
    """The encoder of an index. Its vectors can be compared with those of the same model only."""

    model: ModelRecord
    place: str  # a directory, or the name of an installed package
    fields: tuple[EncodedField, ...]
    texts: str = FORMAT
    folder: str = FOLDERS[0]

    def as_option(self) -> str:
        """Return the entry as an option of the manifest."""
        raw = {"model": self.model.as_dict(), "place": self.place, "fields": list(self.fields), "texts": self.texts}
        raw |= {} if self.folder == FOLDERS[0] else {"folder": self.folder}
        return json.dumps(raw, sort_keys=True)

    @classmethod
    def of(cls, manifest: Manifest) -> EncoderEntry | None:
        """Return the entry of a manifest; None if the index has no vectors of posts."""
        text = manifest.options.get(OPTION)
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
        self._place = str(place or entry.place)
        self._lock = Lock()
        self._model: BiEncoder | None = None

    @classmethod
    def new(cls, place: str | Path, fields: Sequence[EncodedField], length: int = DEFAULT_LENGTH) -> IndexEncoder:
        """Load a model for an index without vectors."""
        directory = ModelDirectory.open(place)
        most = int(directory.config.get("max_position_embeddings") or length)
        model = BiEncoder(directory, min(length, most))
        model.encode([PROBE])  # damaged weights are found now, not after the work
        known = str(Path(place).resolve()) if Path(place).is_dir() else str(place)  # or the name of a package
        encoder = cls(EncoderEntry(model.record, known, tuple(one for one in FIELDS if one in fields)))
        encoder._model = model
        return encoder

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.entry.model.name

    def as_dict(self) -> dict[str, Any]:
        """Return what a record of a run says of the model."""
        return self.entry.model.as_dict()

    @property
    def digest(self) -> str:
        """The digest of the model."""
        return self.entry.model.digest

    @property
    def fields(self) -> tuple[str, ...]:
        """The encoded fields."""
        return self.entry.fields

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
