"""How many threads have terms, for those who read a query: spelling and the readings of formulas ask for all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from porism.store.protocols import Snapshot
from porism.store.records import Term


class Wanted(NamedTuple):
    """A term by its family and its text."""

    family: str
    text: str


class Frequencies:
    """The numbers of threads with terms, remembered while a query is read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[Wanted, int] = {}

    def ask(self, terms: Iterable[Wanted]) -> None:
        """Ask for terms in one call, so that `documents` knows them."""
        new = [one for one in dict.fromkeys(terms) if one not in self._known]
        if new:
            found = self._snapshot.statistics([Term(*one) for one in new]).documents.tolist()
            self._known.update(zip(new, found, strict=True))

    def documents(self, family: str, texts: Sequence[str]) -> list[int]:
        """Return the number of threads with each term."""
        wanted = [Wanted(family, text) for text in texts]
        self.ask(wanted)
        return [self._known[one] for one in wanted]
