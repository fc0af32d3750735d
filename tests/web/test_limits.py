from __future__ import annotations

from collections.abc import Iterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from porism.web.server.limits import Limits


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


CLIENT = TestClient(
    Starlette(
        routes=[Route(path, echo, methods=["GET", "POST"]) for path in ("/", "/v1/echo", "/upload", "/static/a")],
        middleware=[
            Middleware(
                Limits,
                max_body=100,
                max_target=1000,
                uploads={"/upload": 150},
                headers={"referrer-policy": "same-origin"},
                kept=("/static/",),
            )
        ],
    )
)


def test_every_answer_has_an_id_and_safe_headers() -> None:
    answer = CLIENT.get("/")
    assert len(answer.headers["x-request-id"]) == 16
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_callers_id_is_kept_when_harmless() -> None:
    assert CLIENT.get("/", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert CLIENT.get("/", headers={"x-request-id": "a b<c>"}).headers["x-request-id"] != "a b<c>"


def test_a_large_body_is_refused_whether_it_says_so_or_not() -> None:
    def drops() -> Iterator[bytes]:
        yield from (b"x" * 60, b"x" * 60)

    for content in (b"x" * 101, drops()):
        answer = CLIENT.post("/v1/echo", content=content)
        assert answer.status_code == 413
        assert answer.json()["error"] == {
            "code": "too_large",
            "message": "the request is too large",
            "where": "",
            "fix": "send less",
        }
    assert CLIENT.post("/", content=b"x" * 100).text == "100"


def test_a_long_address_is_refused() -> None:
    assert CLIENT.get("/?q=" + "x" * 1000).status_code == 413


def test_people_are_refused_in_words() -> None:
    answer = CLIENT.post("/", content=b"x" * 101)
    assert (answer.status_code, answer.text) == (413, "The request is too large: send less.")
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_a_path_for_uploads_takes_more() -> None:
    assert CLIENT.post("/upload", content=b"x" * 150).text == "150"
    assert CLIENT.post("/upload", content=b"x" * 151).status_code == 413


def test_an_application_has_headers_of_its_own_and_says_what_browsers_may_keep() -> None:
    assert CLIENT.get("/").headers["referrer-policy"] == "same-origin"
    assert CLIENT.get("/").headers["cache-control"] == "no-store"
    assert "cache-control" not in CLIENT.get("/static/a").headers
