"""Result CSVs of Turkle, and of our own server in the same form, become events of the journal.

A row is taken only if it is whole and makes sense: its echo names its item, its grades are grades, its worker is known.
"""

from __future__ import annotations

import calendar
import csv
import io
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from porism.errors import PorismError
from porism.lab.judging.accounts import accounts
from porism.lab.judging.assignment import give
from porism.lab.judging.journal import Entry, Journal
from porism.lab.judging.queue import Assignment, Work, assignment, assignments, submitted, works
from porism.lab.judging.scale import grade
from porism.lab.turkle.export import screen_of

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NEEDED = (
    "AssignmentId",
    "AcceptTime",
    "SubmitTime",
    "Input.arq_item",
    "Input.arq_assignment",
    "Answer.arq_item_echo",
    "Turkle.Username",
)
EXTRA = {"machine_generated": "machine", "unrelated": "unrelated"}
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Result:
    """One completed assignment of Turkle: what a worker said of one item, and when."""

    line: int
    key: str
    job: int
    worker: str
    accepted: float
    submitted: float
    entries: tuple[Entry, ...]
    once: str


@dataclass(slots=True)
class Imported:
    """What an import did: results read, events that were new, results that an answer sent in later replaced, problems."""

    results: int = 0
    events: int = 0
    replaced: int = 0
    problems: list[str] = field(default_factory=list)


def moment(text: str) -> float:
    """Seconds since 1970 of `Sun Nov 15 18:04:30 UTC 2026`; the server must keep UTC, which is what it does unless told otherwise."""
    try:
        _, month, day, clock, _, year = text.split()
        hours, minutes, seconds = map(int, clock.split(":"))
        return float(calendar.timegm((int(year), MONTHS.index(month) + 1, int(day), hours, minutes, seconds)))
    except ValueError:
        raise PorismError(f"{text!r} is not a time as Turkle writes it") from None


def written_moment(at: float) -> str:
    """The same, the other way round."""
    t = time.gmtime(at)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[t.tm_wday]
    return f"{day} {MONTHS[t.tm_mon - 1]} {t.tm_mday:02d} {t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d} UTC {t.tm_year}"


def read_rows(text: str, where: str) -> list[tuple[int, dict[str, str]]]:
    """Rows with their line numbers. A row with too few cells means that the download was cut: nothing of it is taken."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        return _checked_rows(reader, where)
    except csv.Error as error:
        raise PorismError(
            f"is not a CSV file: {error}", where=f"{where}:{reader.line_num}", fix="download it again"
        ) from None


def _checked_rows(reader: Any, where: str) -> list[tuple[int, dict[str, str]]]:
    header: list[str] = next(reader, [])
    if missing := [name for name in NEEDED if name not in header]:
        raise PorismError(
            f"is not a result file: no column {', '.join(missing)}",
            where=where,
            fix="name the results CSV of a Porism batch",
        )
    rows = []
    for cells in reader:
        if len(cells) != len(header):
            raise PorismError(
                f"the row has {len(cells)} cells where the header has {len(header)}: the file was cut short",
                where=f"{where}:{reader.line_num}",
                fix="porism turkle download, or the admin page's own download",
            )
        rows.append((reader.line_num, dict(zip(header, cells, strict=True))))
    return rows


def _entries(row: dict[str, str], work: Work, screen: str) -> Iterator[Entry]:
    """What the row says, checked."""
    if screen == "extra":
        for name, field_name in EXTRA.items():
            value = row.get(f"Answer.{name}", "")
            if value not in ("0", "1"):
                raise PorismError(f"{name} is {value!r}, not 0 or 1")
            yield Entry(work.key, 1, field_name, value)
        return
    for number in range(1, len(work.cards) + 1):
        suffix = f"_{number}" if screen == "formulas" else ""
        value = row.get(f"Answer.relevance{suffix}", "")
        if not value.isdigit() or grade(int(value)) is None:
            raise PorismError(f"relevance{suffix} is {value!r}, not one of 0, 1, 2, 3, 5, 6")
        yield Entry(work.key, number, "grade", value)
        if comment := row.get(f"Answer.comment{suffix}", ""):
            yield Entry(work.key, number, "comment", comment)


def _result(line: int, row: dict[str, str], journal: Journal, people: set[str]) -> Result:
    """One row as a result, or an error that says why not."""
    key, worker = row["Input.arq_item"], row["Turkle.Username"]
    if row["Answer.arq_item_echo"] != key:
        raise PorismError(f"the echo {row['Answer.arq_item_echo']!r} is not the item {key!r}")
    if worker not in people:
        raise PorismError(f"there is no assessor {worker!r}")
    number = row["Input.arq_assignment"]
    job = assignment(journal, int(number) if number.isdigit() else -1)
    work = next((one for one in works(journal, job.id) if one.key == key), None)
    if work is None:
        raise PorismError(f"the item {key!r} is not in assignment {job.id}")
    entries = tuple(_entries(row, work, screen_of(job)))
    once = f"result:{row.get('HITId', '')}:{row['AssignmentId']}:{worker}"
    return Result(line, key, job.id, worker, moment(row["AcceptTime"]), moment(row["SubmitTime"]), entries, once)


def import_results(journal: Journal, text: str, where: str) -> Imported:
    """Store every sound row. Importing a file again changes nothing; of two answers by one person the later stands."""
    done = Imported()
    people = {name for name, _ in accounts(journal, "assessor")}
    found: list[Result] = []
    for line, row in read_rows(text, where):
        try:
            found.append(_result(line, row, journal, people))
        except PorismError as error:
            done.problems.append(f"{where}:{line}: {error.message}")
    last: dict[tuple[str, str, int], Result] = {}
    for result in sorted(found, key=lambda one: (one.submitted, one.line)):
        done.replaced += (result.key, result.worker, result.job) in last
        last[result.key, result.worker, result.job] = result
        done.results += 1
        done.events += _store(journal, result)
    return done


def _store(journal: Journal, result: Result) -> int:
    """Append one result; a colleague who answered another's batch gets a list of their own."""
    job = assignment(journal, result.job)
    if job.assessor != result.worker:
        job = _own_list(journal, job, result)
    if job.purpose == "training" and result.key in submitted(journal, job.id):
        return 0
    new = journal.append(result.worker, job.id, [Entry(result.key, 1, "open", "")], result.once, at=result.accepted)
    closing = [*result.entries, Entry(result.key, 1, "submit", "")]
    return new + journal.append(result.worker, job.id, closing, result.once, at=result.submitted)


def _own_list(journal: Journal, job: Assignment, result: Result) -> Assignment:
    """The worker's own assignment for the same topic: a second opinion on a main assignment, else of the same purpose."""
    purpose = "dual" if job.purpose == "main" else job.purpose
    give(journal, result.worker, job.task, job.topic, purpose, [result.key], job.round)
    mine = assignments(journal, result.worker)
    return next(
        one
        for one in mine
        if (one.task, one.topic, one.purpose, one.round) == (job.task, job.topic, purpose, job.round)
    )


def check(done: Imported) -> None:
    """Raise if a row was not taken, telling up to 20."""
    if done.problems:
        more = [f"and {len(done.problems) - SHOWN} more"] if len(done.problems) > SHOWN else []
        raise PorismError(
            "\n".join([f"{len(done.problems)} results were not taken:", *done.problems[:SHOWN], *more]),
            fix="see that the accounts and the pool of this journal are those of the batch",
        )
