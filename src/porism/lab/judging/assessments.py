"""Assessments: the current judgments of a journal, those that count for the qrels, and the time they took."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from porism.evaluate.qrels import read_qrels, to_judgments
from porism.lab.judging.assignments import EXTRA_QUESTIONS, Assignment, assigned_items, assignments
from porism.lab.judging.journal import Event, FieldKey, Journal
from porism.lab.judging.people import is_model
from porism.lab.sampling import shuffled
from porism.records import Judgment

SQLITE = b"SQLite format 3\x00"


class PageEvent(NamedTuple):
    """An item's page was opened (`open`) or submitted (`submit`) at this time."""

    field: str
    at: float


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """Seconds per judgment. `capped` judgments took longer than the cap and count as the cap."""

    count: int
    mean: float
    median: float
    capped: int


def summarise_times(seconds: Iterable[float | None], cap: float | None = None) -> TimeSummary | None:
    """Summarise the known times, or return None if there are none.

    A page that was left open over lunch says nothing about the judgment: give a cap.

    >>> summarise_times([10, 20, 600], cap=60)
    TimeSummary(count=3, mean=30.0, median=20, capped=1)
    """
    known = [value for value in seconds if value is not None]
    if not known:
        return None
    values = known if cap is None else [min(value, cap) for value in known]
    over = 0 if cap is None else sum(value > cap for value in known)
    return TimeSummary(len(values), statistics.fmean(values), statistics.median(values), over)


def visit_seconds(events: Sequence[PageEvent]) -> float | None:
    """Return the time that one assessor spent on one item: the sum over visits, each from opening to submission.

    An opening without a submission (the page was left, or the server stopped) is not counted, since nobody knows when
    it ended. Without any complete visit the time is unknown (None).

    >>> visit_seconds([PageEvent("open", 0.0), PageEvent("open", 100.0), PageEvent("submit", 130.0)])
    30.0
    """
    visits: list[float] = []
    opened: float | None = None
    for event in events:
        if event.field == "open":
            opened = event.at
        elif event.field == "submit" and opened is not None:
            visits.append(max(0.0, event.at - opened))  # the clock may have been set back
            opened = None
    return sum(visits) if visits else None


class InstanceId(NamedTuple):
    """What two assessors may both have judged: an item of a topic, and the number of its card."""

    topic: str
    item: str
    instance: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """The grade that an assessor gave to an item. `instance` is the card's number in Task 2 (from 1), and 1 elsewhere.

    `accepted` and `submitted` are seconds since 1970 (0 where unknown); `seconds` is the time spent (None where
    unknown). `purpose` is main, dual or training: only main judgments become qrels.
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

    @property
    def instance_id(self) -> InstanceId:
        """What was judged."""
        return InstanceId(self.topic, self.item, self.instance)


class ExtraAnswer(NamedTuple):
    """The answers to the two yes/no questions on one item (1 for yes, 0 for no)."""

    topic: str
    item: str
    machine_generated: int
    unrelated: int


def assessments(journal: Journal, *purposes: str) -> list[Assessment]:
    """Return every current grade with its comment and time, for the given purposes or for all that have grades."""
    wanted = purposes or ("main", "dual", "training")
    chosen = (assignment for assignment in assignments(journal) if assignment.purpose in wanted)
    return [found for assignment in chosen for found in _assessments_of(journal, assignment)]


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
    for assignment in (one for one in assignments(journal) if one.purpose == "extra"):
        values = journal.current_values(assignment.id)
        for item in assigned_items(journal, assignment.id):
            machine, unrelated = (values.get(FieldKey(item.key, 1, question)) for question in EXTRA_QUESTIONS)
            if machine and unrelated:
                found.append(ExtraAnswer(assignment.topic, item.item, int(machine), int(unrelated)))
    return found


def judgments_in_order(path: str | Path, task: int, seed: int) -> list[Judgment]:
    """Return the judgments of a journal by time, or those of a qrels file, which has no times, in a random order."""
    if Path(path).is_file():
        with Path(path).open("rb") as stream:
            if stream.read(len(SQLITE)) == SQLITE:
                return journal_judgments(Journal.open(path), task)
    return shuffled(to_judgments(read_qrels(path)), seed, "order")


def journal_judgments(journal: Journal, task: int) -> list[Judgment]:
    """Return the judgments for the qrels of a task by the time at which they were made."""
    given = [found for found in main_judgments(assessments(journal, "main")) if found.task == task]
    ordered = sorted(given, key=lambda found: (found.submitted, found.topic, found.item, found.instance))
    return [Judgment(found.topic, found.item, found.grade) for found in ordered]


def of_people(assessments: Iterable[Assessment]) -> list[Assessment]:
    """Return the judgments that people made."""
    return [given for given in assessments if not is_model(given.assessor)]


def main_judgments(assessments: Iterable[Assessment]) -> list[Assessment]:
    """Return the main judgments of people, one per item and instance; of two people the later one counts."""
    main = (given for given in of_people(assessments) if given.purpose == "main")
    by_time = sorted(main, key=lambda given: (given.submitted, given.assessor))
    return list({given.instance_id: given for given in by_time}.values())
