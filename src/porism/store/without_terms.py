"""A snapshot of content alone: a collection that was not indexed."""

from __future__ import annotations

from typing import Any, NoReturn

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.store.protocols import Learned, StoreInfo
from porism.store.weighting import ViewCounts


class ContentSnapshot:
    """Content without terms: what is read of terms is refused in one sentence."""

    def __init__(self, address: str, content: Content) -> None:
        self.content = content
        counts = ViewCounts(0, 0.0)
        self.info = StoreInfo(address, content.name, 0, content.digest, {}, lambda *_: counts, frozenset(), False)

    @property
    def learned(self) -> Learned:
        """Nothing is learned without an index."""
        self._refuse()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        place = self.info.address
        raise PorismError(
            "is a collection, not an index", where=place, fix=f"index it: porism index {place} -o {place}-index"
        )

    statistics = search = threads = formulas = posts = locate = _refuse
