from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.requests import Request

from lab_case import LabCase
from porism.lab.judging.assignments import assign_topic, assignments
from porism.lab.judging.journal import Journal
from porism.lab.submissions import Submissions
from porism.web.assess import requests
from porism.web.assess.app import ROUTES

from .client import Person

PARAMETERS = {
    "{assignment:number}": "1",
    "{position:number}": "1",
    "{thread:number}": "1",
    "{key}": "0",
    "{name}": "results.csv",
    "{receipt:number}": "1",
}
OPEN_TO_ALL = {"/", "/login", "/static", "/shared"}


def paths(method: str) -> list[str]:
    found = []
    for route in ROUTES:
        path = route.path
        for name, value in PARAMETERS.items():
            path = path.replace(name, value)
        if method in (getattr(route, "methods", None) or ()):
            found.append(path)
    return found


@pytest.fixture
def submissions(tmp_path: Path) -> Submissions:
    return Submissions(tmp_path / "submissions")


@pytest.fixture
def assigned(journal: Journal) -> Journal:
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 1, "A.2")
    return journal


@pytest.mark.parametrize("path", [path for path in paths("GET") if path not in OPEN_TO_ALL])
def test_without_login_every_page_redirects_to_the_login_page(case: LabCase, assigned: Journal, path: str) -> None:
    answer = Person(case, assigned).http.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("path", paths("POST"))
@pytest.mark.parametrize("name", ["", "ann", "olga", "Red"])
def test_no_form_is_accepted_without_its_csrf_token(
    case: LabCase, assigned: Journal, submissions: Submissions, path: str, name: str
) -> None:
    """Send every form as every role: without a token it changes nothing."""
    person = Person(case, assigned, name, submissions)
    before = [tuple(event.value for event in assigned.events()), assigned.read("SELECT count(*) FROM account")[0][0]]
    for data in ({}, {"csrf": ""}, {"csrf": "wrong"}):
        answer = person.http.post(path, data={"grade_1": "3", "request_key": "x" * 12, **data}, follow_redirects=False)
        assert answer.status_code == 403 or (answer.status_code, answer.headers.get("location")) == (303, "/login")
    assert before == [
        tuple(event.value for event in assigned.events()),
        assigned.read("SELECT count(*) FROM account")[0][0],
    ]


def test_the_csrf_token_of_another_account_is_refused(case: LabCase, assigned: Journal) -> None:
    ann, bob = Person(case, assigned, "ann"), Person(case, assigned, "bob")
    token = re.search(r'name="csrf" value="([^"]+)"', bob.get("/").text)[1]  # type: ignore[index]
    assert ann.http.post("/logout", data={"csrf": token}).status_code == 403


@pytest.mark.parametrize("path", [path for path in paths("GET") if path.startswith("/organise")])
def test_only_organisers_see_the_organisers_pages(
    case: LabCase, assigned: Journal, submissions: Submissions, path: str
) -> None:
    for name in ("ann", "Red"):
        assert Person(case, assigned, name, submissions).get(path).status_code == 403
    assert Person(case, assigned, "olga", submissions).get(path).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/organise/people", "/organise/assign"])
def test_an_assessor_cannot_send_the_organisers_forms(case: LabCase, assigned: Journal, path: str) -> None:
    ann = Person(case, assigned, "ann")
    token = re.search(r'name="csrf" value="([^"]+)"', ann.get("/").text)[1]  # type: ignore[index]
    data = {"csrf": token, "name": "eve", "role": "organiser", "password": "long enough one"}
    assert ann.http.post(path, data=data).status_code == 403
    assert not assigned.read("SELECT * FROM account WHERE name = 'eve'")


def test_an_assessor_cannot_see_the_assignments_of_others(case: LabCase, assigned: Journal) -> None:
    ann = Person(case, assigned, "ann")
    theirs = next(job.id for job in assignments(assigned, "bob"))
    assert "A.2" not in ann.get("/").text
    for path in (
        f"/topic-thread/{theirs}",
        f"/judge/{theirs}",
        f"/judge/{theirs}/1",
        f"/items/{theirs}",
        f"/topic/{theirs}",
        f"/preference/{theirs}",
    ):
        assert ann.get(path).status_code == 404
    token = re.search(r'name="csrf" value="([^"]+)"', ann.get("/").text)[1]  # type: ignore[index]
    for path in (f"/judge/{theirs}/1", f"/judge/{theirs}/1/click", f"/topic/{theirs}", f"/preference/{theirs}"):
        assert (
            ann.http.post(
                path, data={"csrf": token, "request_key": "x" * 12, "grade_1": "3", "narrative": "x"}
            ).status_code
            == 404
        )
    assert not list(assigned.events())


