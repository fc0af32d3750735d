"""Pages to read: the instructions, and threads of the collection."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from porism.corpus.post import Comment, Post, Thread
from porism.corpus.store.collection import Collection
from porism.lab.judging.content import Content
from porism.lab.judging.scale import grades
from porism.text.segment import EMPTY
from porism.web.assess.requests import Refused, RequestContext


def instructions(context: RequestContext) -> Response:
    """Explain the grades and how judging works."""
    return context.page("instructions.html", grades=grades())


@dataclass(frozen=True, slots=True)
class CommentView:
    """A comment with its HTML."""

    comment: Comment
    html: str


@dataclass(frozen=True, slots=True)
class PostView:
    """A post with its HTML, its author and its comments."""

    post: Post
    title: str
    body: str
    author: str
    accepted: bool
    comments: tuple[CommentView, ...]


@dataclass(frozen=True, slots=True)
class LinkView:
    """A linked question of the collection."""

    kind: str
    address: str
    title: str


def thread(context: RequestContext) -> Response:
    """Show a question of the collection with its comments, answers and links."""
    return _thread_page(context, context.app.content.collection, context.number("thread"))


def topic_thread(context: RequestContext) -> Response:
    """Show the topic's own thread with the answers it got later; only assessors may see it."""
    assignment = context.assignment()
    thread_id = context.app.topic_thread(assignment)
    if thread_id is None or context.app.topic_threads is None:
        raise Refused(404, "The thread of this topic is not available here.")
    return _thread_page(context, context.app.topic_threads, thread_id)


def _thread_page(context: RequestContext, collection: Collection, thread_id: int) -> Response:
    content = context.app.content
    if not collection.has_post(thread_id):
        raise Refused(404, "There is no such thread in the collection.")
    found = collection.thread(thread_id)
    posts = [_post_view(content, collection, found, post) for post in (found.question, *found.answers)]
    links = [
        LinkView(
            link.kind,
            content.post_address(link.other_id),
            content.render(content.collection.title(link.other_id) or EMPTY),
        )
        for link in found.links
        if content.collection.has_post(link.other_id)
    ]
    return context.page("thread.html", question=posts[0], answers=posts[1:], links=links)


def _post_view(content: Content, collection: Collection, found: Thread, post: Post) -> PostView:
    user = collection.user(post.owner_id)
    comments = tuple(
        CommentView(comment, content.render(comment.body)) for comment in found.comments if comment.post_id == post.id
    )
    author = f"{user.name or user.id} ({format_reputation(user.reputation)})" if user else "unknown"
    accepted = post.id == found.question.accepted_id
    return PostView(post, content.render(post.title), content.render(post.body), author, accepted, comments)


def format_reputation(points: int) -> str:
    """Return 950, 1.2k or 12k."""
    if points < 1000:
        return str(points)
    return f"{points / 1000:.1f}k" if points < 10_000 else f"{points // 1000}k"
