"""A snapshot that counts the calls of another one: each is a request where a store is a search cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any

from porism.corpus.content import Content
from porism.store.protocols import Learned, Snapshot
from porism.store.records import StoreInfo

CALLS = ("statistics", "search", "threads", "formulas", "posts", "locate")


class Calls:
    """The names of the methods that were called, in their order; those of content are named `content.uses` and so
    on."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._lock = Lock()

    def counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that counts its calls."""

        @wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            with self._lock:
                self._names.append(name)
            return method(*args, **options)

        return call

    def take(self) -> list[str]:
        """Return the calls since the last time, and begin anew."""
        with self._lock:
            found, self._names = self._names, []
        return found


class _CountingContent:
    """Content whose methods are counted; a property is read when the snapshot is opened, and costs nothing."""

    def __init__(self, content: Content, calls: Calls) -> None:
        self._content = content
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._content, name)
        return self._calls.counted(f"content.{name}", value) if callable(value) else value


class CountingSnapshot:
    """A proxy of a snapshot; `calls` counts its methods and those of its content. What it is and what it learned was
    read before."""

    statistics: Callable[..., Any]
    search: Callable[..., Any]
    threads: Callable[..., Any]
    formulas: Callable[..., Any]
    posts: Callable[..., Any]
    locate: Callable[..., Any]

    def __init__(self, snapshot: Snapshot) -> None:
        self.calls = Calls()
        self.info: StoreInfo = snapshot.info
        self.learned: Learned = snapshot.learned
        self.content: Any = _CountingContent(snapshot.content, self.calls)
        for name in CALLS:
            setattr(self, name, self.calls.counted(name, getattr(snapshot, name)))
