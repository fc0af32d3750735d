"""The one door through which an assessor's words enter the journal; and what the journal then says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from porism.errors import PorismError
from porism.lab.judging.assessment import Assessment
from porism.lab.judging.journal import Entry, Event, Journal
from porism.lab.judging.queue import Assignment, assignment, assignments, card_count, submitted, works
from porism.lab.judging.scale import grades
from porism.lab.judging.times import visit_seconds

TEXT_LIMIT = 4000
_TEXT = re.compile(rf"(?s).{{0,{TEXT_LIMIT}}}")
# What may be said, and in which form. Fields of the topic itself stand at the empty item, instance 0.
FIELDS = {
    "grade": re.compile("|".join(str(step.code) for step in grades())),
    "comment": _TEXT,
    "machine": re.compile("[01]"),
    "unrelated": re.compile("[01]"),
    "part": re.compile(r"\d{0,4}"),
    "open": re.compile(""),
    "submit": re.compile(""),
}
TOPIC_FIELDS = {
    "narrative": _TEXT,
    "text_alone": re.compile("yes|no"),
    "formulas_alone": re.compile("yes|no"),
    "preference": re.compile(r"[0-9a-f ]{0,20000}"),
}
ONCE = re.compile(r"[A-Za-z0-9_:.-]{8,100}")


def own_assignment(journal: Journal, assessor: str, number: int) -> Assignment:
    """The assignment, if it is this assessor's; another's does not exist for them."""
    job = assignment(journal, number)
    if job.assessor != assessor:
        raise PorismError(f"there is no assignment {number}", fix="go back to your list")
    return job


def record(
    journal: Journal, assessor: str, number: int, entries: Sequence[Entry], once: str, at: float | None = None
) -> int:
    """Check entries against the assignment and store them; returns how many were new. All are stored or none."""
    job = own_assignment(journal, assessor, number)
    if not ONCE.fullmatch(once):
        raise PorismError("the form lacks its number", fix="load the page again")
    cards = {key: card_count(journal, number, key) for key in {entry.item for entry in entries}}
    for entry in entries:
        _check(entry, cards, job)
    if job.purpose == "training":
        _refuse_second_thoughts(journal, job, entries, once)
    return journal.append(assessor, number, entries, once, at)


def _check(entry: Entry, cards: dict[str, int], job: Assignment) -> None:
    """One entry is about this assignment and well formed."""
    table = FIELDS if entry.item else TOPIC_FIELDS
    form = table.get(entry.field)
    if form is None:
        raise PorismError(f"there is no field {entry.field!r}", fix="load the page again")
    if entry.item and not 1 <= entry.instance <= cards.get(entry.item, 0):
        raise PorismError("the item is not in this assignment", fix="go back to your list")
    if not form.fullmatch(entry.value):
        short = len(entry.value) <= TEXT_LIMIT
        raise PorismError(
            f"{entry.value[:40]!r} cannot be a {entry.field}" if short else f"the {entry.field} is too long",
            fix="load the page again" if short else f"use at most {TEXT_LIMIT} characters",
        )
    if (entry.field in ("machine", "unrelated")) != (job.purpose == "extra") and entry.field in (
        "grade",
        "machine",
        "unrelated",
    ):
        raise PorismError(f"{entry.field} is not asked here", fix="go back to your list")


def _refuse_second_thoughts(journal: Journal, job: Assignment, entries: Iterable[Entry], once: str) -> None:
    """A training grade stands as it was before its feedback was shown (a repeated request is no second thought)."""
    handed_in = submitted(journal, job.id)
    for entry in entries:
        if entry.item in handed_in and entry.field != "open" and not journal.holds(job.id, entry, once):
            raise PorismError("a training grade cannot be changed after its feedback", fix="go on to the next item")


def assessments(journal: Journal, *purposes: str) -> list[Assessment]:
    """Every grade that stands, with its comment and its time; of the given purposes, or of all but the extra questions."""
    wanted = purposes or ("main", "dual", "training")
    return [one for job in assignments(journal) if job.purpose in wanted for one in _standing(journal, job)]


def _standing(journal: Journal, job: Assignment) -> Iterator[Assessment]:
    """The standing grades of one assignment, in its order."""
    by_item: dict[str, list[Event]] = {}
    for event in journal.events(job.id):
        by_item.setdefault(event.item, []).append(event)
    for work in works(journal, job.id):
        events = by_item.get(work.key, [])
        last = {(event.instance, event.field): event for event in events}
        moments = [(event.field, event.at) for event in events if event.field in ("open", "submit")]
        opened = next((at for kind, at in moments if kind == "open"), 0.0)
        spent = visit_seconds(moments)
        seconds = None if spent is None else spent / len(work.cards)
        for number in range(1, len(work.cards) + 1):
            if (given := last.get((number, "grade"))) is None:
                continue
            said = last.get((number, "comment"))
            closed = max([at for kind, at in moments if kind == "submit"], default=given.at)
            yield Assessment(
                job.task, job.topic, work.item, number, job.assessor, int(given.value), said.value if said else "",
                opened, closed, seconds, str(job.id), job.purpose,
            )  # fmt: skip


def extra_answers(journal: Journal) -> list[tuple[str, str, int, int]]:
    """(topic, item, machine generated, unrelated information) where both questions were answered."""
    found = []
    for job in assignments(journal):
        if job.purpose == "extra":
            last = journal.last(job.id)
            for work in works(journal, job.id):
                pair = [last.get((work.key, 1, field)) for field in ("machine", "unrelated")]
                if pair[0] and pair[1]:
                    found.append((job.topic, work.item, int(pair[0]), int(pair[1])))
    return found
