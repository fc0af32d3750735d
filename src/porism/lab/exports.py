"""What assessors said beside grades, and the qrels, as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from porism.lab.journal import Journal
from porism.lab.judging import assessments, extra_answers
from porism.lab.loading import pooled_items
from porism.lab.qrels import variants
from porism.lab.queue import assignments, works


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
