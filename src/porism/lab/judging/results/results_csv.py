"""Judgments as a results CSV, with the columns that Turkle writes, so that both are imported by the same code."""

from __future__ import annotations

import calendar
import csv
import io
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from porism.errors import PorismError
from porism.evaluate.reports.table import spreadsheet_cell
from porism.lab.judging.assignments import AssignedItem, Assignment, assigned_items, assignments
from porism.lab.judging.storage.journal import FieldKey, Journal, Values
from porism.lab.pooling.formulas import INSTANCES

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# The columns of the two yes/no questions, and their fields in the journal.
EXTRA_COLUMNS = {"machine_generated": "machine", "unrelated": "unrelated"}
COLUMNS = (
    *("HITId", "HITTypeId", "Title", "CreationTime", "MaxAssignments", "AssignmentDurationInSeconds"),
    *("AssignmentId", "WorkerId", "AcceptTime", "SubmitTime", "WorkTimeInSeconds"),
    *("Input.arq_assignment", "Input.arq_item", "Input.arq_purpose", "Input.arq_topic_id"),
    *("Answer.arq_item_echo", "Answer.comment"),
    *(f"Answer.comment_{n}" for n in range(1, INSTANCES + 1)),
    *("Answer.machine_generated", "Answer.relevance"),
    *(f"Answer.relevance_{n}" for n in range(1, INSTANCES + 1)),
    *("Answer.unrelated", "Turkle.Username"),
)


class Visit(NamedTuple):
    """The last opening of an item before its last submission, and that submission, in seconds since 1970."""

    opened: float
    submitted: float


def parse_time(text: str) -> float:
    """Return the seconds since 1970 of a time such as `Sun Nov 15 18:04:30 UTC 2026`.

    The server must use UTC, as Turkle does by default.
    """
    try:
        _, month, day, clock, _, year = text.split()
        hours, minutes, seconds = map(int, clock.split(":"))
        return float(calendar.timegm((int(year), MONTHS.index(month) + 1, int(day), hours, minutes, seconds)))
    except ValueError:
        raise PorismError(f"{text!r} is not a time in Turkle's format") from None


def format_time(at: float) -> str:
    """Return a time in Turkle's format; the inverse of `parse_time`."""
    t = time.gmtime(at)
    clock = f"{t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d}"
    return f"{DAYS[t.tm_wday]} {MONTHS[t.tm_mon - 1]} {t.tm_mday:02d} {clock} UTC {t.tm_year}"


def results_csv(journal: Journal) -> str:
    """Return everything that was submitted on our own server."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writeheader()
    for assignment in assignments(journal):
        for row in _rows(journal, assignment):
            writer.writerow({column: spreadsheet_cell(text) for column, text in row.items()})
    return out.getvalue()


def _visits(journal: Journal, assignment: Assignment) -> dict[str, Visit]:
    """Return the last visit of each submitted item."""
    visits: dict[str, Visit] = {}
    opened: dict[str, float] = {}
    for event in journal.events(assignment.id):
        if event.field == "open":
            opened[event.item] = event.at
        elif event.field == "submit":
            visits[event.item] = Visit(opened.get(event.item, event.at), event.at)
    return visits


def _rows(journal: Journal, assignment: Assignment) -> Iterator[dict[str, str]]:
    visits, values = _visits(journal, assignment), journal.current_values(assignment.id)
    for item in assigned_items(journal, assignment.id):
        if item.key not in visits:
            continue
        opened, submitted = visits[item.key]
        row = {
            "HITId": item.key, "HITTypeId": assignment.screen, "Title": f"Porism {assignment.screen}",
            "MaxAssignments": "1", "AssignmentId": f"{assignment.id}-{int(submitted * 1000)}",
            "WorkerId": assignment.assessor, "AcceptTime": format_time(opened), "SubmitTime": format_time(submitted),
            "WorkTimeInSeconds": str(round(submitted - opened)), "Input.arq_assignment": str(assignment.id),
            "Input.arq_item": item.key, "Input.arq_purpose": assignment.purpose,
            "Input.arq_topic_id": assignment.topic, "Answer.arq_item_echo": item.key,
            "Turkle.Username": assignment.assessor,
        }  # fmt: skip
        yield row | _answers(item, assignment.screen, values)


def _answers(item: AssignedItem, screen: str, values: Values) -> dict[str, str]:
    if screen == "extra":
        return {
            f"Answer.{column}": values.get(FieldKey(item.key, 1, field), "") for column, field in EXTRA_COLUMNS.items()
        }
    suffixes: Sequence[str] = [f"_{n}" for n in range(1, len(item.cards) + 1)] if screen == "formulas" else [""]
    cells = {}
    for number, suffix in enumerate(suffixes, 1):
        cells[f"Answer.relevance{suffix}"] = values.get(FieldKey(item.key, number, "grade"), "")
        cells[f"Answer.comment{suffix}"] = values.get(FieldKey(item.key, number, "comment"), "")
    return cells
