"""The page of a thread: a question with its answers, comments and linked questions, as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

from porism.search.display.page_math import page_math
from porism.search.display.parsed_formulas import mathml_of
from porism.search.display.unmarked import with_unmarked
from porism.search.engine import Engine
from porism.text.page import PageRenderer
from porism.text.render import plain_text
from porism.text.segment import Segment, Text
from porism.web.api.views import PostView, ThreadView
from porism.web.pages.filters import formula_link


@dataclass(frozen=True, slots=True)
class RenderedPost:
    """A post with its body and comments as HTML."""

    view: PostView
    body: Markup
    comments: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A linked question in the collection."""

    thread_id: int
    title: Markup
    kind: str


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """A thread ready for the template."""

    title: Markup
    plain_title: str
    question: RenderedPost
    answers: tuple[RenderedPost, ...]
    links: tuple[LinkedQuestion, ...]


def thread_page(engine: Engine, thread: ThreadView) -> ThreadPage:
    """Return everything that the page of a thread shows: the accepted answer first, then by score."""
    question = thread.question.post
    answers = sorted(
        thread.answers, key=lambda view: (view.post.id != question.accepted_id, -view.post.score, view.post.id)
    )
    return ThreadPage(
        body_html(question.title) or escape(f"Thread {question.id}"),
        plain_text(question.title, lambda formula: formula.text),
        _rendered(thread.question),
        tuple(_rendered(view) for view in answers),
        tuple(_linked_questions(engine, thread)),
    )


def _rendered(view: PostView) -> RenderedPost:
    return RenderedPost(view, body_html(view.post.body), tuple(body_html(comment.body) for comment in view.comments))


def _linked_formula(segment: Segment) -> str:
    return str(formula_link(segment.text, mathml_of(segment.text)))


# Formulas of a body link to similar formulas. A title is a link itself, so its formulas are not.
BODY = PageRenderer(_linked_formula)
TITLE = PageRenderer(lambda segment: page_math(mathml_of(segment.text)))


def body_html(text: Text) -> Markup:
    """Return a field of a post as HTML; its formulas link to similar formulas."""
    return Markup(BODY.render(with_unmarked(text)))


def _linked_questions(engine: Engine, thread: ThreadView) -> Iterable[LinkedQuestion]:
    for link in thread.links:
        if engine.collection.has_post(link.other_id):
            other = engine.collection.post(link.other_id)
            title = Markup(TITLE.render(with_unmarked(other.title)))
            yield LinkedQuestion(other.thread_id, title or escape(f"Post {other.id}"), link.kind)
