from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import porism
from porism.web.http import middleware
from porism.web.http.middleware import RequestMiddleware


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


CLIENT = TestClient(
    Starlette(
        routes=[Route(path, echo, methods=["GET", "POST"]) for path in ("/", "/v1/echo", "/upload", "/static/a")],
        middleware=[
            Middleware(
                RequestMiddleware,
                max_body=100,
                uploads={"/upload": 150},
                headers={"referrer-policy": "same-origin"},
                cacheable=("/static/",),
            )
        ],
    )
)


def test_every_response_has_an_id_and_security_headers() -> None:
    answer = CLIENT.get("/")
    assert len(answer.headers["x-request-id"]) == 16
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_harmless_request_id_of_the_caller_is_kept() -> None:
    assert CLIENT.get("/", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert CLIENT.get("/", headers={"x-request-id": "a b<c>"}).headers["x-request-id"] != "a b<c>"


def test_a_large_body_is_refused_with_or_without_its_length_announced() -> None:
    def chunks() -> Iterator[bytes]:
        yield from (b"x" * 60, b"x" * 60)

    for content in (b"x" * 101, chunks()):
        answer = CLIENT.post("/v1/echo", content=content)
        assert answer.status_code == 413
        assert answer.json()["error"] == {
            "code": "too_large",
            "message": "the request is too large",
            "where": "",
            "fix": "send less",
        }
    assert CLIENT.post("/", content=b"x" * 100).text == "100"


def test_a_long_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MAX_TARGET", 1000)
    assert CLIENT.get("/?q=" + "x" * 900).status_code == 200
    assert CLIENT.get("/?q=" + "x" * 1000).status_code == 413


def test_a_page_reports_a_large_request_as_text() -> None:
    answer = CLIENT.post("/", content=b"x" * 101)
    request_id = answer.headers["x-request-id"]
    assert (answer.status_code, answer.text) == (413, f"The request is too large: send less. (Request {request_id})")
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_an_upload_path_accepts_larger_bodies() -> None:
    assert CLIENT.post("/upload", content=b"x" * 150).text == "150"
    assert CLIENT.post("/upload", content=b"x" * 151).status_code == 413


def test_an_application_sets_headers_and_cacheable_paths() -> None:
    assert CLIENT.get("/").headers["referrer-policy"] == "same-origin"
    assert CLIENT.get("/").headers["cache-control"] == "no-store"
    assert "cache-control" not in CLIENT.get("/static/a").headers


def test_a_request_with_two_lengths_is_refused() -> None:
    headers = {"content-length": "3", "transfer-encoding": "chunked"}
    answer = CLIENT.post("/", content=b"abc", headers=headers)
    assert answer.status_code == 400
    assert answer.text == "A request cannot have both Content-Length and Transfer-Encoding."


@pytest.mark.parametrize("length", ["9" * 5000, "²", "-1", "1e3", ""])
def test_what_is_no_length_is_refused(length: str) -> None:
    answer = CLIENT.request("POST", "/", headers={"content-length": length.encode("latin-1")}, content=b"")
    assert answer.status_code == 413


def test_a_request_cannot_forge_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "porism.web"):
        CLIENT.get("/a%0a2026-01-01 forged%e2%80%a8line%1b[31m")
    assert [record.getMessage().count("\n") for record in caplog.records] == [0]
    assert r"/a\n2026-01-01 forged\u2028line\x1b[31m" in caplog.records[0].getMessage()


def test_an_unexpected_error_is_answered_with_security_headers() -> None:
    async def fail(request: Request) -> PlainTextResponse:
        raise ZeroDivisionError

    async def answer_error(request: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse(type(error).__name__, 500)

    app = Starlette(routes=[Route("/", fail)], middleware=[Middleware(RequestMiddleware, on_error=answer_error)])
    answer = TestClient(app, raise_server_exceptions=False).get("/")
    assert (answer.status_code, answer.text) == (500, "ZeroDivisionError")
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "headers",
    [
        [("cookie", "a" * 17_000)],
        [(f"x-{number}", "1") for number in range(101)],
        [(f"x-{number}", "a" * 10_000) for number in range(7)],
        [("content-type", "multipart/form-data; boundary=" + "b;" * 600)],
        [("range", "bytes=" + "0-1," * 300)],
    ],
)
def test_headers_that_are_too_large_are_refused(headers: list[tuple[str, str]]) -> None:
    answer = CLIENT.get("/v1/echo", headers=headers)
    assert answer.status_code == 431
    assert answer.json()["error"]["message"] == "the headers of the request are too large"
    assert CLIENT.get("/", headers=headers).text.startswith("The headers of the request are too large: remove ")


def test_nothing_reads_cookies_by_the_standard_library() -> None:
    """Older interpreters take quadratic time for a quoted cookie, and so does `cookies` of a request."""
    sources = Path(porism.__file__).parent.rglob("*.py")
    assert not [
        path for path in sources if re.search(r"\.cookies\b|SimpleCookie|cookie_parser", path.read_text("utf-8"))
    ]
