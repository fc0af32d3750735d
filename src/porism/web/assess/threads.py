"""Pages to read: the instructions, and threads of the collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from porism.corpus.content import Content
from porism.corpus.post import Comment, Post, Thread, User
from porism.lab.judging.content import ContentRenderer
from porism.lab.judging.scale import grades
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


def _thread_page(context: RequestContext, stored: Content, thread_id: int) -> Response:
    content = context.app.content
    if not stored.known_posts([thread_id]):
        raise Refused(404, "There is no such thread in the collection.")
    found = stored.threads_by_id([thread_id])[thread_id]
    posts = (found.question, *found.answers)
    users = stored.users_by_id([post.owner_id for post in posts if post.owner_id is not None])
    views = [_post_view(content, found, post, users) for post in posts]
    others = content.collection.known_posts([link.other_id for link in found.links])
    linked = content.collection.posts_by_id(list(others))
    links = [
        LinkView(link.kind, content.address(other.thread_id, other.id), content.render(other.title))
        for link in found.links
        if (other := linked.get(link.other_id))
    ]
    return context.page("thread.html", question=views[0], answers=views[1:], links=links)


def _post_view(content: ContentRenderer, found: Thread, post: Post, users: Mapping[int, User]) -> PostView:
    user = None if post.owner_id is None else users.get(post.owner_id)
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
