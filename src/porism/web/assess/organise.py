"""The organiser's pages: progress and times, people, agreement, disagreements, stability, single items, export."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.responses import RedirectResponse, Response

from porism.errors import PorismError
from porism.evaluate.measures.measure import parse
from porism.evaluate.reliability import STABLE, Stability, stability
from porism.evaluate.reports.svg import lines
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.run import read_run
from porism.lab.judging import agreement
from porism.lab.judging.assessments import (
    Assessment,
    TimeSummary,
    assessments,
    journal_judgments,
    of_people,
    summarise_times,
)
from porism.lab.judging.assignments import (
    Assignment,
    AssignmentProgress,
    assign_dual,
    assign_extra,
    assign_topic,
    assign_training,
    assignments,
    progress,
)
from porism.lab.judging.content import answer_blocks, formula_html
from porism.lab.judging.exports import extra_tsv, narratives_tsv, preferences_tsv, qrels_tsv, results_csv
from porism.lab.judging.items import JudgedItem, find_item, find_topic, item_keys, topic_assignments
from porism.lab.judging.journal import Event, Journal, topic_field
from porism.lab.judging.people import ROLES, accounts, add_account
from porism.lab.judging.scale import grade, grades
from porism.records import Judgment
from porism.web.assess.requests import RefusedRequest, RequestContext

IDLE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """An assignment in the overview; `narrative` is written, missing or "" (not needed)."""

    assignment: Assignment
    progress: AssignmentProgress
    times: TimeSummary | None
    narrative: str


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor in the overview."""

    name: str
    judgments: int
    times: TimeSummary | None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """An entry in the history of an item."""

    time: str
    assessor: str
    instance: int
    field: str
    value: str


def overview(context: RequestContext) -> Response:
    """Show progress and times by assessor and by assignment."""
    journal = context.app.journal
    text = context.request.query_params.get("cap", "")
    cap = float(text) if text.isdigit() and int(text) > 0 else IDLE_SECONDS
    by_assignment: dict[int, list[float | None]] = {}
    by_assessor: dict[str, list[float | None]] = {}
    for given in assessments(journal):
        by_assignment.setdefault(given.assignment, []).append(given.seconds)
        by_assessor.setdefault(given.assessor, []).append(given.seconds)
    rows = []
    for one in assignments(journal):
        narrative = ""
        if one.purpose == "main":
            narrative = "written" if journal.current_values(one.id).get(topic_field("narrative")) else "missing"
        times = summarise_times(by_assignment.get(one.id, []), cap)
        rows.append(AssignmentRow(one, progress(journal, one), times, narrative))
    assessors = [
        AssessorRow(name, len(times), summarise_times(times, cap)) for name, times in sorted(by_assessor.items())
    ]
    return context.page("organise.html", rows=rows, assessors=assessors, cap=int(cap))


def agreement_page(context: RequestContext) -> Response:
    """Show kappa of every pair and the mean of every assessor, and the training rounds."""
    journal = context.app.journal
    everything = assessments(journal, "main", "dual")
    given = of_people(everything)
    pairs = agreement.pair_agreements(given)
    names = sorted({name for pair in pairs for name in (pair.first, pair.second)})
    cells = {(pair.first, pair.second): pair for pair in pairs} | {(pair.second, pair.first): pair for pair in pairs}
    return context.page(
        "agreement.html",
        pairs=pairs,
        names=names,
        cells=cells,
        means={name: agreement.mean_agreement(pairs, name) for name in names},
        overall=agreement.mean_agreement(pairs),
        alpha=agreement.overall_alpha(given),
        training=agreement.training_results(journal),
        models=agreement.model_agreements(everything),
        graded=[step for step in grades() if step.graded],
    )


def disagreements_page(context: RequestContext) -> Response:
    """Show items that got different grades, the largest spread first."""
    journal = context.app.journal
    keys = item_keys(journal)
    found = agreement.disagreements(assessments(journal, "main", "dual"))
    rows = {one: keys.get(JudgedItem(one.opinions[0].task, one.topic, one.item), "") for one in found}

    def grade_name(opinion: Assessment) -> str:
        step = grade(opinion.grade)
        return step.name if step else str(opinion.grade)

    return context.page("disagreements.html", rows=rows, grade_name=grade_name)


