"""Record what assessors enter, checked against the assignment, and questions with the organiser's answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.assignments import EXTRA_QUESTIONS, Assignment, assigned_items, find_assignment, submitted_items
from porism.lab.judging.journal import Event, Journal, JournalEntry
from porism.lab.judging.scale import grades

TEXT_LIMIT = 4000
_TEXT = re.compile(rf"(?s).{{0,{TEXT_LIMIT}}}")
# The fields of an item and of a topic, with the form of their values.
ITEM_FIELDS = {
    "grade": re.compile("|".join(str(step.code) for step in grades())),
    "comment": _TEXT,
    "machine": re.compile("[01]"),
    "unrelated": re.compile("[01]"),
    "question": _TEXT,
    "part": re.compile(r"\d{0,4}"),
    "open": re.compile(""),
    "submit": re.compile(""),
}
TOPIC_FIELDS = {
    "narrative": _TEXT,
    "text_alone": re.compile("yes|no"),
    "formulas_alone": re.compile("yes|no"),
    "preference": re.compile(r"[0-9a-f ]{0,20000}"),
}
REQUEST_KEY = re.compile(r"[A-Za-z0-9_:.-]{8,100}")


def own_assignment(journal: Journal, assessor: str, assignment_id: int) -> Assignment:
    """Return the assignment if it belongs to this assessor; report another's as missing."""
    assignment = find_assignment(journal, assignment_id)
    if assignment.assessor != assessor:
        raise PorismError(f"there is no assignment {assignment_id}", fix="go back to your list")
    return assignment


def record_entries(
    journal: Journal,
    assessor: str,
    assignment_id: int,
    entries: Sequence[JournalEntry],
    request_key: str,
    at: float | None = None,
) -> int:
    """Check entries and store all of them or none; return how many were new."""
    assignment = own_assignment(journal, assessor, assignment_id)
    if not REQUEST_KEY.fullmatch(request_key):
        raise PorismError("the form has no request key", fix="load the page again")
    # The number of cards of each item; 0 if it is not in this assignment.
    instances = "FROM assigned JOIN instance ON instance.item = assigned.item"
    count = f"SELECT count(*) {instances} WHERE assignment = ? AND assigned.item = ?"
    cards = {key: journal.count(count, (assignment_id, key)) for key in {entry.item for entry in entries}}
    for entry in entries:
        _check(entry, cards, assignment)
    submitted = submitted_items(journal, assignment_id) if assignment.purpose == "training" else set()
    for entry in entries:  # a repeated request changes nothing
        may_change = entry.item in submitted and entry.field != "open"
        if may_change and not journal.has_entry(assignment_id, entry, request_key):
            raise PorismError("a training grade cannot be changed after its feedback", fix="go on to the next item")
    return journal.append(assessor, assignment_id, entries, request_key, at)


def _check(entry: JournalEntry, cards: dict[str, int], assignment: Assignment) -> None:
    """Raise an error unless the entry belongs to this assignment and its value is valid."""
    form = (ITEM_FIELDS if entry.item else TOPIC_FIELDS).get(entry.field)
    if form is None:
        raise PorismError(f"there is no field {entry.field!r}", fix="load the page again")
    if entry.item and not 1 <= entry.instance <= cards.get(entry.item, 0):
        raise PorismError("the item is not in this assignment", fix="go back to your list")
    if not form.fullmatch(entry.value):
        short = len(entry.value) <= TEXT_LIMIT
        fact = f"{entry.value[:40]!r} is not a valid {entry.field}" if short else f"the {entry.field} is too long"
        raise PorismError(fact, fix="load the page again" if short else f"use at most {TEXT_LIMIT} characters")
    is_extra = assignment.purpose == "extra"
    if (entry.field == "grade" and is_extra) or (entry.field in EXTRA_QUESTIONS and not is_extra):
        raise PorismError(f"this assignment has no field {entry.field!r}", fix="go back to your list")


class ConversationMessage(NamedTuple):
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
    messages: tuple[ConversationMessage, ...]

    @property
    def is_open(self) -> bool:
        """Whether the last message is a question."""
        return self.messages[-1].is_question


def ask(journal: Journal, assessor: str, assignment_id: int, item: str, text: str, request_key: str) -> None:
    """Store a question of an assessor about an item of an own assignment."""
    record_entries(journal, assessor, assignment_id, [JournalEntry(item, 1, "question", _checked(text))], request_key)


def answer(journal: Journal, organiser: str, assignment_id: int, item: str, text: str, request_key: str) -> None:
    """Store the organiser's answer to a question."""
    if not messages(journal, assignment_id, item):
        raise PorismError("nobody asked about this item", fix="go back to the list of questions")
    journal.append(organiser, assignment_id, [JournalEntry(item, 1, "answer", _checked(text))], request_key)


def _checked(text: str) -> str:
    stripped = text.strip()
    if not stripped:
        raise PorismError("the text is empty", fix="write something")
    if not ITEM_FIELDS["question"].fullmatch(stripped):
        raise PorismError("the text is too long", fix=f"use at most {TEXT_LIMIT} characters")
    return stripped


def messages(journal: Journal, assignment_id: int, item: str) -> tuple[ConversationMessage, ...]:
    """Return the messages about one item of one assignment."""
    return tuple(_message(event) for event in journal.messages(assignment_id) if event.item == item)


def _message(event: Event) -> ConversationMessage:
    return ConversationMessage(event.at, event.assessor, event.field == "question", event.value)


def conversations(journal: Journal) -> list[Conversation]:
    """Return all conversations: those that wait for an answer first, then the latest."""
    by_item: dict[tuple[int, str], list[ConversationMessage]] = {}
    for event in journal.messages():
        by_item.setdefault((event.assignment, event.item), []).append(_message(event))
    found = []
    for (assignment_id, item), texts in by_item.items():
        position = next(one.position for one in assigned_items(journal, assignment_id) if one.key == item)
        found.append(Conversation(find_assignment(journal, assignment_id), position, item, tuple(texts)))
    return sorted(found, key=lambda one: (not one.is_open, -one.messages[-1].at))
