"""The page on which teams submit runs. A team sees only its own runs and receipts."""

from __future__ import annotations

import time

from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from porism.lab.submissions import Receipt, Submissions
from porism.web.assess.requests import RefusedRequest, RequestContext


def _submissions(context: RequestContext) -> Submissions:
    if context.app.submissions is None:
        raise RefusedRequest(404, "This server does not accept runs.")
    return context.app.submissions


def _visible_team(context: RequestContext) -> str:
    """Return the team whose runs this account may see; "" means all, for the organiser."""
    return "" if context.session is not None and context.session.role == "organiser" else context.account


def format_time(receipt: Receipt) -> str:
    """Return the time of a receipt in UTC."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(receipt.at))


def overview(context: RequestContext) -> Response:
    """Show current runs, receipts and, for a team, the upload form."""
    submissions, team = _submissions(context), _visible_team(context)
    return context.page(
        "submissions.html",
        runs=submissions.runs(team),
        receipts=submissions.receipts(team)[::-1],
        missing=[found for found in submissions.missing_primaries() if team in ("", found.team)],
        is_team=bool(team),
        format_time=format_time,
    )


def submit(context: RequestContext) -> Response:
    """Check a file at once and show its receipt."""
    upload = context.form.get("run")
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise RefusedRequest(422, "Choose a file first.")
    made = _submissions(context).submit(context.account, upload.filename, upload.file.read())
    return RedirectResponse(f"/submissions/{made.number}", 303)


def withdraw(context: RequestContext) -> Response:
    """Withdraw a run."""
    _submissions(context).withdraw(context.account, context.text("file"))
    return RedirectResponse("/submissions", 303)


def receipt(context: RequestContext) -> Response:
    """Show one receipt with the report of the check."""
    number, team = context.number("receipt"), _visible_team(context)
    found = next((one for one in _submissions(context).receipts(team) if one.number == number), None)
    if found is None:
        raise RefusedRequest(404, "There is no such receipt.")
    return context.page("receipt.html", receipt=found, time=format_time(found))
