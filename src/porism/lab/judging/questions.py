"""Questions that assessors ask the organiser about an item, and the organiser's answers. Both are events of the journal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.assignments import Assignment, assigned_items, find_assignment
from porism.lab.judging.record import ITEM_FIELDS, TEXT_LIMIT, record_entries
from porism.lab.judging.storage.journal import Entry, Event, Journal


class Message(NamedTuple):
    """A question or an answer."""

    at: float
    author: str
    is_question: bool
    text: str


class Conversation(NamedTuple):
    """The questions and answers about one item of one assignment, in the order they came."""

    assignment: Assignment
    position: int
    item: str  # the key of the item
    messages: tuple[Message, ...]

    @property
    def is_open(self) -> bool:
        """Whether the last message is a question."""
        return self.messages[-1].is_question


def ask(journal: Journal, assessor: str, assignment_id: int, item: str, text: str, request_key: str) -> None:
    """Store a question of an assessor about an item of an own assignment."""
    record_entries(journal, assessor, assignment_id, [Entry(item, 1, "question", _checked(text))], request_key)


def answer(journal: Journal, organiser: str, assignment_id: int, item: str, text: str, request_key: str) -> None:
    """Store the organiser's answer to a question."""
    if not messages(journal, assignment_id, item):
        raise PorismError("nobody asked about this item", fix="go back to the list of questions")
    journal.append(organiser, assignment_id, [Entry(item, 1, "answer", _checked(text))], request_key)


def _checked(text: str) -> str:
    stripped = text.strip()
    if not stripped:
        raise PorismError("the text is empty", fix="write something")
    if not ITEM_FIELDS["question"].fullmatch(stripped):
        raise PorismError("the text is too long", fix=f"use at most {TEXT_LIMIT} characters")
    return stripped


def messages(journal: Journal, assignment_id: int, item: str) -> tuple[Message, ...]:
    """Return the messages about one item of one assignment."""
    return _messages(event for event in journal.messages(assignment_id) if event.item == item)


def _messages(events: Iterable[Event]) -> tuple[Message, ...]:
    return tuple(Message(event.at, event.assessor, event.field == "question", event.value) for event in events)


def conversations(journal: Journal) -> list[Conversation]:
    """Return all conversations: those that wait for an answer first, then the latest."""
    by_item: dict[tuple[int, str], list[Event]] = {}
    for event in journal.messages():
        by_item.setdefault((event.assignment, event.item), []).append(event)
    found = []
    for (assignment_id, item), events in by_item.items():
        position = next(one.position for one in assigned_items(journal, assignment_id) if one.key == item)
        found.append(Conversation(find_assignment(journal, assignment_id), position, item, _messages(events)))
    return sorted(found, key=lambda one: (not one.is_open, -one.messages[-1].at))
