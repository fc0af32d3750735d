"""The page on which teams hand in runs. A team sees its own runs and receipts only."""

from __future__ import annotations

import time

from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from porism.lab.submissions import Desk, Receipt
from porism.web.assess.guard import Refused, Visit


def _desk(visit: Visit) -> Desk:
    if visit.room.desk is None:
        raise Refused(404, "This server takes no runs.")
    return visit.room.desk


def _team(visit: Visit) -> str:
    """The team that may be seen: the organiser sees all."""
    return "" if visit.session is not None and visit.session.role == "organiser" else visit.name


def _when(receipt: Receipt) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(receipt.at))


def submissions(visit: Visit) -> Response:
    """Runs that stand, receipts, and (for a team) the form."""
    desk, team = _desk(visit), _team(visit)
    runs = [(path.parent.name, path.name) for path in desk.runs(team)]
    missing = [(name, task) for name, task in desk.missing_primaries() if team in ("", name)]
    receipts = [(receipt, _when(receipt)) for receipt in reversed(desk.receipts(team))]
    return visit.page("submissions.html", runs=runs, receipts=receipts, missing=missing, is_team=bool(team))


def hand_in(visit: Visit) -> Response:
    """Check a file at once and show its receipt."""
    given = visit.form.get("run")
    if not isinstance(given, UploadFile) or not given.filename:
        raise Refused(422, "Choose a file first.")
    done = _desk(visit).hand_in(visit.name, given.filename, given.file.read())
    return RedirectResponse(f"/submissions/{done.number}", 303)


def withdraw(visit: Visit) -> Response:
    """Take back a run."""
    _desk(visit).withdraw(visit.name, visit.text("file"))
    return RedirectResponse("/submissions", 303)


def receipt(visit: Visit) -> Response:
    """One receipt with the checker's report."""
    number, team = visit.number("receipt"), _team(visit)
    found = next((one for one in _desk(visit).receipts(team) if one.number == number), None)
    if found is None:
        raise Refused(404, "There is no such receipt.")
    return visit.page("receipt.html", receipt=found, when=_when(found))
