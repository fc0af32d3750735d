"""What analytics record of a page of results."""

from __future__ import annotations

from typing import Any

from porism.search.analytics.store import Search, ShownHit

POST_TABS = ("answers", "questions")  # whose hits are posts


def search_event(values: dict[str, Any], found: Any) -> Search:
    """Return a page of results as an event. Positions count only where hits are in the order of relevance."""
    offset, tab = values["offset"], values["tab"]
    hits: tuple[ShownHit, ...] = ()
    if tab in POST_TABS and values["sort"] == "relevance":
        hits = tuple(ShownHit(hit.id, offset + at) for at, hit in enumerate(found.hits, 1))
    results = int(bool(found.text)) if tab == "ask" else found.total
    return Search(values["q"], tab, results, hits, offset == 0)
