"""Assessments: the current judgments in the journal, wherever they were made (on our pages or in Turkle)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from porism.lab.judging.assignments import EXTRA_QUESTIONS, Assignment, assigned_items, assignments
from porism.lab.judging.storage.journal import Event, FieldKey, Journal
from porism.lab.judging.times import PageEvent, visit_seconds


@dataclass(frozen=True, slots=True)
class Assessment:
    """The grade that an assessor gave to an item. `instance` is the card's number in Task 2 (from 1), and 1 elsewhere.

    `accepted` and `submitted` are seconds since 1970 (0 where unknown); `seconds` is the time spent (None where unknown).
    `purpose` is main, dual or training: only main judgments become qrels.
    """

    task: int
    topic: str
    item: str
    instance: int
    assessor: str
    grade: int
    comment: str = ""
    accepted: float = 0.0
    submitted: float = 0.0
    seconds: float | None = None
    assignment: int = 0
    purpose: str = "main"


class ExtraAnswer(NamedTuple):
    """The answers to the two yes/no questions on one item (1 for yes, 0 for no)."""

    topic: str
    item: str
    machine_generated: int
    unrelated: int


def assessments(journal: Journal, *purposes: str) -> list[Assessment]:
    """Return every current grade with its comment and time, for the given purposes or for all that have grades."""
    wanted = purposes or ("main", "dual", "training")
    return [
        found
        for assignment in assignments(journal)
        if assignment.purpose in wanted
        for found in _assessments_of(journal, assignment)
    ]


def _assessments_of(journal: Journal, assignment: Assignment) -> Iterator[Assessment]:
    """Yield the current grades of one assignment, in its order."""
    by_item: dict[str, list[Event]] = {}
    for event in journal.events(assignment.id):
        by_item.setdefault(event.item, []).append(event)
    for item in assigned_items(journal, assignment.id):
        events = by_item.get(item.key, [])
        last = {(event.instance, event.field): event for event in events}
        visits = [PageEvent(event.field, event.at) for event in events if event.field in ("open", "submit")]
        opened = next((event.at for event in visits if event.field == "open"), 0.0)
        spent = visit_seconds(visits)
        seconds = None if spent is None else spent / len(item.cards)
        for number in range(1, len(item.cards) + 1):
            if (graded := last.get((number, "grade"))) is None:
                continue
            comment = last.get((number, "comment"))
            closed = max([event.at for event in visits if event.field == "submit"], default=graded.at)
            yield Assessment(
                assignment.task, assignment.topic, item.item, number, assignment.assessor, int(graded.value),
                comment.value if comment else "", opened, closed, seconds, assignment.id, assignment.purpose,
            )  # fmt: skip


def extra_answers(journal: Journal) -> list[ExtraAnswer]:
    """Return the answers to the extra questions where both questions were answered."""
    found = []
    for assignment in assignments(journal):
        if assignment.purpose != "extra":
            continue
        values = journal.current_values(assignment.id)
        for item in assigned_items(journal, assignment.id):
            machine, unrelated = (values.get(FieldKey(item.key, 1, question)) for question in EXTRA_QUESTIONS)
            if machine and unrelated:
                found.append(ExtraAnswer(assignment.topic, item.item, int(machine), int(unrelated)))
    return found
