"""Pages about a whole topic: its narrative, the list of its items, the order of preference, and what assessors read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from porism.corpus.content import Content
from porism.corpus.post import Comment, Post, Thread, User
from porism.lab.judging.assignments import (
    EXTRA_QUESTIONS,
    AssignedItem,
    Assignment,
    assigned_items,
    is_done,
    needs_narrative,
    progress,
)
from porism.lab.judging.content import ContentRenderer, answer_blocks
from porism.lab.judging.items import find_topic
from porism.lab.judging.journal import FieldKey, JournalEntry, Values, topic_field
from porism.lab.judging.record import record_entries
from porism.lab.judging.scale import RELEVANT, Grade, grade, grades
from porism.web.assess.requests import RefusedRequest, RequestContext

TOPIC_FIELDS = ("narrative", "text_alone", "formulas_alone")
YES_NO = {"1": "yes", "0": "no", "": "–"}
# An excerpt ends after the block with which it passes this length.
EXCERPT_LENGTH = 160


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item in the list: its position, its grades in words, and whether it is done."""

    position: int
    grades: str
    done: bool


@dataclass(frozen=True, slots=True)
class PreferenceRow:
    """A relevant answer in the order of preference, with the beginning of its text."""

    item: AssignedItem
    excerpt: str
    grade: Grade | None


def topic(context: RequestContext) -> Response:
    """Show the topic alone: the assessor describes a good answer before seeing any candidate."""
    return _topic_page(context, context.assignment(), [], 200)


def _topic_page(context: RequestContext, assignment: Assignment, problems: list[str], status: int) -> Response:
    app = context.app
    found = find_topic(app.journal, assignment.task, assignment.topic)
    values = app.journal.current_values(assignment.id)
    return context.page(
        "topic.html",
        status,
        assignment=assignment,
        topic_thread=app.topic_thread(assignment) is not None,
        title=app.content.render(found.title, found.formula_id),
        question=app.content.render(found.question, found.formula_id),
        tags=found.tags,
        values={field: values.get(topic_field(field), "") for field in TOPIC_FIELDS},
        problems=problems,
        request_key=context.new_request_key(),
    )


def save_topic(context: RequestContext) -> Response:
    """Store the narrative and the answers to the two questions, then continue with judging."""
    assignment = context.assignment()
    values = context.app.journal.current_values(assignment.id)
    given = {field: context.text(field).strip() for field in TOPIC_FIELDS}
    changed = {field: text for field, text in given.items() if text and text != values.get(topic_field(field))}
    entries = [JournalEntry("", 0, field, text) for field, text in changed.items()]
    record_entries(context.app.journal, context.account, assignment.id, entries, context.text("request_key"))
    if not all(given.values()):
        return _topic_page(context, assignment, ["Please write the narrative and answer both questions."], 422)
    return RedirectResponse(f"/judge/{assignment.id}", 303)


def _item_row(assignment: Assignment, item: AssignedItem, values: Values) -> ItemRow:
    if assignment.purpose == "extra":
        words = [YES_NO[values.get(FieldKey(item.key, 1, question), "")] for question in EXTRA_QUESTIONS]
    else:
        codes = [values.get(FieldKey(item.key, number, "grade"), "") for number in range(1, len(item.cards) + 1)]
        words = [step.name if code and (step := grade(int(code))) else "–" for code in codes]
    return ItemRow(item.position, ", ".join(words), is_done(item.key, len(item.cards), assignment.purpose, values))


def item_list(context: RequestContext) -> Response:
    """List every item of the assignment with its grades, so that the assessor can go back to any of them."""
    assignment = context.assignment()
    journal = context.app.journal
    values = journal.current_values(assignment.id)
    return context.page(
        "items.html",
        assignment=assignment,
        rows=[_item_row(assignment, item, values) for item in assigned_items(journal, assignment.id)],
        progress=progress(journal, assignment, 0, values),
        has_preference=assignment.task == 1 and assignment.purpose in ("main", "dual"),
        has_narrative=needs_narrative(assignment),
        in_order=context.app.in_order,
    )


