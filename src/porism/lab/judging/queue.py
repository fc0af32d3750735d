"""What an assessor has to do, has done, and does next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from porism.errors import PorismError
from porism.lab.judging.journal import Journal
from porism.lab.judging.scale import grade

Standing = Mapping[tuple[str, int, str], str]
EXTRA_QUESTIONS = ("machine", "unrelated")


@dataclass(frozen=True, slots=True)
class Assignment:
    """A list of items of one topic that one assessor judges for one purpose: main, dual, training or extra."""

    id: int
    assessor: str
    task: int
    topic: str
    purpose: str
    round: int


@dataclass(frozen=True, slots=True)
class Work:
    """One item of an assignment: its place in the list, its cards (formula id, post id), or its text if it was written."""

    place: int
    key: str
    item: str
    cards: tuple[tuple[int | None, int | None], ...]
    text: str
    known: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of an assignment is done, and where to go on (None when all is done)."""

    done: int
    total: int
    next: int | None


def assignment(journal: Journal, number: int) -> Assignment:
    """The assignment with this number."""
    rows = journal.read("SELECT id, assessor, task, topic, purpose, round FROM assignment WHERE id = ?", (number,))
    if not rows:
        raise PorismError(f"there is no assignment {number}", fix="go back to your list")
    return Assignment(*rows[0])


def assignments(journal: Journal, assessor: str = "") -> list[Assignment]:
    """Assignments of one assessor, or of all; training first."""
    rows = journal.read(
        "SELECT id, assessor, task, topic, purpose, round FROM assignment WHERE ? IN ('', assessor) "
        "ORDER BY assessor, CASE purpose WHEN 'training' THEN 0 WHEN 'main' THEN 1 WHEN 'dual' THEN 2 ELSE 3 END, round, id",
        (assessor,),
    )
    return [Assignment(*row) for row in rows]


def works(journal: Journal, number: int, place: int | None = None) -> list[Work]:
    """The items of an assignment in order, or the one at a place."""
    rows = journal.read(
        "SELECT assigned.place, key, item.item, number, formula_id, post_id, text, known, reason FROM assigned "
        "JOIN item ON item.key = assigned.item JOIN instance ON instance.item = item.key "
        "WHERE assignment = ? AND (? IS NULL OR assigned.place = ?) ORDER BY assigned.place, number",
        (number, place, place),
    )
    grouped: dict[int, list[tuple[int | None, int | None]]] = {}
    for row in rows:
        grouped.setdefault(row["place"], []).append((row["formula_id"], row["post_id"]))
    first = {row["place"]: row for row in reversed(rows)}
    return [
        Work(
            p, first[p]["key"], first[p]["item"], tuple(cards), first[p]["text"], first[p]["known"], first[p]["reason"]
        )
        for p, cards in grouped.items()
    ]


def card_count(journal: Journal, number: int, key: str) -> int:
    """How many cards an item of this assignment has; 0 if it is not in it."""
    rows = journal.read(
        "SELECT count(*) FROM assigned JOIN instance ON instance.item = assigned.item WHERE assignment = ? AND assigned.item = ?",
        (number, key),
    )
    return int(rows[0][0])


def is_done(work_key: str, cards: int, purpose: str, standing: Standing) -> bool:
    """Has every card its grade (and a comment where the grade asks for one), or every extra question its answer?"""
    if purpose == "extra":
        return all(standing.get((work_key, 1, question)) for question in EXTRA_QUESTIONS)
    for number in range(1, cards + 1):
        given = standing.get((work_key, number, "grade"), "")
        step = grade(int(given)) if given else None
        if step is None or (step.comment and not standing.get((work_key, number, "comment"), "").strip()):
            return False
    return True


def progress(journal: Journal, job: Assignment, after: int = 0, standing: Standing | None = None) -> Progress:
    """Count what is done; the next place is the first one not done after `after`, then from the start."""
    standing = journal.last(job.id) if standing is None else standing
    rows = journal.read(
        "SELECT place, assigned.item AS key, count(*) AS cards FROM assigned JOIN instance ON instance.item = assigned.item "
        "WHERE assignment = ? GROUP BY place, assigned.item ORDER BY place",
        (job.id,),
    )
    locked = submitted(journal, job.id) if job.purpose == "training" else None
    open_places = [
        row["place"]
        for row in rows
        if not is_done(row["key"], row["cards"], job.purpose, standing)
        or (locked is not None and row["key"] not in locked)
    ]
    return Progress(len(rows) - len(open_places), len(rows), _following(open_places, after))


def _following(places: Sequence[int], after: int) -> int | None:
    return next((place for place in places if place > after), places[0] if places else None)


def submitted(journal: Journal, number: int) -> set[str]:
    """Keys of the items of an assignment that were handed in at least once."""
    rows = journal.read("SELECT DISTINCT item FROM event WHERE assignment = ? AND field = 'submit'", (number,))
    return {row["item"] for row in rows}


def has_narrative(standing: Standing) -> bool:
    """Was the narrative of the topic written, and both questions about it answered?"""
    return all(standing.get(("", 0, field), "").strip() for field in ("narrative", "text_alone", "formulas_alone"))


def needs_narrative(job: Assignment) -> bool:
    """Whoever judges a topic for the qrels writes its narrative first."""
    return job.purpose == "main"
