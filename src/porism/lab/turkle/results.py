"""Import results CSVs, from Turkle or from our own server, as events of the journal.

A row is accepted only if it is complete and consistent: its echo names its item, its grades are valid, its worker is an
assessor.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from porism.errors import PorismError
from porism.evaluate.reports.table import text_of_cell
from porism.lab.judging.assign import assign_items
from porism.lab.judging.assignments import (
    AssignedItem,
    Assignment,
    assigned_items,
    assignments,
    find_assignment,
    submitted_items,
)
from porism.lab.judging.people import accounts
from porism.lab.judging.results.exports import EXTRA_COLUMNS, parse_time
from porism.lab.judging.scale import grade
from porism.lab.judging.storage.journal import Entry, Journal

REQUIRED_COLUMNS = (
    "AssignmentId",
    "AcceptTime",
    "SubmitTime",
    "Input.arq_item",
    "Input.arq_assignment",
    "Answer.arq_item_echo",
    "Turkle.Username",
)
MAX_REPORTED = 20


class ResultRow(NamedTuple):
    """A row of a results CSV with its line number."""

    line: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """A worker's completed task: the entries for one item, and when it was accepted and submitted."""

    line: int
    key: str
    assignment: int
    worker: str
    accepted: float
    submitted: float
    entries: tuple[Entry, ...]
    request_key: str


@dataclass(slots=True)
class ImportSummary:
    """What an import did: results accepted, new events, results replaced by a later answer, and problems."""

    results: int = 0
    events: int = 0
    replaced: int = 0
    problems: list[str] = field(default_factory=list)

    def raise_problems(self) -> None:
        """Raise an error that lists up to 20 refused rows, if there are any."""
        if self.problems:
            count = len(self.problems)
            more = [f"and {count - MAX_REPORTED} more"] if count > MAX_REPORTED else []
            raise PorismError(
                "\n".join([f"{count} results were refused:", *self.problems[:MAX_REPORTED], *more]),
                fix="check that the accounts and the pool of this journal belong to the batch",
            )


def read_rows(text: str, where: str) -> list[ResultRow]:
    """Read the rows. A row with too few cells means that the download was cut short; then the whole file is refused."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        return _checked_rows(reader, where)
    except csv.Error as error:
        raise PorismError(
            f"not a CSV file: {error}", where=f"{where}:{reader.line_num}", fix="download it again"
        ) from None


def _checked_rows(reader: Any, where: str) -> list[ResultRow]:
    header: list[str] = next(reader, [])
    if missing := [name for name in REQUIRED_COLUMNS if name not in header]:
        raise PorismError(
            f"not a results file: no column {', '.join(missing)}",
            where=where,
            fix="name the results CSV of a Porism batch",
        )
    rows = []
    for cells in reader:
        if len(cells) != len(header):
            raise PorismError(
                f"the row has {len(cells)} cells where the header has {len(header)}: the file was cut short",
                where=f"{where}:{reader.line_num}",
                fix="porism lab turkle download, or download it from the admin page",
            )
        rows.append(ResultRow(reader.line_num, dict(zip(header, cells, strict=True))))
    return rows


def _entries(cells: dict[str, str], item: AssignedItem, screen: str) -> Iterator[Entry]:
    """Yield the checked entries of a row."""
    if screen == "extra":
        for column, field_name in EXTRA_COLUMNS.items():
            value = cells.get(f"Answer.{column}", "")
            if value not in ("0", "1"):
                raise PorismError(f"{column} is {value!r}, not 0 or 1")
            yield Entry(item.key, 1, field_name, value)
        return
    for number in range(1, len(item.cards) + 1):
        suffix = f"_{number}" if screen == "formulas" else ""
        value = cells.get(f"Answer.relevance{suffix}", "")
        if not value.isdigit() or grade(int(value)) is None:
            raise PorismError(f"relevance{suffix} is {value!r}, not one of 0, 1, 2, 3, 5, 6")
        yield Entry(item.key, number, "grade", value)
        if comment := cells.get(f"Answer.comment{suffix}", ""):
            yield Entry(item.key, number, "comment", text_of_cell(comment))


def _result(row: ResultRow, journal: Journal, assessors: set[str]) -> Result:
    """Turn a row into a result, or raise an error that says why it is refused."""
    cells = row.cells
    key, worker = cells["Input.arq_item"], cells["Turkle.Username"]
    if cells["Answer.arq_item_echo"] != key:
        raise PorismError(f"the echo {cells['Answer.arq_item_echo']!r} is not the item {key!r}")
    if worker not in assessors:
        raise PorismError(f"there is no assessor {worker!r}")
    number = cells["Input.arq_assignment"]
    assignment = find_assignment(journal, int(number) if number.isdigit() else -1)
    item = next((found for found in assigned_items(journal, assignment.id) if found.key == key), None)
    if item is None:
        raise PorismError(f"the item {key!r} is not in assignment {assignment.id}")
    entries = tuple(_entries(cells, item, assignment.screen))
    request_key = f"result:{cells.get('HITId', '')}:{cells['AssignmentId']}:{worker}"
    accepted, submitted = parse_time(cells["AcceptTime"]), parse_time(cells["SubmitTime"])
    return Result(row.line, key, assignment.id, worker, accepted, submitted, entries, request_key)


def import_results(journal: Journal, text: str, where: str) -> ImportSummary:
    """Store every valid row. Importing a file again changes nothing; of two answers by one person the later counts."""
    summary = ImportSummary()
    assessors = {account.name for account in accounts(journal, "assessor")}
    found: list[Result] = []
    for row in read_rows(text, where):
        try:
            found.append(_result(row, journal, assessors))
        except PorismError as error:
            summary.problems.append(f"{where}:{row.line}: {error.message}")
    seen: set[tuple[str, str, int]] = set()
    for result in sorted(found, key=lambda result: (result.submitted, result.line)):
        answered = (result.key, result.worker, result.assignment)
        summary.replaced += answered in seen
        seen.add(answered)
        summary.results += 1
        summary.events += _store(journal, result)
    return summary


def _store(journal: Journal, result: Result) -> int:
    """Append one result. A colleague who answered another's batch gets an assignment of their own."""
    assignment = find_assignment(journal, result.assignment)
    if assignment.assessor != result.worker:
        assignment = _own_assignment(journal, assignment, result)
    if assignment.purpose == "training" and result.key in submitted_items(journal, assignment.id):
        return 0
    opening = [Entry(result.key, 1, "open", "")]
    new = journal.append(result.worker, assignment.id, opening, result.request_key, at=result.accepted)
    closing = [*result.entries, Entry(result.key, 1, "submit", "")]
    return new + journal.append(result.worker, assignment.id, closing, result.request_key, at=result.submitted)


def _own_assignment(journal: Journal, given: Assignment, result: Result) -> Assignment:
    """Return the worker's own assignment: a second opinion on a main assignment, else one of the same purpose."""
    purpose = "dual" if given.purpose == "main" else given.purpose
    assign_items(journal, result.worker, given.task, given.topic, purpose, [result.key], given.round)
    wanted = (given.task, given.topic, purpose, given.round)
    return next(
        mine
        for mine in assignments(journal, result.worker)
        if (mine.task, mine.topic, mine.purpose, mine.round) == wanted
    )
