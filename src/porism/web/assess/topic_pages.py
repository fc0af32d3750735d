"""Pages about a topic as a whole: its narrative, the list of its items, the order of preference."""

from __future__ import annotations

import re
import secrets

from starlette.responses import RedirectResponse, Response

from porism.errors import PorismError
from porism.lab.judging.content import Content
from porism.lab.judging.journal import Entry
from porism.lab.judging.queue import Assignment, Standing, Work, is_done, needs_narrative, progress, works
from porism.lab.judging.record import own_assignment, record
from porism.lab.judging.scale import RELEVANT, grade
from porism.lab.turkle.export import answer_blocks, topic_of
from porism.web.assess.guard import Refused, Visit

TOPIC_FIELDS = ("narrative", "text_alone", "formulas_alone")


def _job(visit: Visit) -> Assignment:
    try:
        return own_assignment(visit.room.journal, visit.name, visit.number("job"))
    except PorismError as error:
        raise Refused(404, error.message) from None


def topic(visit: Visit) -> Response:
    """The topic alone, before any candidate is seen: what would a good answer hold?"""
    return _topic_page(visit, _job(visit), [], 200)


def _topic_page(visit: Visit, job: Assignment, problems: list[str], status: int) -> Response:
    room = visit.room
    found = topic_of(room.journal, job)
    said = room.journal.last(job.id)
    return visit.page(
        "topic.html",
        status,
        job=job,
        topic_thread=room.topic_thread(job) is not None,
        title=room.content.render(found.title, found.formula_id),
        question=room.content.render(found.question, found.formula_id),
        tags=found.tags,
        said={field: said.get(("", 0, field), "") for field in TOPIC_FIELDS},
        problems=problems,
        once=secrets.token_urlsafe(12),
    )


def save_topic(visit: Visit) -> Response:
    """Store the narrative and the two questions, then begin or go on."""
    job = _job(visit)
    standing = visit.room.journal.last(job.id)
    given = {field: visit.text(field).strip() for field in TOPIC_FIELDS}
    entries = [
        Entry("", 0, field, value) for field, value in given.items() if value and value != standing.get(("", 0, field))
    ]
    record(visit.room.journal, visit.name, job.id, entries, visit.text("once"))
    if not all(given.values()):
        return _topic_page(visit, job, ["Please write the narrative and answer both questions."], 422)
    return RedirectResponse(f"/judge/{job.id}", 303)


def _row(job: Assignment, work: Work, standing: Standing) -> tuple[int, str, bool]:
    """Place, what was said in short, and whether it is complete."""
    if job.purpose == "extra":
        said = [standing.get((work.key, 1, field), "") for field in ("machine", "unrelated")]
        words = ", ".join({"1": "yes", "0": "no", "": "–"}[value] for value in said)
    else:
        codes = [standing.get((work.key, number, "grade"), "") for number in range(1, len(work.cards) + 1)]
        steps = [grade(int(code)) if code else None for code in codes]
        words = ", ".join(step.name if step else "–" for step in steps)
    return work.place, words, is_done(work.key, len(work.cards), job.purpose, standing)


def listing(visit: Visit) -> Response:
    """Every item of the assignment with what was said, to go back to any of them."""
    job = _job(visit)
    standing = visit.room.journal.last(job.id)
    rows = [_row(job, work, standing) for work in works(visit.room.journal, job.id)]
    can_prefer = job.task == 1 and job.purpose in ("main", "dual")
    state = progress(visit.room.journal, job, 0, standing)
    return visit.page(
        "list.html", job=job, rows=rows, state=state, can_prefer=can_prefer, has_topic=needs_narrative(job)
    )


def preferred(job_works: list[Work], standing: Standing) -> list[Work]:
    """The relevant items in the assessor's order; those not placed yet come last, better grades first."""
    marks = {work.key: int(standing.get((work.key, 1, "grade"), "") or 0) for work in job_works}
    relevant = [work for work in job_works if RELEVANT <= marks[work.key] <= 3]
    order = {key: n for n, key in enumerate(standing.get(("", 0, "preference"), "").split())}
    return sorted(relevant, key=lambda work: (order.get(work.key, len(order)), -marks[work.key], work.place))


def prefer(visit: Visit) -> Response:
    """The relevant answers in order of preference, with buttons to move each."""
    job = _job(visit)
    standing = visit.room.journal.last(job.id)
    ordered = preferred(works(visit.room.journal, job.id), standing)
    rows = [(work, gist(visit.room.content, work), grade(int(standing[work.key, 1, "grade"]))) for work in ordered]
    return visit.page("prefer.html", job=job, rows=rows, once=secrets.token_urlsafe(12))


def gist(content: Content, work: Work) -> str:
    """The first blocks of an answer, enough to know it again."""
    blocks = answer_blocks(content, work)
    taken = ""
    for block in blocks:
        taken += block
        if len(re.sub(r"<[^>]*>", "", taken)) > 160:
            break
    return taken


def save_prefer(visit: Visit) -> Response:
    """Move one answer up or down; the whole order is stored as one event."""
    job = _job(visit)
    keys = [work.key for work in preferred(works(visit.room.journal, job.id), visit.room.journal.last(job.id))]
    direction, _, key = visit.text("move").partition(":")
    if key in keys and direction in ("up", "down"):
        at = keys.index(key)
        to = max(0, at - 1) if direction == "up" else min(len(keys) - 1, at + 1)
        keys.insert(to, keys.pop(at))
    record(visit.room.journal, visit.name, job.id, [Entry("", 0, "preference", " ".join(keys))], visit.text("once"))
    return RedirectResponse(f"/prefer/{job.id}", 303)
