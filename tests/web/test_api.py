"""The API: its response shapes, its limits, and no failure on any input, valid or not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.applications import Starlette
from starlette.testclient import TestClient

from porism.search.engine import Engine
from porism.web.api.views import ENDPOINTS
from porism.web.server.app import create_app
from porism.web.site.settings import RequestLimits, ServerOptions, SiteSettings

pytestmark = pytest.mark.xdist_group("api")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def app(demo: Path) -> Starlette:
    return create_app(Engine.open(demo / "index"), SiteSettings(limits=RequestLimits(seconds=60)), hosts=["*"])


@pytest.fixture(scope="module")
def client(app: Starlette) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as made:
        yield made


@pytest.fixture(scope="module")
def api_schema(app: Starlette) -> Any:
    return schemathesis.openapi.from_asgi("/v1/openapi.json", app)


# /v1/health takes no parameter, so no request to it is invalid.
REQUESTS = [
    (endpoint.path, mode)
    for endpoint in ENDPOINTS
    for mode in GenerationMode
    if (endpoint.path, mode) != ("/v1/health", GenerationMode.NEGATIVE)
]


@pytest.mark.parametrize(("path", "mode"), REQUESTS)
def test_no_input_breaks_the_api(api_schema: Any, path: str, mode: GenerationMode) -> None:
    """Send requests that the schema allows, and requests that it forbids."""

    @given(case=api_schema[path]["GET"].as_strategy(generation_mode=mode))
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    send()


def test_successful_responses_have_one_shape(client: TestClient) -> None:
    answer = client.get("/v1/search", params={"q": "irrational $\\sqrt{2}$", "k": 3})
    body = answer.json()
    assert sorted(body) == ["data", "ok", "request_id"]
    assert body["ok"] is True
    assert len(body["data"]["hits"]) == 3
    assert answer.headers["x-request-id"] == body["request_id"]


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        (
            "/v1/search",
            422,
            {
                "code": "bad_request",
                "message": "the parameter q is missing",
                "where": "q",
                "fix": "give q: words and formulas as people type them, or LaTeX between dollar signs",
            },
        ),
        (
            "/v1/search?q=x&from=2014&to=2012",
            422,
            {
                "code": "bad_request",
                "message": "from (2014) is later than to (2012)",
                "where": "from",
                "fix": "give the earlier year first",
            },
        ),
        (
            "/v1/posts/999999999",
            404,
            {
                "code": "not_found",
                "message": "no post 999999999 in this collection",
                "where": "post 999999999",
                "fix": "use an id that a search returned",
            },
        ),
        (
            "/v1/nothing",
            404,
            {
                "code": "not_found",
                "message": "there is no endpoint GET /v1/nothing",
                "where": "",
                "fix": "see the list at /api",
            },
        ),
    ],
)
def test_errors_have_one_shape(client: TestClient, path: str, status: int, error: dict[str, str]) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json()["error"] == error


@pytest.mark.parametrize(
    "path",
    ["/v1/posts/9223372036854775808", "/posts/9223372036854775808", "/threads/9" + "9" * 30, "/posts/" + "9" * 5000],
)
def test_an_impossible_id_is_no_failure_of_the_server(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (404, 422)
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/v1/search", "/v1/formulas", "/v1/ask", "/v1/preview", "/v1/formula"])
def test_a_long_query_is_refused(client: TestClient, path: str) -> None:
    answer = client.get(path, params={"q": "x" * 20_001})
    assert answer.status_code == 413
    assert answer.json()["error"]["fix"] == "send at most 20,000 characters"


def test_a_slow_query_times_out(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "ask", lambda *_: time.sleep(1))
    with TestClient(
        create_app(app.state.engine, SiteSettings(limits=RequestLimits(seconds=0.05))), base_url="http://127.0.0.1"
    ) as client:
        answer = client.get("/v1/ask", params={"q": "x"})
    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == "the query took longer than 0.05 seconds"


def test_an_unknown_host_name_is_refused(app: Starlette) -> None:
    guarded = create_app(app.state.engine)
    with TestClient(guarded, base_url="http://evil.example") as client:
        assert client.get("/v1/health").status_code == 400


def test_other_origins_are_allowed_by_option_only(app: Starlette) -> None:
    origin = {"origin": "https://notes.example"}
    with TestClient(create_app(app.state.engine), base_url="http://localhost") as closed:
        assert "access-control-allow-origin" not in closed.get("/v1/health", headers=origin).headers
    with TestClient(
        create_app(app.state.engine, SiteSettings(server=ServerOptions(cors=("https://notes.example",)))),
        base_url="http://localhost",
    ) as opened:
        assert (
            opened.get("/v1/health", headers=origin).headers["access-control-allow-origin"] == "https://notes.example"
        )


def test_post_content_cannot_run_scripts(client: TestClient) -> None:
    """The sample has a post with a script in its text; no page contains it as markup."""
    found = client.get("/v1/search", params={"q": "script alert", "k": 20}).json()["data"]["hits"]
    for hit in found:
        page = client.get(f"/threads/{hit['thread_id']}").text
        assert "<script>alert" not in page
        assert page.count("<script") == page.count('<script src="/static/porism.js" defer></script>') == 1
