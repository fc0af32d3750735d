"""What all pages of one server share: the journal, the content, the submissions and the templates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from porism.corpus.store.collection import Collection
from porism.lab.judging.accounts import Session
from porism.lab.judging.content import Content
from porism.lab.judging.journal import Journal
from porism.lab.judging.queue import Assignment
from porism.lab.submissions import Desk

# How an assignment is called on the pages.
PURPOSES = {"main": "Judging", "dual": "Second opinion", "training": "Training", "extra": "Extra questions"}


def thread_address(thread_id: int, post_id: int) -> str:
    """Where this server shows a post in its thread."""
    return f"/thread/{thread_id}#p{post_id}"


def seconds(value: float | None) -> str:
    """44.1 s, or a dash."""
    return "–" if value is None else f"{value:.1f} s"


def coefficient(value: float | None) -> str:
    """0.24, or a dash where it is not defined."""
    return "–" if value is None else f"{value:.2f}"


def job_title(job: Assignment) -> str:
    """`Training 2 · B.12`."""
    turn = f" {job.round}" if job.purpose == "training" else ""
    return f"{PURPOSES[job.purpose]}{turn} · {job.topic}"


@dataclass(slots=True)
class Room:
    """Made once when the server starts."""

    journal: Journal
    content: Content
    desk: Desk | None
    topic_threads: Collection | None
    templates: jinja2.Environment
    secure: bool

    @classmethod
    def make(
        cls,
        journal: Journal,
        content: Content,
        desk: Desk | None = None,
        topic_threads: Collection | None = None,
        secure: bool = False,
    ) -> Room:
        """Load the templates; escaping is on everywhere and an unknown name is an error."""
        loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
        templates = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        templates.filters |= {"safe_html": Markup, "seconds": seconds, "kappa": coefficient, "job": job_title}
        return cls(journal, content, desk, topic_threads, templates, secure)

    def topic_thread(self, job: Assignment) -> int | None:
        """The topic's own question, if it is known and can be shown."""
        rows = self.journal.read("SELECT thread_id FROM topic WHERE task = ? AND id = ?", (job.task, job.topic))
        number = rows[0]["thread_id"] if rows else None
        shown = number is not None and self.topic_threads is not None and self.topic_threads.has_post(number)
        return number if shown else None

    def page(self, template: str, session: Session | None, status: int = 200, **values: Any) -> Response:
        """A page for this person."""
        text = self.templates.get_template(template).render(
            session=session, csrf=session.csrf if session else "", **values
        )
        return HTMLResponse(text, status)
