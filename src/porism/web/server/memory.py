"""The last answers of the server: what is asked again is answered at once. An index never changes, so no answer goes stale."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

MOST = 256  # answers of ten hits take about 60 KB each

Key = tuple[str, tuple[tuple[str, Any], ...]]


class Memory:
    """Answers by view and parameters, the least lately asked forgotten first. Used from the event loop alone, so it needs no lock."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[Key, Any] = OrderedDict()

    @staticmethod
    def key(view: Callable[..., Any], values: Mapping[str, Any]) -> Key:
        """What makes two requests the same."""
        return view.__name__, tuple(sorted(values.items()))

    def recall(self, key: Key) -> Any:
        """The answer, with the time that it takes now, or None."""
        began = time.perf_counter()
        found = self._known.get(key)
        if found is None:
            return None
        self._known.move_to_end(key)
        return replace(found, seconds=time.perf_counter() - began)

    def keep(self, key: Key, record: Any) -> None:
        """Remember an answer."""
        self._known[key] = record
        if len(self._known) > self._most:
            self._known.popitem(last=False)
