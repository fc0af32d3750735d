from __future__ import annotations

from collections.abc import Iterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from porism.web.limits import Limits


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


CLIENT = TestClient(
    Starlette(
        routes=[Route("/", echo, methods=["GET", "POST"])],
        middleware=[Middleware(Limits, max_body=100, max_target=1000)],
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
        answer = CLIENT.post("/", content=content)
        assert answer.status_code == 413
        assert answer.json()["error"]["message"] == "the request is too large"
    assert CLIENT.post("/", content=b"x" * 100).text == "100"


def test_a_long_address_is_refused() -> None:
    assert CLIENT.get("/?q=" + "x" * 1000).status_code == 413
