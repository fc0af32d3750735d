"""Pages and files read what they show in batches: the number of requests does not grow with the answers, comments,
links and hits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from porism.search.engine import Engine
from porism.web.api import views
from porism.web.pages.attribution import NO_SITE
from porism.web.pages.exports import hits_bibtex
from porism.web.pages.thread_page import ThreadOptions, thread_page


class CountedContent:
    """Content that counts which of its methods are called."""

    def __init__(self, content: Any) -> None:
        self.content = content
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.content, name)


@pytest.fixture
def engine(demo: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine.open(demo / "index")
    monkeypatch.setattr(made.snapshot, "content", CountedContent(made.content))
    return made


def test_the_page_of_a_long_thread_needs_one_request_of_each_kind(engine: Engine) -> None:
    threads = engine.content.content.threads()  # type: ignore[attr-defined]
    longest = max(threads, key=lambda one: len(one.answers) * len(one.comments) * (1 + len(one.links)))
    assert min(len(longest.answers), len(longest.comments), len(longest.links) + 1) > 1
    view = views.thread(engine, longest.question.id)
    page = thread_page(engine, view, ThreadOptions())
    assert len(page.answers) == len(longest.answers)
    assert any(one.author for one in (page.question, *page.answers))
    assert sum(len(one.comments) for one in (page.question, *page.answers)) == len(longest.comments)
    expected = {"threads_by_id": 1, "users_by_id": 1, "known_posts": 1, "posts_by_id": 1}
    assert engine.content.calls == expected  # type: ignore[attr-defined]


def test_citations_of_many_hits_need_one_request_of_each_kind(engine: Engine) -> None:
    hits = engine.search("proof that $\\sqrt{2}$ is irrational", k=20).hits
    assert len(hits) > 5
    engine.content.calls.clear()  # type: ignore[attr-defined]
    text = hits_bibtex(engine, hits, NO_SITE, "http://here")
    assert text.count("@misc{") == len(hits)
    expected = {"posts_by_id": 2, "users_by_id": 1}  # posts, then their questions
    assert engine.content.calls == expected  # type: ignore[attr-defined]
