"""Look up the ids of a run in a collection."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from porism.corpus.post import Formula
from porism.errors import PorismError


class IdLookup(Protocol):
    """What the check of a run needs to know about ids."""

    def post_kind(self, post: int) -> str | None:
        """Return `question` or `answer`, or None if there is no such post."""

    def formula(self, identifier: int) -> Formula | None:
        """Return the formula, or None if there is none."""


class CollectionLookup:
    """Look up ids in a collection on disk."""

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
        """Return the formula, or None if there is none."""
        try:
            return self.collection.formula(identifier)
        except PorismError:
            return None

    def bodies(self, items: Iterable[str]) -> dict[str, str]:
        """Return the HTML of those posts that the collection has."""
        return {item: self.collection.post(int(item)).body.html() for item in items if self.post_kind(int(item))}
