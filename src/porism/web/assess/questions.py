"""Questions about an item: an assessor asks on the judging page, the organiser answers on a page of all questions."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from porism.lab.judging.questions import answer, ask, conversations
from porism.web.assess.judge import assigned_item
from porism.web.assess.requests import RequestContext


def ask_question(context: RequestContext) -> Response:
    """Store a question and return to the item."""
    assignment = context.assignment()
    item = assigned_item(context, assignment)
    ask(
        context.app.journal,
        context.account,
        assignment.id,
        item.key,
        context.text("question"),
        context.text("request_key"),
    )
    return RedirectResponse(f"/judge/{assignment.id}/{item.position}#questions", 303)


def questions_page(context: RequestContext) -> Response:
    """List all questions; those without an answer come first."""
    return context.page(
        "questions.html", conversations=conversations(context.app.journal), request_key=context.new_request_key()
    )


def answer_question(context: RequestContext) -> Response:
    """Store an answer and return to the list."""
    journal = context.app.journal
    answer(
        journal,
        context.account,
        context.number("assignment"),
        context.request.path_params["key"],
        context.text("answer"),
        context.text("request_key"),
    )
    return RedirectResponse("/organise/questions", 303)
