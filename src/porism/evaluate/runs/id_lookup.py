"""Look up the ids of a run in a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from porism.corpus.content import batched
from porism.corpus.post import Formula
from porism.errors import PorismError

BATCH = 1000  # posts that are read together, with their texts


class IdLookup(Protocol):
    """What the check of a run needs to know about ids."""

    def post_kinds(self, ids: Iterable[int]) -> dict[int, str]:
        """Return `question` or `answer` for those of the ids that are posts."""
        ...

    def formulas(self, ids: Iterable[int]) -> dict[int, Formula]:
        """Return those of the ids that are formulas."""
        ...


class CollectionLookup:
    """Look up ids in a collection."""

    def __init__(self, address: str | Path) -> None:
        from porism.store import open_content

        self.content = open_content(address)

    def post_kinds(self, ids: Iterable[int]) -> dict[int, str]:
        """Return `question` or `answer` for those of the ids that are posts."""
        kinds: dict[int, str] = {}
        for known in batched(sorted(self.content.known_posts([*ids])), BATCH):
            kinds.update((number, post.kind) for number, post in self.content.posts_by_id(known).items())
        return kinds

    def formulas(self, ids: Iterable[int]) -> dict[int, Formula]:
        """Return those of the ids that are formulas."""
        return self._formulas(sorted(set(ids)))

    def _formulas(self, ids: Sequence[int]) -> dict[int, Formula]:
        """A batch refuses an unknown formula: its halves are then read, and so on, until only the unknown ones are left
        out."""
        try:
            return self.content.formulas_by_id(ids)
        except PorismError:
            middle = len(ids) // 2
            return {**self._formulas(ids[:middle]), **self._formulas(ids[middle:])} if middle else {}

    def bodies(self, items: Iterable[str]) -> dict[str, str]:
        """Return the HTML of those posts that the collection has."""
        numbers = {item: int(item) for item in items}
        posts = self.content.posts_by_id([*self.content.known_posts([*numbers.values()])])
        return {item: posts[number].body.html() for item, number in numbers.items() if number in posts}
