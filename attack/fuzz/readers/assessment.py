"""Requests to the assessment server, with the session of an assessor, an organiser or a team, or with none."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Hashable
from functools import cache
from pathlib import Path

from attack.fuzz.grammar import Grammar
from attack.fuzz.reader import Reader
from attack.fuzz.readers.served import API
from attack.fuzz.request import answer
from attack.small import small_index
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import add_account, log_in, session_of

PASSWORD = "a long fuzz password"
ROLES = (b"assessor", b"organiser", b"team")


class _Assessment:
    """An assessment server with a copy of the journal for each process."""

    folder: Path

    def __init__(self) -> None:
        from porism.web.assess.app import AssessmentSettings, open_app

        logging.disable(logging.CRITICAL)
        journal = self.folder / f"{os.getpid()}.journal"
        shutil.copyfile(self.folder / "load.journal", journal)
        submissions = self.folder / f"{os.getpid()}.submissions"
        topics = Path(__file__).resolve().parents[3] / "sample" / "topics" / "task1.xml"
        collection = str(self.folder / "small.collection")
        self.app = open_app(AssessmentSettings(str(journal), collection, str(submissions), (str(topics),)))
        self.loop = asyncio.new_event_loop()
        opened = Journal.open(journal)
        self.tokens: dict[bytes, tuple[bytes, bytes]] = {}
        for role, name in zip(ROLES, ("a0", "organiser", "team"), strict=True):
            token = log_in(opened, name, PASSWORD, "") or ""
            session = session_of(opened, token)
            self.tokens[role] = token.encode(), session.csrf.encode() if session else b""


@cache
def _of(process: int) -> _Assessment:
    return _Assessment()


def assessment() -> _Assessment:
    """Return the server of this process."""
    return _of(os.getpid())


def _prepare(folder: Path) -> None:
    from bench.assess import prepare

    small_index(folder)
    if not (folder / "load.journal").exists():
        prepare(folder, folder / "small.collection", assessors=1, judgments=4)
    journal = Journal.open(folder / "load.journal")
    for name, role in (("a0", "assessor"), ("organiser", "organiser"), ("team", "team")):
        add_account(journal, name, role, PASSWORD)
    journal.close()
    _Assessment.folder = folder


def read_assessment(data: bytes) -> Hashable:
    """Answer a request. `as ROLE` before it sends the cookie of that role; TOKEN is replaced by the token of its
    forms."""
    role, _, request = data.partition(b" ") if data.startswith(ROLES) else (b"", b"", data)
    token, csrf = assessment().tokens.get(role, (b"", b""))
    head, middle, body = request.replace(b"TOKEN", csrf).partition(b"\n\n")
    kind = b"" if b"content-type:" in head.lower() else b"\ncontent-type: application/x-www-form-urlencoded"
    cookie = b"\ncookie: porism_session=" + token if token else b""
    return answer(assessment().app, assessment().loop, head + kind + cookie + middle + body)


ASSESSMENT: Grammar = {
    **{name: rules for name, rules in API.items() if name not in ("start", "path", "query")},
    "start": (
        "«role» GET «path»«query»\n\n",
        "«role» POST «form_path»\n\n«form»",
        "GET «path»«query»\n\n",
        "POST «form_path»\n«header»\n\n«form»",
    ),
    "role": ("assessor", "assessor", "organiser", "team"),
    "path": (
        "/judge/1/1",
        "/judge/«number»/«number»",
        "/judge/1/«number»/click",
        "/judge/1/1/question",
        "/topic/«number»",
        "/topic/1",
        "/items/«number»",
        "/preference/«number»",
        "/thread/«number»",
        "/topic-thread/«number»",
        "/organise",
        "/organise/agreement",
        "/organise/stability",
        "/organise/questions",
        "/organise/questions/«number»/«odd_text»",
        "/organise/disagreements",
        "/organise/item/«odd_text»",
        "/organise/export",
        "/organise/export/«odd_text»",
        "/organise/people",
        "/organise/assign",
        "/submissions",
        "/submissions/withdraw",
        "/submissions/«number»",
        "/",
        "/logout",
        "/instructions",
        "/static/«odd_text»",
    ),
    "form_path": (
        "/judge/1/1",
        "/judge/1/1",
        "/judge/1/«number»",
        "/judge/1/1/click",
        "/judge/1/1/question",
        "/topic/1",
        "/preference/1",
        "/organise/questions/1/«odd_text»",
        "/organise/people",
        "/organise/assign",
        "/submissions",
        "/submissions/withdraw",
        "/login",
        "«path»",
    ),
    "query": ("", "?«field»=«value»", "?«field»=«value»&«field»=«value»"),
    "form": (
        "csrf=TOKEN",
        "csrf=TOKEN&«field»=«value»",
        "«form»&«field»=«value»",
        "csrf=«odd_text»",
        "«odd_text»",
        "csrf=TOKEN&grade_1=2&go=next&request=«odd_text»",
    ),
    "field": (
        "grade_1",
        "comment_1",
        "go",
        "request",
        "key",
        "narrative",
        "name",
        "role",
        "topic",
        "assessor",
        "choice",
        "run",
        "reason",
        "text",
        "grade_«number»",
        "«odd_text»",
        "task",
        "file",
        "receipt",
        "question",
        "answer",
    ),
}
READERS = (
    Reader(
        "assessment",
        6,
        read_assessment,
        ASSESSMENT,
        ["&", "=", "csrf=TOKEN", "grade_1=", "%00", "/", "\n", "assessor "],
        longest=20_000,
        seeds=lambda: (b"assessor GET /judge/1/1\n\n", b"assessor POST /judge/1/1\n\ncsrf=TOKEN&grade_1=2&go=next"),
        prepare=_prepare,
        start=assessment,
        block=200,
        descriptors=300,  # 40 threads with two connections, of three files each, and the server's own
    ),
)
