"""Assignments: what each assessor has to judge, and how much of it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.journal import FieldKey, Journal, Values, topic_field
from porism.lab.judging.scale import grade_of_text

EXTRA_QUESTIONS = ("machine", "unrelated")
ASSIGNMENT_COLUMNS = "id, assessor, task, topic, purpose, round"


class Duty(NamedTuple):
    """One assessor judges items of one topic for one purpose: main, dual, training (in rounds) or extra."""

    assessor: str
    task: int
    topic: str
    purpose: str
    round: int = 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """A list of items that one assessor judges: see `Duty`."""

    id: int
    assessor: str
    task: int
    topic: str
    purpose: str
    round: int

    @property
    def duty(self) -> Duty:
        """Everything but the id."""
        return Duty(self.assessor, self.task, self.topic, self.purpose, self.round)

    @property
    def screen(self) -> str:
        """The kind of page on which the items are judged: answers, formulas or extra (the two yes/no questions)."""
        return "extra" if self.purpose == "extra" else "formulas" if self.task == 2 else "answers"


class Card(NamedTuple):
    """One thing to rate: a post (Task 1), a formula in a post (Task 2), or neither (a written answer)."""

    formula_id: int | None
    post_id: int | None


@dataclass(frozen=True, slots=True)
class AssignedItem:
    """An item of an assignment: its position in the list and its cards; `text` is that of a written answer.

    A training item has a `known_grade` and the `reason` for it.
    """

    position: int
    key: str
    item: str
    cards: tuple[Card, ...]
    text: str
    known_grade: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class AssignmentProgress:
    """How many items of an assignment are done, and the position to continue at (None when all are done)."""

    done: int
    total: int
    next: int | None


def find_assignment(journal: Journal, assignment_id: int) -> Assignment:
    """Return the assignment with this id."""
    query = f"SELECT {ASSIGNMENT_COLUMNS} FROM assignment WHERE id = ?"
    found = journal.records(Assignment, query, (assignment_id,))
    if not found:
        raise PorismError(f"there is no assignment {assignment_id}", fix="go back to your list")
    return found[0]


def assignments(journal: Journal, assessor: str = "") -> list[Assignment]:
    """Return the assignments of one assessor, or of all; training comes first."""
    return journal.records(
        Assignment,
        f"SELECT {ASSIGNMENT_COLUMNS} FROM assignment WHERE ? IN ('', assessor) ORDER BY assessor, "
        "CASE purpose WHEN 'training' THEN 0 WHEN 'main' THEN 1 WHEN 'dual' THEN 2 ELSE 3 END, round, id",
        (assessor,),
    )


def assigned_items(journal: Journal, assignment_id: int, position: int | None = None) -> list[AssignedItem]:
    """Return the items of an assignment in order, or only the one at a position."""
    rows = journal.read(
        "SELECT assigned.position, key, item.item, formula_id, post_id, text, known_grade, reason FROM assigned "
        "JOIN item ON item.key = assigned.item JOIN instance ON instance.item = item.key "
        "WHERE assignment = ? AND (? IS NULL OR assigned.position = ?) ORDER BY assigned.position, number",
        (assignment_id, position, position),
    )
    items = []
    for _, group in groupby(rows, key=lambda row: row["position"]):
        values = [dict(row) for row in group]
        cards = tuple(Card(row.pop("formula_id"), row.pop("post_id")) for row in values)
        items.append(AssignedItem(cards=cards, **values[0]))
    return items


def card_count(journal: Journal, assignment_id: int, key: str) -> int:
    """Return how many cards an item of this assignment has; 0 if the item is not in it."""
    return journal.count(
        "SELECT count(*) FROM assigned JOIN instance ON instance.item = assigned.item "
        "WHERE assignment = ? AND assigned.item = ?",
        (assignment_id, key),
    )


def is_done(key: str, cards: int, purpose: str, values: Values) -> bool:
    """Return whether every card has its grade (and a comment where the grade needs one), or its extra answers."""
    if purpose == "extra":
        return all(values.get(FieldKey(key, 1, question)) for question in EXTRA_QUESTIONS)
    for number in range(1, cards + 1):
        code = values.get(FieldKey(key, number, "grade"), "")
        step = grade_of_text(code)
        if step is None or (step.comment and not values.get(FieldKey(key, number, "comment"), "").strip()):
            return False
    return True


def progress(
    journal: Journal, assignment: Assignment, after: int = 0, values: Values | None = None
) -> AssignmentProgress:
    """Count what is done. The next position is the first open one after `after`, then from the start."""
    values = journal.current_values(assignment.id) if values is None else values
    rows = journal.read(
        "SELECT position, assigned.item AS key, count(*) AS cards FROM assigned "
        "JOIN instance ON instance.item = assigned.item "
        "WHERE assignment = ? GROUP BY position, assigned.item ORDER BY position",
        (assignment.id,),
    )
    # A training item also has to be submitted, since only then the assessor sees the known grade.
    submitted = submitted_items(journal, assignment.id) if assignment.purpose == "training" else None
    open_positions = [
        row["position"]
        for row in rows
        if not is_done(row["key"], row["cards"], assignment.purpose, values)
        or (submitted is not None and row["key"] not in submitted)
    ]
    return AssignmentProgress(len(rows) - len(open_positions), len(rows), _next_position(open_positions, after))


def _next_position(positions: Sequence[int], after: int) -> int | None:
    return next((position for position in positions if position > after), positions[0] if positions else None)


def submitted_items(journal: Journal, assignment_id: int) -> set[str]:
    """Return the keys of the items of an assignment that were submitted at least once."""
    rows = journal.read("SELECT DISTINCT item FROM event WHERE assignment = ? AND field = 'submit'", (assignment_id,))
    return {row["item"] for row in rows}


def has_narrative(values: Values) -> bool:
    """Return whether the narrative of the topic is written and both questions about the topic are answered."""
    fields = ("narrative", "text_alone", "formulas_alone")
    return all(values.get(topic_field(field), "").strip() for field in fields)


def needs_narrative(assignment: Assignment) -> bool:
    """Return whether the assessor writes a narrative first: only those who judge for the qrels do."""
    return assignment.purpose == "main"
