"""The organiser's pages: progress and times, agreement, disagreements, single items, export."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from porism.lab.judging.agreement.model_agreement import model_agreements
from porism.lab.judging.agreement.pairs import (
    Disagreement,
    disagreements,
    mean_agreement,
    overall_alpha,
    pair_agreements,
)
from porism.lab.judging.assessments import Assessment, assessments
from porism.lab.judging.assignments import Assignment, Progress, assignments, progress
from porism.lab.judging.candidate import answer_blocks, formula_html
from porism.lab.judging.items import JudgedItem, find_item, find_topic, item_keys
from porism.lab.judging.people.models import of_people
from porism.lab.judging.results.exports import extra_tsv, narratives_tsv, preferences_tsv, qrels_tsv
from porism.lab.judging.results.results_csv import results_csv
from porism.lab.judging.scale import grade, grades
from porism.lab.judging.storage.journal import Event, Journal, topic_field
from porism.lab.judging.times import TimeSummary, summarise_times
from porism.lab.judging.training import training_results
from porism.web.assess.requests import Refused, RequestContext

IDLE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """An assignment in the overview; `narrative` is written, missing or "" (not needed)."""

    assignment: Assignment
    progress: Progress
    times: TimeSummary | None
    narrative: str


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor in the overview."""

    name: str
    judgments: int
    times: TimeSummary | None


@dataclass(frozen=True, slots=True)
class DisagreementRow:
    """A disagreement with the key of its item."""

    disagreement: Disagreement
    key: str


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """An entry in the history of an item."""

    time: str
    assessor: str
    instance: int
    field: str
    value: str


def _cap(context: RequestContext) -> float:
    text = context.request.query_params.get("cap", "")
    return float(text) if text.isdigit() and int(text) > 0 else IDLE_SECONDS


def overview(context: RequestContext) -> Response:
    """Show progress and times by assessor and by assignment."""
    journal = context.app.journal
    cap = _cap(context)
    by_assignment: dict[int, list[float | None]] = {}
    by_assessor: dict[str, list[float | None]] = {}
    for given in assessments(journal):
        by_assignment.setdefault(given.assignment, []).append(given.seconds)
        by_assessor.setdefault(given.assessor, []).append(given.seconds)
    rows = [
        AssignmentRow(
            assignment,
            progress(journal, assignment),
            summarise_times(by_assignment.get(assignment.id, []), cap),
            _narrative_state(journal, assignment),
        )
        for assignment in assignments(journal)
    ]
    assessors = [
        AssessorRow(name, len(times), summarise_times(times, cap)) for name, times in sorted(by_assessor.items())
    ]
    return context.page("organise.html", rows=rows, assessors=assessors, cap=int(cap))


def _narrative_state(journal: Journal, assignment: Assignment) -> str:
    if assignment.purpose != "main":
        return ""
    return "written" if journal.current_values(assignment.id).get(topic_field("narrative")) else "missing"


def agreement_page(context: RequestContext) -> Response:
    """Show kappa of every pair and the mean of every assessor, and the training rounds."""
    journal = context.app.journal
    everything = assessments(journal, "main", "dual")
    given = of_people(everything)
    pairs = pair_agreements(given)
    names = sorted({name for pair in pairs for name in (pair.first, pair.second)})
    cells = {(pair.first, pair.second): pair for pair in pairs} | {(pair.second, pair.first): pair for pair in pairs}
    return context.page(
        "agreement.html",
        pairs=pairs,
        names=names,
        cells=cells,
        means={name: mean_agreement(pairs, name) for name in names},
        overall=mean_agreement(pairs),
        alpha=overall_alpha(given),
        training=training_results(journal),
        models=model_agreements(everything),
        graded=[step for step in grades() if step.graded],
    )


def disagreements_page(context: RequestContext) -> Response:
    """Show items that got different grades, the largest spread first."""
    journal = context.app.journal
    keys = item_keys(journal)
    rows = [
        DisagreementRow(found, keys.get(JudgedItem(found.opinions[0].task, found.topic, found.item), ""))
        for found in disagreements(assessments(journal, "main", "dual"))
    ]
    return context.page("disagreements.html", rows=rows, grade_name=_grade_name)


def _grade_name(opinion: Assessment) -> str:
    step = grade(opinion.grade)
    return step.name if step else str(opinion.grade)


def item(context: RequestContext) -> Response:
    """Show one item as the assessors see it, with its topic and the history of its judgments."""
    journal, content = context.app.journal, context.app.content
    found = find_item(journal, context.request.path_params["key"])
    if found is None:
        raise Refused(404, "There is no such item.")
    topic = find_topic(journal, found.task, found.topic)
    cards = (
        [formula_html(content, card) for card in found.cards]
        if found.task == 2
        else ["".join(answer_blocks(content, found.cards[0], found.text))]
    )
    return context.page(
        "item.html",
        topic=topic.id,
        item=found.item,
        title=content.render(topic.title, topic.formula_id),
        question=content.render(topic.question, topic.formula_id),
        cards=cards,
        history=[_history_row(event) for event in journal.item_events(found.key)],
    )


def _history_row(event: Event) -> HistoryRow:
    step = grade(int(event.value)) if event.field == "grade" else None
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(event.at))
    return HistoryRow(when, event.assessor, event.instance, event.field, step.name if step else event.value)


# The files that can be downloaded, and how each is made.
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


def export_page(context: RequestContext) -> Response:
    """List the files that can be downloaded."""
    return context.page("export.html", names=list(EXPORTS))


def export_file(context: RequestContext) -> Response:
    """Send one file."""
    name = context.request.path_params["name"]
    if name not in EXPORTS:
        raise Refused(404, "There is no such file.")
    kind = "text/csv" if name.endswith(".csv") else "text/tab-separated-values"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(EXPORTS[name](context.app.journal), media_type=f"{kind}; charset=utf-8", headers=headers)
