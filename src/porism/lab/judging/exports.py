"""What assessors said beside grades, and the qrels, as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields

from porism.lab.judging.agreement import mean_agreement, pair_agreements
from porism.lab.judging.journal import Journal
from porism.lab.judging.loading import pooled_items
from porism.lab.judging.qrels import variants
from porism.lab.judging.queue import assignments, progress, works
from porism.lab.judging.record import assessments, extra_answers
from porism.lab.judging.times import summary
from porism.lab.judging.training import TrainingResult, training_results


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Tab-separated text with a header; line ends and tabs in cells become blanks."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
    writer.writerow(header)
    writer.writerows([[" ".join(str(value).split()) for value in row] for row in rows])
    return out.getvalue()


def qrels_tsv(journal: Journal, task: int, variant: str) -> str:
    """One variant of a task's qrels."""
    pooled = pooled_items(journal, 2 if task == 2 else 1) if variant == "sampled" else None
    found = variants(assessments(journal, "main"), task, pooled=pooled)
    return "".join(f"{one.topic}\t0\t{one.item}\t{one.grade}\n" for one in found.files[variant])


def narratives_tsv(journal: Journal) -> str:
    """What the assessors wrote of each topic before judging, and whether text or formulas alone would do. Not for participants."""
    rows = []
    for job in assignments(journal):
        said = {field: value for (item, _, field), value in journal.last(job.id).items() if not item}
        if "narrative" in said:
            rows.append(
                (
                    job.topic,
                    job.task,
                    job.assessor,
                    said.get("text_alone", ""),
                    said.get("formulas_alone", ""),
                    said["narrative"],
                )
            )
    return table(("topic", "task", "assessor", "text_alone", "formulas_alone", "narrative"), rows)


def extra_tsv(journal: Journal) -> str:
    """The two yes/no questions."""
    return table(("topic", "answer", "machine_generated", "unrelated"), extra_answers(journal))


def preferences_tsv(journal: Journal) -> str:
    """Relevant answers in order of preference, and the part of an answer that was marked as most useful (number of its block)."""
    rows: list[tuple[object, ...]] = []
    for job in assignments(journal):
        said = journal.last(job.id)
        order = {key: n for n, key in enumerate(said.get(("", 0, "preference"), "").split(), 1)}
        for work in works(journal, job.id):
            part = said.get((work.key, 1, "part"), "")
            if work.key in order or part:
                rows.append((job.topic, job.assessor, work.item, order.get(work.key, ""), part))
    return table(("topic", "assessor", "answer", "preference", "most_useful_part"), rows)


def progress_tsv(journal: Journal, cap: float | None = None) -> str:
    """Every assignment: done, total, and seconds per judgment."""
    spent: dict[str, list[float | None]] = {}
    for one in assessments(journal):
        spent.setdefault(one.batch, []).append(one.seconds)
    rows = []
    for job in assignments(journal):
        state, times = progress(journal, job), summary(spent.get(str(job.id), []), cap)
        clock = (f"{times.mean:.1f}", f"{times.median:.1f}") if times else ("", "")
        rows.append((job.assessor, job.purpose, job.task, job.topic, state.done, state.total, *clock))
    return table(("assessor", "purpose", "task", "topic", "done", "total", "mean_seconds", "median_seconds"), rows)


Rows = tuple[tuple[str, ...], list[tuple[str | int | float | None, ...]]]


def agreement_rows(journal: Journal, task: int | None = None) -> Rows:
    """Every pair of assessors, then the mean over pairs."""
    given = [one for one in assessments(journal, "main", "dual") if task in (None, one.task)]
    pairs = pair_agreements(given)
    rows: list[tuple[str | int | float | None, ...]] = [
        (pair.first, pair.second, pair.items, pair.coded, pair.four, pair.binary) for pair in pairs
    ]
    items, coded = sum(pair.items for pair in pairs), sum(pair.coded for pair in pairs)
    rows.append(("mean", "", items, coded, *mean_agreement(pairs)))
    return ("first", "second", "items", "coded", "kappa", "kappa_hm"), rows


def training_rows(journal: Journal, task: int | None = None) -> Rows:
    """Every assessor of every training round."""
    names = tuple(field.name for field in fields(TrainingResult))
    return names, [astuple(one) for one in training_results(journal) if task in (None, one.task)]
