"""Export tables: qrels, narratives, extra answers, preferences, progress, agreement and training."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import NamedTuple

from porism.evaluate.reports.table import spreadsheet_cell
from porism.lab.judging.agreement.model_agreement import model_agreements
from porism.lab.judging.agreement.pairs import mean_agreement, overall_alpha, pair_agreements
from porism.lab.judging.assessments import assessments, extra_answers
from porism.lab.judging.assignments import assigned_items, assignments, progress
from porism.lab.judging.items import pooled_items
from porism.lab.judging.people.models import of_people
from porism.lab.judging.results.qrels import qrels_text, variants
from porism.lab.judging.scale import grades
from porism.lab.judging.storage.journal import FieldKey, Journal, topic_field
from porism.lab.judging.times import summarise_times
from porism.lab.judging.training import TrainingResult, training_results

Cell = str | int | float | None


class ExportTable(NamedTuple):
    """Column names and rows of a table."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


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
    for assignment in assignments(journal):
        values = {key.field: value for key, value in journal.current_values(assignment.id).items() if not key.item}
        if "narrative" in values:
            answers = (values.get("text_alone", ""), values.get("formulas_alone", ""), values["narrative"])
            rows.append((assignment.topic, assignment.task, assignment.assessor, *answers))
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


def agreement_table(journal: Journal, task: int | None = None) -> ExportTable:
    """Return every pair of assessors, the mean over pairs, and Krippendorff's alpha over all assessors."""
    given = of_people(found for found in assessments(journal, "main", "dual") if task in (None, found.task))
    pairs = pair_agreements(given)
    rows: list[tuple[Cell, ...]] = [
        (pair.first, pair.second, pair.items, pair.ungraded, pair.kappa, pair.kappa_hm, pair.kappa_weighted, None)
        for pair in pairs
    ]
    items, ungraded = sum(pair.items for pair in pairs), sum(pair.ungraded for pair in pairs)
    rows.append(("mean", "", items, ungraded, *mean_agreement(pairs), overall_alpha(given)))
    return ExportTable(("first", "second", "items", "ungraded", "kappa", "kappa_hm", "kappa_weighted", "alpha"), rows)


def model_table(journal: Journal, task: int | None = None) -> ExportTable:
    """Return the agreement of every model with people: a row for each grade of people, and one for all grades."""
    given = [found for found in assessments(journal, "main", "dual") if task in (None, found.task)]
    names = [f"model_{step.code}" for step in grades() if step.graded]
    columns = ("model", "people", "items", *names, "ungraded", "same", "kappa", "kappa_hm", "kappa_weighted", "alpha")
    rows: list[tuple[Cell, ...]] = []
    for found in model_agreements(given):
        for row in found.grades:
            counts = (row.items, *row.by_model, row.ungraded)
            rows.append((found.model, row.code, *counts, row.share, row.kappa, None, None, None))
        totals = tuple(sum(column) for column in zip(*(row.by_model for row in found.grades), strict=True))
        same = sum(row.by_model[at] for at, row in enumerate(found.grades)) / found.items if found.items else None
        coefficients = (found.kappa, found.kappa_hm, found.kappa_weighted, found.alpha)
        rows.append((found.model, "all", found.items + found.ungraded, *totals, found.ungraded, same, *coefficients))
    return ExportTable(columns, rows)


def training_table(journal: Journal, task: int | None = None) -> ExportTable:
    """Return every assessor of every training round."""
    columns = tuple(field.name for field in fields(TrainingResult))
    results = [result for result in training_results(journal) if task in (None, result.task)]
    return ExportTable(columns, [astuple(result) for result in results])