def item(context: RequestContext) -> Response:
    """Show one item as the assessors see it, with its topic and the history of its judgments."""
    journal, content = context.app.journal, context.app.content
    found = find_item(journal, context.request.path_params["key"])
    if found is None:
        raise RefusedRequest(404, "There is no such item.")
    topic = find_topic(journal, found.task, found.topic)
    if found.task == 2:
        cards = [formula_html(content, card) for card in found.cards]
    else:
        cards = ["".join(answer_blocks(content, found.cards[0], found.text))]
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
        raise RefusedRequest(404, "There is no such file.")
    kind = "text/csv" if name.endswith(".csv") else "text/tab-separated-values"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(EXPORTS[name](context.app.journal), media_type=f"{kind}; charset=utf-8", headers=headers)


def people_page(context: RequestContext) -> Response:
    """Show people, topics, and who judges which topic."""
    return _page(context, "", 200)


def _page(context: RequestContext, problem: str, status: int) -> Response:
    journal = context.app.journal
    return context.page(
        "people.html",
        status,
        accounts=accounts(journal),
        roles=ROLES,
        topics=topic_assignments(journal),
        problem=problem,
        assessors=accounts(journal, "assessor"),
    )


def add_person(context: RequestContext) -> Response:
    """Create an account, or change its password."""
    try:
        add_account(context.app.journal, context.text("name").strip(), context.text("role"), context.text("password"))
    except PorismError as error:
        return _page(context, f"{error.message}: {error.fix}", 422)
    return RedirectResponse("/organise/people", 303)


def _number(context: RequestContext, name: str, default: int) -> int:
    text = context.text(name).strip()
    if not text:
        return default
    if not text.isdigit():
        raise PorismError(f"{name} must be a whole number", fix="type digits")
    return int(text)


def assign(context: RequestContext) -> Response:
    """Assign items to an assessor."""
    number, _, topic = context.text("topic").partition(" ")
    journal, assessor, task = context.app.journal, context.text("assessor"), int(number) if number in ("1", "2") else 0
    try:
        match context.text("purpose") if task else "":
            case "main":
                assign_topic(journal, assessor, task, topic)
            case "dual":
                size, seed = _number(context, "size", 0) or None, _number(context, "seed", 0)
                assign_dual(journal, assessor, task, topic, size, seed)
            case "training":
                assign_training(journal, assessor, task, _number(context, "round", 1))
            case "extra":
                assign_extra(journal, assessor, topic, _number(context, "size", 20), _number(context, "seed", 0))
            case _:
                raise PorismError("choose a topic and a purpose", fix="use the form")
    except PorismError as error:
        return _page(context, f"{error.message}: {error.fix}", 422)
    return RedirectResponse("/organise/people", 303)


MEASURE = "nDCG'"
DRAWS = 200
SEED = 2022


def stability_page(context: RequestContext) -> Response:
    """Show the curve over the judgments of Task 1 so far, and the hint."""
    submissions = context.app.submissions
    named = [(path, parse_name(path.name)) for path in submissions.runs()] if submissions else []
    paths = [path for path, name in named if name is not None and name.task == "task1"]
    judgments = tuple(journal_judgments(context.app.journal, 1))
    versions = tuple((path, path.stat().st_mtime_ns) for path in paths)
    found = _curve(judgments, versions) if len(paths) > 1 and judgments else None
    return context.page(
        "stability.html",
        runs=len(paths),
        judgments=len(judgments),
        found=found,
        chart=_chart(found) if found else "",
        measure=MEASURE,
        threshold=STABLE,
    )


@lru_cache(4)
def _curve(judgments: tuple[Judgment, ...], runs: tuple[tuple[Path, int], ...]) -> Stability:
    """Compute the curve once for these judgments and these versions of the runs."""
    return stability(judgments, [read_run(path) for path, _ in runs], parse(MEASURE), draws=DRAWS, seed=SEED)


def _chart(found: Stability) -> str:
    """Draw the mean and the lower bound over the number of judgments."""
    mean = [(point.judgments, max(0.0, point.tau)) for point in found.points if point.tau is not None]
    least = [(point.judgments, max(0.0, point.low)) for point in found.points if point.low is not None]
    if not mean:
        return ""
    ticks = [(point.judgments, f"{point.judgments:,}") for point in found.points[4::5]]
    series = {"mean": mean, "95 % of the draws are above": least}
    return lines(series, "Kendall's tau over the number of judgments", ticks, 680, 260)
