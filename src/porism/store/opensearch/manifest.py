"""What a collection in a cluster is: the manifest of a build, which every commit replaces, and what each commit
changed.

The manifest is one document and the commit point: a writer replaces it only if it is still the one that it read. A
commit document holds what changed since the commit before, so that a reader who follows reads only new ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from porism.analysis.schema import DOCUMENT, THREAD, View
from porism.errors import PorismError
from porism.store.embedded.manifest import terms_fingerprint
from porism.store.opensearch.schema import FORMAT
from porism.store.protocols import LogPosition


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of the term tables: its bytes, the number of blocks in the cluster, and its checksum."""

    size: int
    blocks: int
    digest: str


@dataclass(frozen=True, slots=True)
class Family:
    """A family of terms: the mean length by which its frequencies are normalised, their scale, the number of codes, and
    the sum of its lengths by field, over questions and over answers (or over formulas)."""

    mean: float
    scale: int
    codes: int
    questions: tuple[int, ...]
    answers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreManifest:
    """One generation of a collection. `build` numbers its indexes, `facts` is what the build of the content recorded,
    `highest` has the highest ids in use, `commits` are the generations whose commit documents changed the build."""

    build: int
    generation: int
    name: str
    view: str
    counts: Mapping[str, int]
    posts: Mapping[str, Family]
    formulas: Mapping[str, Family]
    facts: Mapping[str, Any]
    highest: Mapping[str, int]
    files: Mapping[str, TableFile]
    has_votes: bool
    has_dates: bool
    links: bool = True
    vectors: bool = True
    ranking: str = ""
    log: str = ""
    log_sequence: int = 0
    committed: float = 0.0
    commits: tuple[int, ...] = ()
    changed: int = 0  # threads that commits replaced, added or deleted
    terms: str = field(default_factory=terms_fingerprint)
    format: int = FORMAT

    @property
    def log_position(self) -> LogPosition:
        """The last record of a change log that the store has."""
        return LogPosition(self.log, self.log_sequence)

    def at_position(self, position: LogPosition) -> StoreManifest:
        """Return the manifest with another position of the change log."""
        return replace(self, log=position.log, log_sequence=position.sequence)

    @property
    def main_view(self) -> View:
        """The view by which the frequencies of threads are normalised."""
        return DOCUMENT if self.view == "document" else THREAD

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), ensure_ascii=True).encode()


def view_name(view: View) -> str:
    """Return the name of a main view."""
    return "document" if view == DOCUMENT else "thread"


def read_manifest(data: bytes, address: str) -> StoreManifest:
    """Return the manifest, or say why this version of Porism cannot read the collection."""
    raw = json.loads(data)
    again = f"copy it again: porism store copy FOLDER {address}"
    if raw["format"] > FORMAT:
        fact = f"has format {raw['format']}, which is newer than this version of Porism reads ({FORMAT})"
        raise PorismError(fact, where=address, fix="update Porism")
    if raw["format"] < FORMAT or raw["terms"] != terms_fingerprint():
        raise PorismError("was made by another version of Porism, whose terms differ", where=address, fix=again)
    for group in ("posts", "formulas"):
        raw[group] = {
            name: Family(**{**one, "questions": tuple(one["questions"]), "answers": tuple(one["answers"])})
            for name, one in raw[group].items()
        }
    raw["files"] = {name: TableFile(**one) for name, one in raw["files"].items()}
    raw["commits"] = tuple(raw["commits"])
    return StoreManifest(**raw)
