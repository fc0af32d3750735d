"""The organiser's page of people: accounts, and who judges what."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import RedirectResponse, Response

from porism.errors import PorismError
from porism.lab.judging.accounts import ROLES, accounts, add_account
from porism.lab.judging.assignment import assign_dual, assign_extra, assign_topic, assign_training
from porism.lab.judging.journal import Journal
from porism.lab.pooling.rules import topic_key
from porism.web.assess.guard import Visit


def people_page(visit: Visit) -> Response:
    """Accounts, topics and who has them."""
    return _page(visit, "", 200)


def _page(visit: Visit, problem: str, status: int) -> Response:
    journal = visit.room.journal
    rows = journal.read(
        "SELECT item.task, item.topic, count(*) AS items, (SELECT group_concat(assessor, ', ') FROM assignment "
        "WHERE assignment.task = item.task AND assignment.topic = item.topic AND purpose = 'main') AS owner "
        "FROM item WHERE sampled = 1 AND known IS NULL GROUP BY item.task, item.topic"
    )
    topics = sorted(rows, key=lambda row: (row["task"], topic_key(row["topic"])))
    return visit.page(
        "people.html",
        status,
        accounts=accounts(journal),
        roles=ROLES,
        topics=topics,
        problem=problem,
        assessors=accounts(journal, "assessor"),
    )


def add_person(visit: Visit) -> Response:
    """A new account, or a new password."""
    try:
        add_account(visit.room.journal, visit.text("name").strip(), visit.text("role"), visit.text("password"))
    except PorismError as error:
        return _page(visit, f"{error.message}: {error.fix}", 422)
    return RedirectResponse("/organise/people", 303)


def _number(visit: Visit, name: str, default: int) -> int:
    given = visit.text(name).strip()
    if not given:
        return default
    if not given.isdigit():
        raise PorismError(f"{name} must be a whole number", fix="type digits")
    return int(given)


Assigner = Callable[[Visit, Journal, str, int, str], int]
# What the form's choice does.
KINDS: dict[str, Assigner] = {
    "main": lambda visit, journal, who, task, topic: assign_topic(journal, who, task, topic),
    "dual": lambda visit, journal, who, task, topic: assign_dual(
        journal, who, task, topic, _number(visit, "size", 0) or None, _number(visit, "seed", 0)
    ),
    "training": lambda visit, journal, who, task, topic: assign_training(
        journal, who, task, _number(visit, "round", 1)
    ),
    "extra": lambda visit, journal, who, task, topic: assign_extra(
        journal, who, topic, _number(visit, "size", 20), _number(visit, "seed", 0)
    ),
}


def assign(visit: Visit) -> Response:
    """Give work to an assessor."""
    task, _, topic = visit.text("topic").partition(" ")
    kind = KINDS.get(visit.text("purpose"))
    try:
        if kind is None or task not in ("1", "2"):
            raise PorismError("choose a topic and a purpose", fix="use the form")
        kind(visit, visit.room.journal, visit.text("assessor"), int(task), topic)
    except PorismError as error:
        return _page(visit, f"{error.message}: {error.fix}", 422)
    return RedirectResponse("/organise/people", 303)
