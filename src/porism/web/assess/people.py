"""The organiser's page of people: accounts and assignments."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import RedirectResponse, Response

from porism.errors import PorismError
from porism.lab.judging.assign import assign_dual, assign_extra, assign_topic, assign_training
from porism.lab.judging.items import topic_assignments
from porism.lab.judging.people.accounts import ROLES, accounts, add_account
from porism.lab.judging.storage.journal import Journal
from porism.web.assess.requests import RequestContext


def people_page(context: RequestContext) -> Response:
    """Show accounts, topics, and who judges which topic."""
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


Assigner = Callable[[RequestContext, Journal, str, int, str], int]
# What each purpose in the form does.
ASSIGNERS: dict[str, Assigner] = {
    "main": lambda context, journal, assessor, task, topic: assign_topic(journal, assessor, task, topic),
    "dual": lambda context, journal, assessor, task, topic: assign_dual(
        journal, assessor, task, topic, _number(context, "size", 0) or None, _number(context, "seed", 0)
    ),
    "training": lambda context, journal, assessor, task, topic: assign_training(
        journal, assessor, task, _number(context, "round", 1)
    ),
    "extra": lambda context, journal, assessor, task, topic: assign_extra(
        journal, assessor, topic, _number(context, "size", 20), _number(context, "seed", 0)
    ),
}


def assign(context: RequestContext) -> Response:
    """Assign items to an assessor."""
    task, _, topic = context.text("topic").partition(" ")
    assigner = ASSIGNERS.get(context.text("purpose"))
    try:
        if assigner is None or task not in ("1", "2"):
            raise PorismError("choose a topic and a purpose", fix="use the form")
        assigner(context, context.app.journal, context.text("assessor"), int(task), topic)
    except PorismError as error:
        return _page(context, f"{error.message}: {error.fix}", 422)
    return RedirectResponse("/organise/people", 303)
