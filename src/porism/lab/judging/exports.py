"""Export the tables of an assessment, and judgments as a results CSV with Turkle's columns."""

from __future__ import annotations

import calendar
import csv
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, fields

from porism.errors import PorismError
from porism.evaluate.table import Cell, ResultTable, spreadsheet_cell
from porism.lab.judging import agreement
from porism.lab.judging.assessments import assessments, extra_answers, of_people, summarise_times
from porism.lab.judging.assignments import AssignedItem, Assignment, assigned_items, assignments, progress
from porism.lab.judging.items import pooled_items
from porism.lab.judging.journal import FieldKey, Journal, topic_field
from porism.lab.judging.qrels import qrels_text, variants
from porism.lab.judging.scale import grades
from porism.lab.pooling.pool import INSTANCES


def to_tsv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return tab-separated text for a spreadsheet, with a header; line ends and tabs in cells become spaces."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
    writer.writerow(columns)
    writer.writerows([[spreadsheet_cell(" ".join(str(value).split())) for value in row] for row in rows])
    return out.getvalue()


def qrels_tsv(journal: Journal, task: int, variant: str) -> str:
    """Return one variant of a task's qrels."""
    pooled = pooled_items(journal, 2 if task == 2 else 1) if variant == "sampled" else None
    return qrels_text(variants(assessments(journal, "main"), task, pooled=pooled).files[variant])


def narratives_tsv(journal: Journal) -> str:
    """Return what assessors wrote about each topic before judging. This is not for participants."""
    columns = ("topic", "task", "assessor", "text_alone", "formulas_alone", "narrative")
    rows = []
    for given in assignments(journal):
        values = {key.field: value for key, value in journal.current_values(given.id).items() if not key.item}
        if "narrative" in values:
            row = {"topic": given.topic, "task": given.task, "assessor": given.assessor, **values}
            rows.append([row.get(column, "") for column in columns])
    return to_tsv(columns, rows)


def extra_tsv(journal: Journal) -> str:
    """Return the answers to the two yes/no questions."""
    return to_tsv(("topic", "answer", "machine_generated", "unrelated"), extra_answers(journal))


def preferences_tsv(journal: Journal) -> str:
    """Return the relevant answers in order of preference, and the block of each answer marked as most useful."""
    rows: list[tuple[Cell, ...]] = []
    for assignment in assignments(journal):
        values = journal.current_values(assignment.id)
        order = {key: n for n, key in enumerate(values.get(topic_field("preference"), "").split(), 1)}
        for item in assigned_items(journal, assignment.id):
            part = values.get(FieldKey(item.key, 1, "part"), "")
            if item.key in order or part:
                rows.append((assignment.topic, assignment.assessor, item.item, order.get(item.key, ""), part))
    return to_tsv(("topic", "assessor", "answer", "preference", "most_useful_part"), rows)


def progress_tsv(journal: Journal, cap: float | None = None) -> str:
    """Return every assignment with items done, total, and seconds per judgment."""
    seconds: dict[int, list[float | None]] = {}
    for given in assessments(journal):
        seconds.setdefault(given.assignment, []).append(given.seconds)
    rows = []
    for job in assignments(journal):
        state, times = progress(journal, job), summarise_times(seconds.get(job.id, []), cap)
        shown = (f"{times.mean:.1f}", f"{times.median:.1f}") if times else ("", "")
        rows.append((job.assessor, job.purpose, job.task, job.topic, state.done, state.total, *shown))
    return to_tsv(("assessor", "purpose", "task", "topic", "done", "total", "mean_seconds", "median_seconds"), rows)


def agreement_table(journal: Journal, task: int | None) -> ResultTable:
    """Return every pair of assessors, the mean over pairs, and Krippendorff's alpha over all assessors."""
    given = of_people(found for found in assessments(journal, "main", "dual") if task in (None, found.task))
    pairs = agreement.pair_agreements(given)
    rows: list[tuple[Cell, ...]] = [
        (pair.first, pair.second, pair.items, pair.ungraded, pair.kappa, pair.kappa_hm, pair.kappa_weighted, None)
        for pair in pairs
    ]
    items, ungraded = sum(pair.items for pair in pairs), sum(pair.ungraded for pair in pairs)
    rows.append(("mean", "", items, ungraded, *agreement.mean_agreement(pairs), agreement.overall_alpha(given)))
    columns = ("first", "second", "items", "ungraded", "kappa", "kappa_hm", "kappa_weighted", "alpha")
    return ResultTable("agreement", columns, tuple(rows), digits=4)


