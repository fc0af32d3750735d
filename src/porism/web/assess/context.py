"""What all pages of one assessment server share: the journal, the content, the submissions and the templates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from porism.corpus.content import Content
from porism.lab.judging.assignments import Assignment
from porism.lab.judging.content import ContentRenderer
from porism.lab.judging.items import topic_thread_id
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import Session
from porism.lab.submissions import Submissions

# The names of the purposes on the pages.
PURPOSES = {"main": "Judging", "dual": "Second opinion", "training": "Training", "extra": "Extra questions"}


def thread_address(thread_id: int, post_id: int) -> str:
    """Return the address at which this server shows a post in its thread."""
    return f"/thread/{thread_id}#p{post_id}"


def format_seconds(value: float | None) -> str:
    """Return `44.1 s`, or a dash."""
    return "–" if value is None else f"{value:.1f} s"


def format_kappa(value: float | None) -> str:
    """Return `0.24`, or a dash where kappa is undefined."""
    return "–" if value is None else f"{value:.2f}"


def assignment_title(assignment: Assignment) -> str:
    """Return a title such as `Training 2 · B.12`."""
    round_number = f" {assignment.round}" if assignment.purpose == "training" else ""
    return f"{PURPOSES[assignment.purpose]}{round_number} · {assignment.topic}"


@dataclass(slots=True)
class AppContext:
    """The state of the server, made once when it starts."""

    journal: Journal
    content: ContentRenderer
    submissions: Submissions | None
    topic_threads: Content | None
    templates: jinja2.Environment
    secure: bool
    in_order: bool  # assessors may not skip items

    @classmethod
    def make(
        cls,
        journal: Journal,
        content: ContentRenderer,
        submissions: Submissions | None = None,
        topic_threads: Content | None = None,
        secure: bool = False,
        in_order: bool = False,
    ) -> AppContext:
        """Load the templates. Values are always escaped, and an undefined name is an error."""
        loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
        templates = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        templates.filters |= {
            "safe_html": Markup,
            "seconds": format_seconds,
            "kappa": format_kappa,
            "assignment_title": assignment_title,
        }
        return cls(journal, content, submissions, topic_threads, templates, secure, in_order)

    def topic_thread(self, assignment: Assignment) -> int | None:
        """Return the id of the topic's own question, if it is known and can be shown."""
        thread_id = topic_thread_id(self.journal, assignment.task, assignment.topic)
        if thread_id is None or self.topic_threads is None or not self.topic_threads.known_posts([thread_id]):
            return None
        return thread_id

    def page(self, template: str, session: Session | None, status: int = 200, **values: Any) -> Response:
        """Render a page for a session."""
        text = self.templates.get_template(template).render(
            session=session, csrf=session.csrf if session else "", **values
        )
        return HTMLResponse(text, status)
