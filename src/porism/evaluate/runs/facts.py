"""What a collection knows of the ids in a run; the check asks here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from porism.errors import PorismError
from porism.records import Formula


class Facts(Protocol):
    """Answers about ids; None means unknown."""

    def post_kind(self, post: int) -> str | None:
        """`question`, `answer`, or None if there is no such post."""

    def formula(self, identifier: int) -> Formula | None:
        """The formula, or None if there is no such."""


class CollectionFacts:
    """Facts from a collection on disk, looked up when asked."""

    def __init__(self, path: str | Path) -> None:
        from porism.corpus.store.collection import Collection

        self.collection = Collection.open(Path(path))
        self.post_kind = lru_cache(maxsize=1 << 20)(self._post_kind)

    def _post_kind(self, post: int) -> str | None:
        try:
            return self.collection.post(post).kind
        except PorismError:
            return None

    def formula(self, identifier: int) -> Formula | None:
        """The formula, or None."""
        try:
            return self.collection.formula(identifier)
        except PorismError:
            return None

    def bodies(self, items: Iterable[str]) -> dict[str, str]:
        """The HTML of those posts that the collection has."""
        return {item: self.collection.post(int(item)).body for item in items if self.post_kind(int(item))}