def model_table(journal: Journal, task: int | None) -> ResultTable:
    """Return the agreement of every model with people: a row for each grade of people, and one for all grades."""
    given = [found for found in assessments(journal, "main", "dual") if task in (None, found.task)]
    names = [f"model_{step.code}" for step in grades() if step.graded]
    columns = ("model", "people", "items", *names, "ungraded", "same", "kappa", "kappa_hm", "kappa_weighted", "alpha")
    rows: list[tuple[Cell, ...]] = []
    for found in agreement.model_agreements(given):
        for row in found.grades:
            counts = (row.items, *row.by_model, row.ungraded)
            rows.append((found.model, row.code, *counts, row.share, row.kappa, None, None, None))
        totals = tuple(sum(column) for column in zip(*(row.by_model for row in found.grades), strict=True))
        same = sum(row.by_model[at] for at, row in enumerate(found.grades)) / found.items if found.items else None
        coefficients = (found.kappa, found.kappa_hm, found.kappa_weighted, found.alpha)
        rows.append((found.model, "all", found.items + found.ungraded, *totals, found.ungraded, same, *coefficients))
    return ResultTable("models", columns, tuple(rows), digits=4)


def training_table(journal: Journal, task: int | None) -> ResultTable:
    """Return every assessor of every training round."""
    columns = tuple(field.name for field in fields(agreement.TrainingResult))
    results = [result for result in agreement.training_results(journal) if task in (None, result.task)]
    return ResultTable("training", columns, tuple(astuple(result) for result in results), digits=4)


# Not those of `time.strftime`, which are in the language of the machine.
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


def parse_time(text: str) -> float:
    """Return the seconds since 1970 of `Sun Nov 15 18:04:30 UTC 2026`; the server must use UTC, as Turkle does."""
    try:
        _, month, day, clock, _, year = text.split()
        hours, minutes, seconds = map(int, clock.split(":"))
        return float(calendar.timegm((int(year), MONTHS.index(month) + 1, int(day), hours, minutes, seconds)))
    except ValueError:
        raise PorismError(f"{text!r} is not a time in Turkle's format") from None


def format_time(at: float) -> str:
    """Return a time in Turkle's format; the inverse of `parse_time`."""
    t = time.gmtime(at)
    return f"{DAYS[t.tm_wday]} {MONTHS[t.tm_mon - 1]} {time.strftime('%d %H:%M:%S UTC %Y', t)}"


def results_csv(journal: Journal) -> str:
    """Return everything that was submitted on our own server."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writeheader()
    for assignment in assignments(journal):
        for row in _rows(journal, assignment):
            writer.writerow({column: spreadsheet_cell(text) for column, text in row.items()})
    return out.getvalue()


def _rows(journal: Journal, assignment: Assignment) -> Iterator[dict[str, str]]:
    values = journal.current_values(assignment.id)
    visits: dict[str, tuple[float, float]] = {}  # the last submission of an item, and the last opening before it
    last_opened: dict[str, float] = {}
    for event in journal.events(assignment.id):
        if event.field == "open":
            last_opened[event.item] = event.at
        elif event.field == "submit":
            visits[event.item] = last_opened.get(event.item, event.at), event.at
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
        fields_of_item = answer_fields(item, assignment.screen).items()
        yield row | {f"Answer.{column}": values.get(key, "") for column, key in fields_of_item}


def answer_fields(item: AssignedItem, screen: str) -> dict[str, FieldKey]:
    """Return the columns of the answers to an item (after `Answer.`), and their fields in the journal."""
    if screen == "extra":
        return {column: FieldKey(item.key, 1, field) for column, field in EXTRA_COLUMNS.items()}
    found = {}
    for number in range(1, len(item.cards) + 1):
        suffix = f"_{number}" if screen == "formulas" else ""
        found[f"relevance{suffix}"] = FieldKey(item.key, number, "grade")
        found[f"comment{suffix}"] = FieldKey(item.key, number, "comment")
    return found
