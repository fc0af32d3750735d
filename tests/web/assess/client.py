"""A person at the assessment server, without a browser."""

from __future__ import annotations

import html
import re

import httpx
from starlette.testclient import TestClient

from lab_case import PASSWORD, LabCase
from porism.lab.judging.content import ContentRenderer
from porism.lab.judging.journal import Journal
from porism.lab.submissions import Submissions
from porism.web.assess.app import create_app
from porism.web.assess.requests import AppContext, thread_address


class Person:
    """Loads pages and sends their forms back as a browser without script would."""

    def __init__(
        self, case: LabCase, journal: Journal, name: str = "", submissions: Submissions | None = None, **more: object
    ) -> None:
        content = ContentRenderer(case.collection, thread_address)
        app = create_app(AppContext(journal, content, submissions, **more), hosts=["lab"])  # type: ignore[arg-type]
        self.http = TestClient(app, base_url="http://lab", follow_redirects=True)
        if name:
            self.log_in(name)

    def log_in(self, name: str, password: str = PASSWORD) -> httpx.Response:
        """Fill in the login form."""
        return self.send(self.get("/login"), {"name": name, "password": password}, action="/login")

    def get(self, path: str) -> httpx.Response:
        """Load a page."""
        return self.http.get(path)

    def send(self, page: httpx.Response, fields: dict[str, str], action: str = "", **more: object) -> httpx.Response:
        """Send the first form of a page to its action, its hidden fields included."""
        forms = re.findall(r"<form\b[^>]*>.*?</form>", page.text, flags=re.S)
        form = next(one for one in forms if f'action="{action}"' in one) if action else forms[-1]
        target = html.unescape(re.search(r'action="([^"]*)"', form)[1])  # type: ignore[index]
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form))
        return self.http.post(target, data={**hidden, **fields}, **more)  # type: ignore[arg-type]
