"""What a part of a system works with: the index, the collection, hand-written queries, progress, and a cache beside the
index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from porism.corpus.content import Content, formulas_fingerprint
from porism.errors import PorismError
from porism.files import atomic_directory
from porism.hashing import fingerprint
from porism.progress import Progress, Silent
from porism.search.index import Index
from porism.search.query import Kind
from porism.store.state import no_place
from porism.systems.topic_queries import HandQueries

if TYPE_CHECKING:
    from porism.search.retriever import Retriever

FUSE = "fuse"  # the part that fuses other systems


@dataclass(frozen=True)
class SystemContext:
    """What the factory of a part receives. `overrides` are options of parts (part -> option -> value) that win over the
    declaration; `models` are the directories of named models."""

    index: Index
    task: int
    cache: Path | None  # none where the store has no place for it
    queries: HandQueries | None = None
    progress: Progress = field(default_factory=Silent)
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "answers"  # what the topics ask for

    @property
    def content(self) -> Content:
        """The posts that parts read."""
        return self.index.content

    @property
    def prepared(self) -> Path:
        """The folder of what parts prepare once."""
        if self.cache is None:
            raise no_place()
        return self.cache

    def system(self, name: str, task: int | None = None) -> Retriever:
        """Build another system on the same index, for the same task unless `task` names another one. Options that
        override those of a fusion concern the outer one, so they are not passed on."""
        from porism.systems.declared.pipeline import build_system

        inner = {part: options for part, options in self.overrides.items() if part != FUSE}
        return build_system(name, replace(self, task=task or self.task, overrides=inner))

    def cached(self, name: str, key: object, build: Callable[[Path], None], code: tuple[str, ...] = ()) -> Path:
        """Return a folder beside the index that `build(folder)` fills once.

        The folder belongs to the collection, to `key` (anything that JSON can write), and to the code that makes it:
        the module of `build`, the modules and packages of `code`, and the parser of formulas. When one of them changes,
        it is built anew. Two processes may call it at once: the second waits.
        """
        function = build
        while isinstance(function, partial):
            function = function.func
        modules = (getattr(function, "__module__", type(self).__module__), *code)
        ours = tuple(module for module in modules if module.startswith("porism."))
        parts = [name, key, self.content.digest, formulas_fingerprint(), fingerprint(ours) if ours else ""]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
        target = self.prepared / f"{name}-{digest}"
        if target.is_dir():
            return target
        try:
            self.prepared.mkdir(parents=True, exist_ok=True)
            with FileLock(self.prepared / f".{target.name}.lock"):
                if not target.is_dir():
                    with atomic_directory(target) as folder:
                        build(folder)
        except PermissionError:
            raise PorismError("cannot be written", where=str(self.cache), fix="name a folder: --cache DIR") from None
        return target


def check_share(name: str, value: float) -> None:
    """Refuse an option that is no number from 0 to 1."""
    if not 0 <= value <= 1:
        raise PorismError(f"{name} is {value:g}", fix="write a number from 0 to 1")