def test_no_page_for_assessors_reveals_a_run_a_rank_or_an_origin(case: LabCase, assigned: Journal) -> None:
    ann = Person(case, assigned, "ann")
    job = next(job.id for job in assignments(assigned, "ann"))
    ann.send(
        ann.get(f"/judge/{job}"),
        {"narrative": "n", "text_alone": "yes", "formulas_alone": "no"},
        action=f"/topic/{job}",
    )
    seen = "".join(
        ann.get(path).text
        for path in [
            "/",
            "/instructions",
            f"/items/{job}",
            f"/preference/{job}",
            *(f"/judge/{job}/{n}" for n in range(1, 6)),
        ]
    )
    assert "A square is a product of" in seen  # the written answer was among them
    for hint in ["Red", "Blue", "task1", "task3", "d_1", "gen", "auto", *case.runs]:
        assert not re.search(rf"\b{re.escape(hint)}\b", seen), hint
    tables = [row[0] for row in assigned.read("SELECT name FROM sqlite_master WHERE type = 'table'")]
    stored = " ".join(
        str(tuple(row)) for table in tables if table != "account" for row in assigned.read(f"SELECT * FROM {table}")
    )
    assert not any(run in stored for run in case.runs)


def test_teams_see_only_their_own_receipts(case: LabCase, assigned: Journal, submissions: Submissions) -> None:
    red, blue, olga = (Person(case, assigned, name, submissions) for name in ("Red", "Blue", "olga"))
    run = case.runs["Red-task1-one-auto-both-P"]
    answer = red.send(red.get("/submissions"), {}, action="/submissions", files={"run": (run.name, run.read_bytes())})
    assert "Receipt 1: accepted" in answer.text
    assert blue.get("/submissions/1").status_code == 404
    assert run.name not in blue.get("/submissions").text
    assert run.name in olga.get("/submissions").text
    assert olga.get("/submissions/1").status_code == 200
    assert Person(case, assigned, "ann", submissions).get("/submissions").status_code == 403
    other = case.runs["Blue-task1-two-auto-text-A"]
    answer = red.send(
        red.get("/submissions"), {}, action="/submissions", files={"run": (other.name, other.read_bytes())}
    )
    assert "the group is Blue, but you are Red" in answer.text
    token = re.search(r'name="csrf" value="([^"]+)"', blue.get("/submissions").text)[1]  # type: ignore[index]
    assert (
        blue.http.post("/submissions/withdraw", data={"csrf": token, "file": f"../Red/{run.name}"}).status_code == 422
    )
    assert submissions.runs() == [submissions.folder / "Red" / run.name]


def test_headers_and_cookies(case: LabCase, assigned: Journal) -> None:
    person = Person(case, assigned)
    page = person.get("/login")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    assert "HttpOnly" in page.headers["set-cookie"]
    assert "SameSite=strict" in page.headers["set-cookie"]
    answer = person.http.post(
        "/login",
        data={"csrf": person.http.cookies["porism_login"], "name": "ann", "password": "correct horse battery"},
        follow_redirects=False,
    )
    assert [
        cookie
        for cookie in answer.headers.get_list("set-cookie")
        if "porism_session=" in cookie and "HttpOnly" in cookie and "SameSite=strict" in cookie
    ]


def test_templates_have_no_inline_scripts_or_styles() -> None:
    folder = Path(requests.__file__).parent / "templates"
    for path in folder.glob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", text), path
        for form in re.findall(r'<form[^>]*method="post".*?</form>', text, flags=re.S):
            assert 'name="csrf"' in form, path


