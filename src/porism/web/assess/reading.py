"""Pages to read: the instructions, and threads of the collection."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.lab.judging.content import Content
from porism.lab.judging.record import own_assignment
from porism.lab.judging.scale import grades
from porism.records import Comment, Post, Thread
from porism.web.assess.guard import Refused, Visit


def instructions(visit: Visit) -> Response:
    """What the grades mean, and how judging works."""
    return visit.page("instructions.html", grades=grades())


@dataclass(frozen=True, slots=True)
class Shown:
    """A post as it stands on the page."""

    post: Post
    title: str
    body: str
    author: str
    accepted: bool
    comments: tuple[tuple[Comment, str], ...]


def thread(visit: Visit) -> Response:
    """A question of the collection with its comments, answers and links."""
    return _thread_page(visit, visit.room.content.collection, visit.number("thread"))


def topic_thread(visit: Visit) -> Response:
    """The topic's own thread, with the answers it got later: for assessors alone, to learn from."""
    journal = visit.room.journal
    try:
        job = own_assignment(journal, visit.name, visit.number("job"))
    except PorismError as error:
        raise Refused(404, error.message) from None
    number = visit.room.topic_thread(job)
    if number is None or visit.room.topic_threads is None:
        raise Refused(404, "The thread of this topic is not known here.")
    return _thread_page(visit, visit.room.topic_threads, number)


def _thread_page(visit: Visit, collection: Collection, number: int) -> Response:
    content = visit.room.content
    if not collection.has_post(number):
        raise Refused(404, "There is no such thread in the collection.")
    found = collection.thread(number)
    shown = [_shown(content, collection, found, post) for post in (found.question, *found.answers)]
    links = [
        (link.kind, content.post_address(link.other_id), content.render(content.collection.title(link.other_id) or ""))
        for link in found.links
        if content.collection.has_post(link.other_id)
    ]
    return visit.page("thread.html", question=shown[0], answers=shown[1:], links=links)


def _shown(content: Content, collection: Collection, found: Thread, post: Post) -> Shown:
    user = collection.user(post.owner_id)
    comments = tuple((one, content.render(one.body)) for one in found.comments if one.post_id == post.id)
    author = f"{user.name or user.id} ({reputation(user.reputation)})" if user else "unknown"
    accepted = post.id == found.question.accepted_id
    return Shown(post, content.render(post.title), content.render(post.body), author, accepted, comments)


def reputation(points: int) -> str:
    """950, 1.2k, 12k."""
    if points < 1000:
        return str(points)
    return f"{points / 1000:.1f}k" if points < 10_000 else f"{points // 1000}k"
