"""Changes over HTTP: tokens, answers to each call, and the way of a change into the searches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import porism
from porism.accounts import TokenFile
from porism.cli import main
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.store import change_log, open_content
from porism.store.applying import LogApplier
from porism.store.embedded.build import build_index
from porism.store.protocols import IndexOptions
from porism.store.state import State
from porism.web.api import changes as calls
from porism.web.api.changes import MOST_BULK_REQUESTS, WriteAccess, WriteSettings
from porism.web.server.app import create_app
from porism.web.server.served_index import switch_to_newest

POST = {"title": "Zeppelin", "body": "<p>a zeppelin $z^9$ flies</p><script>alert(1)</script>", "tags": ["algebra"]}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "notes").mkdir()
    (folder / "notes" / "one.md").write_text("# Cubes\n\nThe sum $x^3+y^3$.\n", "utf-8")
    made = build([open_source(folder / "notes", "")], folder / "collection", jobs=1)
    build_index(open_content(made), folder / "index", IndexOptions(vectors=False))
    return folder


class Api:
    """A client of a server that takes changes; `apply` does what the other processes of the server do."""

    def __init__(self, index: Path, client: TestClient) -> None:
        self.index, self.client = index, client
        self.tokens = TokenFile(index.with_name("index.tokens"))
        self.token = self.tokens.create("all", ("write", "delete", "merge")).text

    def call(self, method: str, path: str, body: object = None, token: str | None = None) -> tuple[int, dict]:  # type: ignore[type-arg]
        given = {"authorization": f"Bearer {self.token if token is None else token}"}
        content = body if isinstance(body, (bytes, str)) or body is None else json.dumps(body)
        answer = self.client.request(method, path, content=content, headers=given)
        return answer.status_code, answer.json()

    def apply(self) -> None:
        applier = LogApplier(State(self.index))
        while applier.has_changes():
            applier.step()
        switch_to_newest(self.client.app)  # type: ignore[arg-type]

    def found(self, query: str) -> list[int]:
        answer = self.client.get("/v1/search", params={"q": query, "kind": "questions"}).json()
        return [hit["id"] for hit in answer["data"]["hits"]]


@pytest.fixture
def api(built: Path, tmp_path: Path) -> Iterator[Api]:
    import shutil

    shutil.copytree(built, tmp_path / "site")
    index = tmp_path / "site" / "index"
    app = create_app(porism.open(index), hosts=["testserver"], writing=WriteAccess(WriteSettings.of(index)))
    with TestClient(app) as client:
        yield Api(index, client)


def test_a_post_is_added_replaced_and_deleted(api: Api) -> None:
    status, answer = api.call("PUT", "/v1/posts/900", POST)
    assert (status, answer["data"]) == (202, {"sequence": 1, "changes": 1, "searchable": False})
    assert api.found("zeppelin") == []
    api.apply()
    assert api.found("zeppelin") == [900]
    assert "script" not in api.client.get("/v1/posts/900").text
    assert api.call("GET", "/v1/log")[1]["data"] | {"bytes": 0, "segments": 0} == {
        "accepted": 1,
        "applied": 1,
        "searchable": 1,
        "waiting": 0,
        "bytes": 0,
        "segments": 0,
        "merge_requested": False,
        "rejected": [],
    }
    api.call("PUT", "/v1/posts/900", {**POST, "title": "Balloon", "body": "<p>rises</p>"})
    api.apply()
    assert (api.found("zeppelin"), api.found("balloon")) == ([], [900])
    status, answer = api.call("DELETE", "/v1/posts/900")
    assert (status, answer["data"]["sequence"]) == (202, 3)
    api.apply()
    assert api.found("balloon") == []


def test_many_changes_are_one_record(api: Api) -> None:
    lines = [
        {"id": 900, **POST},
        {"id": 901, "parent_id": 900, "body": "up"},
        {"comment": 5, "post_id": 901, "body": "?"},
    ]
    status, answer = api.call("POST", "/v1/posts", "\n".join(map(json.dumps, lines)) + "\n\n")
    assert (status, answer["data"]) == (202, {"sequence": 1, "changes": 3, "searchable": False})
    api.apply()
    thread = api.client.get("/v1/threads/900").json()["data"]
    assert [one["post"]["id"] for one in thread["answers"]] == [901]


def test_a_line_ends_only_at_a_line_feed(api: Api) -> None:
    text = "balloons\u2028rise\x85"
    line = json.dumps({"id": 900, **POST, "title": text}, ensure_ascii=False)
    status, answer = api.call("POST", "/v1/posts", f"{line}\r\n")
    assert (status, answer["data"]["changes"]) == (202, 1)


def test_a_call_may_wait_until_the_change_is_searchable(api: Api) -> None:
    api.client.app.state.writing.served.set(1)  # type: ignore[attr-defined]
    status, answer = api.call("PUT", "/v1/posts/900?wait=5", POST)
    assert (status, answer["data"]["searchable"]) == (200, True)


def test_what_cannot_be_applied_is_shown(api: Api) -> None:
    api.call("PUT", "/v1/posts/905", {"parent_id": 88, "body": "an answer to nothing"})
    api.apply()
    [rejected] = api.call("GET", "/v1/log")[1]["data"]["rejected"]
    assert (rejected["sequence"], rejected["why"]) == (1, "an answer whose question is not in the collection")


@pytest.mark.parametrize(
    ("method", "path", "body", "message", "where"),
    [
        ("PUT", "/v1/posts/900", "{", "not JSON", "body"),
        ("PUT", "/v1/posts/900", b"\xff", "not UTF-8", "body:1"),
        ("PUT", "/v1/posts/900", {"id": 7, **POST}, "not the post 900", "body"),
        ("PUT", "/v1/posts/900", {"delete": 7}, "not the post 900", "body"),
        ("PUT", "/v1/posts/900", {"title": "x"}, "body is missing", "body:1"),
        ("PUT", "/v1/posts/900", {**POST, "body": None}, "body is not a string", "body:1"),
        ("PUT", "/v1/posts/900", {**POST, "created": "yesterday"}, "created is not a date", "body:1"),
        ("PUT", "/v1/posts/900", {**POST, "tags": ["two words"]}, "tags is not a list", "body:1"),
        ("PUT", "/v1/posts/900", {**POST, "score": "5"}, "score is not a number", "body:1"),
        ("PUT", "/v1/posts/900", {**POST, "kind": "answer"}, "parent_id", "body:1"),
        ("PUT", "/v1/posts/0", POST, "out of range", "id"),
        ("PUT", "/v1/posts/900?wait=90", POST, "out of range", "wait"),
        ("POST", "/v1/posts", '{"delete": 5}\n{"id": 1}', "body is missing", "body:2"),
        ("POST", "/v1/posts", '{"link": [1, 2, 3]}', "not a link", "body:1"),
        ("POST", "/v1/posts", '{"comment": 1, "post_id": 2, "body": "", "x": 1}', "unknown key 'x'", "body:1"),
        ("POST", "/v1/posts", "[1]", "not an object", "body:1"),
        ("POST", "/v1/posts", "\n", "no changes", "body"),
        ("POST", "/v1/posts", "[" * 100_000, "not a valid change", "body:1"),
    ],
)
def test_wrong_changes_are_refused(api: Api, method: str, path: str, body: object, message: str, where: str) -> None:
    status, answer = api.call(method, path, body)
    assert status == 422
    assert message in answer["error"]["message"]
    assert answer["error"]["where"] == where
    assert answer["error"]["fix"]
    assert api.call("GET", "/v1/log")[1]["data"]["accepted"] == 0


def test_tokens_and_scopes_are_checked(api: Api) -> None:
    writer = api.tokens.create("writer", ("write",)).text
    assert api.call("PUT", "/v1/posts/900", POST, writer)[0] == 202
    for method, path, body in (
        ("DELETE", "/v1/posts/900", None),
        ("POST", "/v1/posts", '{"delete": 900}'),
        ("POST", "/v1/merge", None),
    ):
        status, answer = api.call(method, path, body, writer)
        assert (status, answer["error"]["code"]) == (403, "forbidden")
    deleter = api.tokens.create("deleter", ("delete",)).text
    assert api.call("POST", "/v1/posts", json.dumps({"id": 5, **POST}), deleter)[0] == 403
    for wrong in ("", "x", writer[:-1] + ("A" if writer[-1] != "A" else "B"), writer.upper()):
        status, answer = api.call("PUT", "/v1/posts/900", POST, wrong)
        assert (status, answer["error"]["code"]) == (401, "unauthorized")
    refused = api.client.put("/v1/posts/900", json=POST)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    api.tokens.revoke("writer")
    assert api.call("PUT", "/v1/posts/900", POST, writer)[0] == 401
    assert api.call("GET", "/v1/log")[1]["data"]["accepted"] == 1


def test_a_token_that_is_revoked_while_the_body_arrives_changes_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, read = api.tokens.create("writer", ("write",)).text, calls.checked_records

    def meanwhile(*given: Any) -> Any:
        api.tokens.revoke("writer")
        return read(*given)

    monkeypatch.setattr(calls, "checked_records", meanwhile)
    assert api.call("PUT", "/v1/posts/900", POST, writer)[0] == 401
    assert api.call("GET", "/v1/log")[1]["data"]["accepted"] == 0


def test_sizes_are_limited(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.call("PUT", "/v1/posts/900", {**POST, "body": "x" * 300_000})[0] == 413
    assert api.call("POST", "/v1/posts", json.dumps({"id": 900, **POST, "body": "x" * 300_000}))[0] == 202
    assert api.call("POST", "/v1/posts", "x" * (17 << 20))[0] == 413
    monkeypatch.setenv("PORISM_POST_CHARACTERS", "100")
    assert api.call("PUT", "/v1/posts/900", {**POST, "body": "x" * 101})[0] == 422
    monkeypatch.setattr(change_log, "MOST_WAITING", 10)
    assert api.call("PUT", "/v1/posts/900", POST)[0] == 429


def test_batches_of_too_many_lines_or_values_are_refused(api: Api) -> None:
    assert api.call("POST", "/v1/posts", b"\n" * (15 << 20))[0] == 413
    status, answer = api.call("POST", "/v1/posts", b"\n" * (calls.MOST_LINES + 1))
    assert (status, answer["error"]["message"]) == (413, "the body has more than 50,000 lines")
    million = b"{" + b",".join(b'"%d":0' % number for number in range(1_000_000)) + b"}"
    status, answer = api.call("POST", "/v1/posts", million)
    assert (status, answer["error"]["where"]) == (422, "body:1")
    assert "a record with more than 1,000 strings" in answer["error"]["message"]
    assert api.call("PUT", "/v1/posts/900", million[:200_000] + b"}")[0] == 422
    assert api.call("POST", "/v1/posts", b"\xff")[1]["error"]["where"] == "body:1"
    assert api.call("POST", "/v1/posts", b'{"delete": 5}\n\xff')[1]["error"]["where"] == "body:2"
    assert api.call("POST", "/v1/posts", b'{"delete": 5}\r\n\r\n{"delete": 6}\r\n')[1]["data"]["changes"] == 2


def test_few_large_batches_are_read_at_the_same_time(api: Api) -> None:
    """A body takes memory as soon as it arrives, so that another one is refused before it is read."""
    access: WriteAccess = api.client.app.state.writing  # type: ignore[attr-defined]
    with ExitStack() as stack:
        for _ in range(MOST_BULK_REQUESTS):
            stack.enter_context(access.bulk())
        assert api.call("POST", "/v1/posts", {"delete": 5})[0] == 429
        assert api.call("DELETE", "/v1/posts/5")[0] == 202
    assert api.call("POST", "/v1/posts", {"delete": 5})[0] == 202


def test_of_a_long_list_of_rejected_changes_only_the_end_is_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"sequence": 3, "change": {"delete": 1}, "why": "because"})
    State(api.index).rejected.write_text(f"{line}\n" * 1000)
    monkeypatch.setattr(calls, "SHOWN_BYTES", 10 * len(line))
    assert len(api.call("GET", "/v1/log")[1]["data"]["rejected"]) == 9


def test_a_full_disk_is_reported(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(change_log.os, "fsync", fail)
    status, answer = api.call("PUT", "/v1/posts/900", POST)
    assert (status, answer["error"]["code"]) == (507, "no_space")
    monkeypatch.undo()
    assert api.call("PUT", "/v1/posts/900", POST)[1]["data"]["sequence"] == 1


def test_a_merge_is_requested(api: Api) -> None:
    assert api.call("POST", "/v1/merge")[0] == 202
    assert State(api.index).merge_request.exists()
    assert api.call("GET", "/v1/log")[1]["data"]["merge_requested"]


def test_a_read_only_server_says_so(built: Path) -> None:
    with TestClient(create_app(porism.open(built / "index"), hosts=["testserver"])) as client:
        for answer in (client.put("/v1/posts/5", json=POST), client.delete("/v1/posts/5"), client.post("/v1/posts")):
            assert (answer.status_code, answer.json()["error"]["code"]) == (405, "not_allowed")
            assert "--writable" in answer.json()["error"]["fix"]


def test_the_calls_are_described(api: Api) -> None:
    paths = api.client.get("/v1/openapi.json").json()["paths"]
    assert {"get", "put", "delete"} <= paths["/v1/posts/{id}"].keys()
    assert paths["/v1/posts"]["post"]["security"] == [{"token": []}]
    page = api.client.get("/api").text
    assert "PUT" in page
    assert "/v1/log" in page


def test_tokens_from_the_command_line(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, file = str(built / "index"), tmp_path / "tokens"
    command = ["--file", str(file)]
    assert main(["site", "tokens", "create", index, "--name", "sync", "--scope", "delete", *command]) == 0
    text = capsys.readouterr().out.strip()
    assert text not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    found = TokenFile(file).find(text)
    assert found is not None
    assert found.scopes == ("delete",)
    assert main(["site", "tokens", "list", index, *command]) == 0
    assert capsys.readouterr().out.split("\t")[:3] == [found.id, "sync", "delete"]
    assert main(["site", "tokens", "revoke", index, "sync", *command]) == 0
    assert TokenFile(file).find(text) is None
    assert main(["site", "tokens", "revoke", index, "sync", *command]) == 1