def test_wrong_passwords_are_counted_and_not_explained(case: LabCase, assigned: Journal) -> None:
    person = Person(case, assigned)
    for name in ("ann", "nobody"):
        answer = person.log_in(name, "a wrong password")
        assert answer.status_code == 401
        assert "Name or password is wrong." in answer.text
    for _ in range(4):
        person.log_in("ann", "a wrong password")
    answer = person.log_in("ann")
    assert answer.status_code == 429
    assert "too many wrong passwords: wait " in answer.text


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(case: LabCase, assigned: Journal, chunked: bool) -> None:
    person = Person(case, assigned, "ann")
    body = b"x" * (requests.FORM_LIMIT + 10)
    content = iter([body]) if chunked else body
    answer = person.http.post("/logout", content=content, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 413
    assert person.get("/").status_code == 200


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data; boundary=x", b"--x\r\nbroken"),
        ("multipart/form-data", b"no boundary"),
        ("application/json", b"{}"),
        ("application/x-www-form-urlencoded", b"csrf=%ff%fe&grade_1=\xff\x00"),
        ("text/plain", b"\x00" * 100),
    ],
)
def test_an_invalid_body_is_refused(case: LabCase, assigned: Journal, kind: str, body: bytes) -> None:
    person = Person(case, assigned, "ann")
    answer = person.http.post("/judge/1/1", content=body, headers={"content-type": kind}, follow_redirects=False)
    assert answer.status_code in (400, 403)
    assert not list(assigned.events())


def test_what_an_assessor_writes_is_shown_as_text(case: LabCase, assigned: Journal) -> None:
    ann, olga = Person(case, assigned, "ann"), Person(case, assigned, "olga")
    job = next(job.id for job in assignments(assigned, "ann"))
    evil = "</textarea><script>alert(1)</script>\"'<img src=x onerror=alert(1)>"
    answer = ann.send(ann.get(f"/judge/{job}"), {"narrative": evil, "text_alone": "yes"}, action=f"/topic/{job}")
    assert "&lt;script&gt;" in answer.text
    assert "<script>alert" not in answer.text
    assert "<script>" not in olga.get("/organise").text
    assert evil in olga.get("/organise/export/narratives.tsv").text


def test_unknown_pages_and_methods(case: LabCase, assigned: Journal) -> None:
    ann = Person(case, assigned, "ann")
    assert ann.get("/nothing").status_code == 404
    assert ann.get("/thread/99999").status_code == 404
    assert ann.http.put("/login").status_code == 405
    assert ann.get("/static/../app.py").status_code == 404
    assert ann.get("/judge/99999999999999999999/1").status_code == 404


def test_the_server_answers_only_under_its_own_names(case: LabCase, assigned: Journal) -> None:
    person = Person(case, assigned)
    assert person.http.get("/login").status_code == 200
    assert person.http.get("/login", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(("name", "status"), [("", 303), ("ann", 403)])
def test_a_large_upload_is_read_only_from_a_team(
    case: LabCase,
    journal: Journal,
    submissions: Submissions,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    status: int,
) -> None:
    def read(request: Request) -> None:
        raise AssertionError("the body is read")

    person = Person(case, journal, name, submissions)
    monkeypatch.setattr(Request, "form", read)
    answer = person.http.post("/submissions", files={"run": ("a.tsv", b"x" * 1000)}, follow_redirects=False)
    assert (answer.status_code, answer.headers["connection"]) == (status, "close")


@pytest.mark.parametrize("digits", ["9223372036854775808", "9" * 30, "9" * 5000])
@pytest.mark.parametrize("path", ["/judge/{}", "/judge/1/{}", "/thread/{}", "/items/{}", "/topic/{}"])
def test_numbers_of_any_length_are_not_found(case: LabCase, journal: Journal, path: str, digits: str) -> None:
    answer = Person(case, journal, "ann").get(path.format(digits))
    assert answer.status_code == 404
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("path", ["/", "/login", "/logout"])
def test_large_cookies_are_refused_unread(case: LabCase, assigned: Journal, path: str) -> None:
    quoted = b'porism_session="' + rb"\"" * 40_000 + b'"'
    http = Person(case, assigned).http
    assert http.get(path, headers={b"cookie": quoted}).status_code == 431
    assert http.post(path, headers={b"cookie": quoted}).status_code == 431


def test_a_copied_cookie_ends_with_its_session(case: LabCase, assigned: Journal) -> None:
    person, thief = Person(case, assigned, "ann"), Person(case, assigned)
    copied = {"cookie": f"porism_session={person.http.cookies['porism_session']}"}
    assert thief.http.get("/topic/1", headers=copied, follow_redirects=False).status_code == 200
    person.send(person.get("/"), {}, action="/logout")
    assert thief.http.get("/topic/1", headers=copied, follow_redirects=False).status_code == 303


def test_a_refused_login_says_when_to_come_back(case: LabCase, assigned: Journal) -> None:
    person = Person(case, assigned)
    for _ in range(6):
        answer = person.log_in("ann", "a wrong password")
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
