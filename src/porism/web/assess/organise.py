"""The organiser's pages: progress, times, agreement, disagreements, export."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from porism.lab.judging.agreement import Disagreement, disagreements, mean_agreement, pair_agreements
from porism.lab.judging.exports import extra_tsv, narratives_tsv, preferences_tsv, qrels_tsv
from porism.lab.judging.journal import Journal
from porism.lab.judging.queue import Assignment, Progress, Work, assignments, progress
from porism.lab.judging.record import assessments
from porism.lab.judging.scale import grade
from porism.lab.judging.times import TimeSummary, summary
from porism.lab.judging.training import training_results
from porism.lab.turkle.export import answer_blocks, formula_card, topic_of
from porism.lab.turkle.submitted import results_csv
from porism.web.assess.guard import Refused, Visit

IDLE_CAP = 600.0


@dataclass(frozen=True, slots=True)
class JobRow:
    """One assignment in the overview."""

    job: Assignment
    state: Progress
    times: TimeSummary | None
    words: str


def _cap(visit: Visit) -> float:
    given = visit.request.query_params.get("cap", "")
    return float(given) if given.isdigit() and int(given) > 0 else IDLE_CAP


def overview(visit: Visit) -> Response:
    """Progress and time per assessor and topic."""
    journal = visit.room.journal
    cap = _cap(visit)
    spent: dict[str, list[float | None]] = {}
    by_assessor: dict[str, list[float | None]] = {}
    for one in assessments(journal):
        spent.setdefault(one.batch, []).append(one.seconds)
        by_assessor.setdefault(one.assessor, []).append(one.seconds)
    rows = [
        JobRow(job, progress(journal, job), summary(spent.get(str(job.id), []), cap), _status(journal, job))
        for job in assignments(journal)
    ]
    people = [(name, len(times), summary(times, cap)) for name, times in sorted(by_assessor.items())]
    return visit.page("organise.html", rows=rows, people=people, cap=int(cap))


def _status(journal: Journal, job: Assignment) -> str:
    """Has the narrative been written, where one is asked for?"""
    if job.purpose != "main":
        return ""
    return "written" if journal.last(job.id).get(("", 0, "narrative")) else "missing"


def agreement_page(visit: Visit) -> Response:
    """Kappa of every pair and of every assessor with the others; training rounds."""
    journal = visit.room.journal
    pairs = pair_agreements(assessments(journal, "main", "dual"))
    names = sorted({name for pair in pairs for name in (pair.first, pair.second)})
    cells = {(pair.first, pair.second): pair for pair in pairs} | {(pair.second, pair.first): pair for pair in pairs}
    means = {name: mean_agreement(pairs, name) for name in names}
    return visit.page(
        "agreement.html",
        pairs=pairs,
        names=names,
        cells=cells,
        means=means,
        overall=mean_agreement(pairs),
        training=training_results(journal),
    )


def disagreements_page(visit: Visit) -> Response:
    """Items that got different grades, side by side, the widest apart first."""
    journal = visit.room.journal
    keys = {
        (row["task"], row["topic"], row["item"]): row["key"]
        for row in journal.read("SELECT task, topic, item, key FROM item")
    }
    found = disagreements(assessments(journal, "main", "dual"))
    rows = [(one, keys.get((one.opinions[0].task, one.topic, one.item), ""), _named(one)) for one in found]
    return visit.page("disagreements.html", rows=rows)


def _named(one: Disagreement) -> list[tuple[str, str, str]]:
    return [(o.assessor, step.name if (step := grade(o.grade)) else str(o.grade), o.comment) for o in one.opinions]


def item(visit: Visit) -> Response:
    """One item as the assessors see it, with its topic."""
    room = visit.room
    rows = room.journal.read("SELECT * FROM item WHERE key = ?", (visit.request.path_params["key"],))
    if not rows:
        raise Refused(404, "There is no such item.")
    row = rows[0]
    cards = tuple(
        (c[0], c[1])
        for c in room.journal.read(
            "SELECT formula_id, post_id FROM instance WHERE item = ? ORDER BY number", (row["key"],)
        )
    )
    work = Work(row["place"], row["key"], row["item"], cards, row["text"], row["known"], row["reason"])
    topic = topic_of(room.journal, Assignment(0, "", row["task"], row["topic"], "main", 1))
    shown = (
        [formula_card(room.content, f or 0, p or 0) for f, p in cards]
        if row["task"] == 2
        else ["".join(answer_blocks(room.content, work))]
    )
    return visit.page(
        "item.html",
        topic=topic.id,
        name=row["item"],
        title=room.content.render(topic.title, topic.formula_id),
        question=room.content.render(topic.question, topic.formula_id),
        cards=shown,
        history=_history(room.journal, row["key"]),
    )


def _history(journal: Journal, key: str) -> list[tuple[str, str, int, str, str]]:
    """How the judgments of an item came about: when, who, which card, what, in the order it was said."""
    rows = journal.read(
        "SELECT at, assessor, instance, field, value FROM event WHERE item = ? AND field NOT IN ('open', 'submit') ORDER BY id",
        (key,),
    )
    found = []
    for row in rows:
        step = grade(int(row["value"])) if row["field"] == "grade" else None
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(row["at"]))
        found.append((when, row["assessor"], row["instance"], row["field"], step.name if step else row["value"]))
    return found


# name of the download -> how it is made. Qrels are made for the tasks that have judgments.
EXPORTS: dict[str, Callable[[Journal], str]] = {
    "results.csv": results_csv,
    "narratives.tsv": narratives_tsv,
    "extra_questions.tsv": extra_tsv,
    "preferences.tsv": preferences_tsv,
    **{
        f"qrel_task{task}_{variant}.tsv": functools.partial(qrels_tsv, task=task, variant=variant)
        for task in (1, 2, 3)
        for variant in ("official", "all", *(("complete",) if task == 3 else ()), "sampled")
    },
}


def export_page(visit: Visit) -> Response:
    """What can be downloaded."""
    return visit.page("export.html", names=list(EXPORTS))


def export_file(visit: Visit) -> Response:
    """One download."""
    name = visit.request.path_params["name"]
    if name not in EXPORTS:
        raise Refused(404, "There is no such file.")
    kind = "text/csv" if name.endswith(".csv") else "text/tab-separated-values"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(EXPORTS[name](visit.room.journal), media_type=f"{kind}; charset=utf-8", headers=headers)