def by_preference(items: list[AssignedItem], values: Values) -> list[AssignedItem]:
    """Return the relevant items in the assessor's order; those without a place come last, better grades first."""
    grades = {item.key: int(values.get(FieldKey(item.key, 1, "grade"), "") or 0) for item in items}
    relevant = [item for item in items if RELEVANT <= grades[item.key] <= 3]
    order = {key: n for n, key in enumerate(values.get(topic_field("preference"), "").split())}
    return sorted(relevant, key=lambda item: (order.get(item.key, len(order)), -grades[item.key], item.position))


def preference(context: RequestContext) -> Response:
    """Show the relevant answers in order of preference, with buttons to move each."""
    assignment = context.assignment()
    journal = context.app.journal
    values = journal.current_values(assignment.id)
    rows = [
        PreferenceRow(item, excerpt(context.app.content, item), grade(int(values[FieldKey(item.key, 1, "grade")])))
        for item in by_preference(assigned_items(journal, assignment.id), values)
    ]
    return context.page("preference.html", assignment=assignment, rows=rows, request_key=context.new_request_key())


def excerpt(content: ContentRenderer, item: AssignedItem) -> str:
    """Return the first blocks of an answer, enough to recognise it."""
    taken = ""
    for block in answer_blocks(content, item.cards[0], item.text):
        taken += block
        if len(re.sub(r"<[^>]*>", "", taken)) > EXCERPT_LENGTH:
            break
    return taken


def save_preference(context: RequestContext) -> Response:
    """Move one answer up or down; the whole order is stored as one event."""
    assignment = context.assignment()
    journal = context.app.journal
    values = journal.current_values(assignment.id)
    keys = [item.key for item in by_preference(assigned_items(journal, assignment.id), values)]
    direction, _, key = context.text("move").partition(":")
    if key in keys and direction in ("up", "down"):
        old = keys.index(key)
        new = max(0, old - 1) if direction == "up" else min(len(keys) - 1, old + 1)
        keys.insert(new, keys.pop(old))
    entries = [JournalEntry("", 0, "preference", " ".join(keys))]
    record_entries(journal, context.account, assignment.id, entries, context.text("request_key"))
    return RedirectResponse(f"/preference/{assignment.id}", 303)


def instructions(context: RequestContext) -> Response:
    """Explain the grades and how judging works."""
    return context.page("instructions.html", grades=grades())


@dataclass(frozen=True, slots=True)
class CommentView:
    """A comment with its HTML."""

    comment: Comment
    html: str


@dataclass(frozen=True, slots=True)
class ShownPost:
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
        raise RefusedRequest(404, "The thread of this topic is not available here.")
    return _thread_page(context, context.app.topic_threads, thread_id)


def _thread_page(context: RequestContext, stored: Content, thread_id: int) -> Response:
    content = context.app.content
    if not stored.known_posts([thread_id]):
        raise RefusedRequest(404, "There is no such thread in the collection.")
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


def _post_view(content: ContentRenderer, found: Thread, post: Post, users: Mapping[int, User]) -> ShownPost:
    user = None if post.owner_id is None else users.get(post.owner_id)
    comments = tuple(
        CommentView(comment, content.render(comment.body)) for comment in found.comments if comment.post_id == post.id
    )
    author = f"{user.name or user.id} ({format_reputation(user.reputation)})" if user else "unknown"
    accepted = post.id == found.question.accepted_id
    return ShownPost(post, content.render(post.title), content.render(post.body), author, accepted, comments)


def format_reputation(points: int) -> str:
    """Return 950, 1.2k or 12k."""
    if points < 1000:
        return str(points)
    return f"{points / 1000:.1f}k" if points < 10_000 else f"{points // 1000}k"
