"""Private sites: who gets in, by which way, and what strangers see."""

from __future__ import annotations

import io
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import porism
from notes_site import make_notes_index
from porism import accounts
from porism.accounts import SIMULTANEOUS_CHECKS, WAITING_CHECKS, UserFile, place_for_login
from porism.cli import main
from porism.search.engine import Engine
from porism.web.server.app import create_app
from porism.web.site.access import COOKIE, local_target
from porism.web.site.reading import check_settings, read_settings

PASSWORD = "correct horse"
# Pages, API, feeds, files: everything but the health of the server.
PRIVATE = (
    "/",
    "/search?q=cubes",
    "/stats",
    "/threads/1",
    "/posts/1",
    "/posts/1/cite",
    "/images/x.png",
    "/v1/search?q=cubes",
    "/v1/posts/1",
    "/v1/openapi.json",
    "/search.atom?q=cubes",
    "/export?q=cubes",
    "/suggest?q=cubes",
    "/opensearch.xml",
    "/ask-box",
    "/ask-box/frame?title=cubes",
    "/api",
    "/leaderboard",
    "/no-such-page",
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return porism.open(make_notes_index(tmp_path_factory.mktemp("notes")))


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "COST", (16, 8, 1))


@pytest.fixture
def users(tmp_path: Path, cheap: None) -> Path:
    UserFile(tmp_path / "users").add("ada", PASSWORD)
    return tmp_path / "users"


def open_site(engine: Engine, *assignments: str, peer: str = "testclient") -> TestClient:
    site = read_settings(None, assignments).checked()
    return TestClient(
        create_app(engine, site), base_url="http://localhost", client=(peer, 5000), follow_redirects=False
    )


@pytest.fixture
def client(engine: Engine, users: Path) -> TestClient:
    return open_site(engine, f"access.users={users}")


def log_in(client: TestClient, name: str = "ada", password: str = PASSWORD, target: str = "/"):  # type: ignore[no-untyped-def]
    form = client.get("/login", params={"next": target}).text
    token = re.search(r'name="csrf" value="([^"]+)"', form)
    assert token
    data = {"csrf": token[1], "name": name, "password": password}
    return client.post("/login", params={"next": target}, data=data)


@pytest.mark.parametrize("path", PRIVATE)
def test_strangers_see_nothing(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic ")
    assert "cubes" not in answer.text.lower()
    assert client.get(path, headers={"authorization": "Basic YWRhOndyb25nIHBhc3M="}).status_code in (401, 429)


@pytest.mark.parametrize("path", ["/v1/health", "/ready", "/static/porism.css"])
def test_health_stays_open(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200


def test_a_browser_is_sent_to_the_form_and_back(client: TestClient) -> None:
    sent = client.get("/search?q=cubes&tab=questions", headers={"accept": "text/html"})
    assert sent.status_code == 303
    assert sent.headers["location"] == "/login?next=/search%3Fq%3Dcubes%26tab%3Dquestions"
    done = log_in(client, target="/search?q=cubes&tab=questions")
    assert (done.status_code, done.headers["location"]) == (303, "/search?q=cubes&tab=questions")
    cookie = done.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    page = client.get("/search?q=cubes&tab=questions")
    assert page.status_code == 200
    assert page.headers["cache-control"] == "private, no-store"
    assert client.get("/v1/search?q=cubes").status_code == 200


def test_logging_out_needs_the_token_of_the_page(client: TestClient) -> None:
    log_in(client)
    token = re.search(r'action="/logout"><input type="hidden" name="csrf" value="([0-9a-f]+)"', client.get("/").text)
    assert token
    assert "set-cookie" not in client.post("/logout", data={"csrf": "0" * 64}).headers
    assert client.get("/").status_code == 200
    client.post("/logout", data={"csrf": token[1]})
    assert client.get("/").status_code == 401


def log_out(client: TestClient) -> None:
    token = re.search(r'action="/logout"><input type="hidden" name="csrf" value="([0-9a-f]+)"', client.get("/").text)
    assert token
    client.post("/logout", data={"csrf": token[1]})


def test_a_copied_cookie_ends_with_its_session(client: TestClient, engine: Engine, users: Path) -> None:
    """Also in another process, which reads the user file for itself; the sessions of others go on."""
    UserFile(users).add("bob", PASSWORD)
    elsewhere, bob = open_site(engine, f"access.users={users}"), open_site(engine, f"access.users={users}")
    log_in(client)
    log_in(bob, "bob")
    copied = {"cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
    assert elsewhere.get("/", headers=copied).status_code == 200
    log_out(client)
    assert elsewhere.get("/", headers=copied).status_code == 401
    assert open_site(engine, f"access.users={users}").get("/", headers=copied).status_code == 401
    assert bob.get("/").status_code == 200
    UserFile(users).add("carol", PASSWORD)  # changes of the file keep what has ended
    assert elsewhere.get("/", headers=copied).status_code == 401
    log_in(client)
    assert client.get("/").status_code == 200


def test_sessions_that_cannot_be_ended_are_not_reported_as_ended(
    client: TestClient, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(client)
    token = re.search(r'name="csrf" value="([0-9a-f]+)"', client.get("/").text)
    assert token
    monkeypatch.setattr("porism.files.tempfile.NamedTemporaryFile", no_space)
    answer = client.post("/logout", data={"csrf": token[1]})
    assert answer.status_code == 503
    assert "your other sessions could not be ended" in answer.text


def no_space(*args: object, **kwargs: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("value", [rb'"' + rb"\"" * 40_000 + b'"', b"; " * 60_000, b"a" * 100_000, b"=" * 100_000])
@pytest.mark.parametrize("name", [b"porism_reader", b"porism_login", b"other"])
def test_large_cookies_are_refused_unread(client: TestClient, name: bytes, value: bytes) -> None:
    for path in ("/", "/login", "/logout"):
        for send in (client.get, client.post):
            assert send(path, headers={b"cookie": name + b"=" + value}).status_code == 431


def test_cookies_are_read_from_among_others(client: TestClient) -> None:
    log_in(client)
    session = client.cookies[COOKIE]
    client.cookies.clear()
    for given in (
        f"{COOKIE}={session}",
        f'a="b; c"; x; =; ;{COOKIE}={session} ; z=1',
        f"{COOKIE}=old; {COOKIE}={session}",
        f'quoted="{"%5C" * 1000}"; {COOKIE}={session}',
    ):
        assert client.get("/", headers={"cookie": given}).status_code == 200
    for given in (
        f"{COOKIE}x={session}",
        f"x{COOKIE}={session}",
        f'{COOKIE}="{session}"',
        COOKIE,
        f"{COOKIE}={session}x",
    ):
        assert client.get("/", headers={"cookie": given}).status_code == 401


def test_a_form_without_its_token_is_refused(client: TestClient) -> None:
    assert client.post("/login", data={"name": "ada", "password": PASSWORD}).status_code == 403
    assert log_in(client, password="wrong password").status_code == 401
    assert log_in(client, name="bob").status_code == 401


def test_programs_use_basic(client: TestClient) -> None:
    assert client.get("/v1/search?q=cubes", auth=("ada", PASSWORD)).status_code == 200
    assert client.get("/search.atom?q=cubes", auth=("ada", PASSWORD)).status_code == 200
    assert client.get("/v1/search?q=cubes", auth=("ada", "wrong password")).status_code == 401
    for header in ("Basic", "Basic %%%", "Basic YWRh", "Bearer x", "Basic " + "A" * 5000):
        assert client.get("/", headers={"authorization": header}).status_code == 401


def test_a_removed_user_is_out_at_once(client: TestClient, users: Path) -> None:
    log_in(client)
    assert client.get("/").status_code == 200
    assert client.get("/", auth=("ada", PASSWORD)).status_code == 200
    UserFile(users).add("bob", "another password")
    assert client.get("/").status_code == 200
    UserFile(users).remove("ada")
    assert client.get("/").status_code == 401
    assert client.get("/", auth=("ada", PASSWORD)).status_code == 401


def test_a_new_password_ends_sessions(client: TestClient, users: Path) -> None:
    log_in(client)
    UserFile(users).add("ada", "a new password")
    assert client.get("/").status_code == 401


def test_a_forged_cookie_is_nothing(client: TestClient) -> None:
    log_in(client)
    expires, name, signature = client.cookies[COOKIE].split(".")
    for forged in (
        f"{int(expires) + 9}.{name}.{signature}",
        f"{expires}.bob.{signature}",
        "",
        "..",
        f"٣.{name}.{signature}",
    ):
        answer = client.get("/", headers={b"cookie": f"{COOKIE}={forged}".encode()})
        assert answer.status_code == 401


def test_a_file_that_cannot_be_read_lets_nobody_in(client: TestClient, users: Path) -> None:
    log_in(client)
    users.write_text("{}")
    assert client.get("/").status_code in (429, 503)
    users.unlink()
    assert client.get("/").status_code in (429, 503)
    assert client.get("/v1/health").status_code == 200


def test_the_header_of_a_proxy_counts_from_its_address_only(engine: Engine) -> None:
    settings = ("access.header=X-Remote-User", "access.proxies=10.1.0.0/16")
    known, headers = open_site(engine, *settings, peer="10.1.2.3"), {"x-remote-user": "ada"}
    assert known.get("/", headers=headers).status_code == 200
    assert known.get("/").status_code == 403
    assert known.get("/", headers={"x-remote-user": " "}).status_code == 403
    for peer in ("10.2.0.1", "127.0.0.1", "testclient"):
        assert open_site(engine, *settings, peer=peer).get("/v1/search?q=x", headers=headers).status_code == 403
    assert known.get("/ready").status_code == 200


def test_tokens_of_changes_are_checked_by_their_endpoints(client: TestClient) -> None:
    headers = {"authorization": "Bearer porism_x"}
    assert client.get("/v1/posts/1", headers=headers).status_code == 401
    assert client.put("/search", headers=headers).status_code == 401
    assert client.put("/v1/posts/1").status_code == 401
    assert client.get("/v1/log").status_code == 401
    assert (
        client.get("/v1/log", headers=headers).status_code == 405
    )  # passes the gate of a server that takes no changes
    assert client.put("/v1/search", headers=headers).status_code in (
        404,
        405,
    )  # passes the gate, and there is no such call


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "x", "/login", "/a\nb", "http://["]
)
def test_the_login_leads_nowhere_else(target: str) -> None:
    assert local_target(target) == "/"


def test_guesses_beyond_a_few_are_refused_at_once_and_readers_pass(client: TestClient) -> None:
    log_in(client)
    known = ("ada", PASSWORD)
    assert client.get("/v1/posts/1", auth=known).status_code == 200
    with ExitStack() as stack:
        for _ in range(SIMULTANEOUS_CHECKS + WAITING_CHECKS):
            stack.enter_context(place_for_login())
        for headers in ({}, {"cookie": ""}):
            answer = client.get("/v1/posts/1", headers=headers, auth=("eve", "a wrong password"))
            if "cookie" in headers:
                assert answer.status_code == 429
                assert int(answer.headers["retry-after"]) > 0
            else:  # with a session, nobody looks at the password
                assert answer.status_code == 200
        assert client.get("/").status_code == 200
        client.cookies.clear()
        assert client.get("/v1/posts/1", auth=known).status_code == 200
        refused = log_in(client)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert log_in(client).status_code == 303  # the refused attempts count for nothing


def test_the_command(users: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert main(["site", "users", "add", str(users), "bob"]) == 1
    assert "at least 10 characters" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("long enough password\n"))
    assert main(["site", "users", "add", str(users), "bob"]) == 0
    assert main(["site", "users", "list", str(users)]) == 0
    assert capsys.readouterr().out == "ada\nbob\n"
    assert main(["site", "users", "remove", str(users), "bob"]) == 0
    assert main(["site", "users", "remove", str(users), "bob"]) == 1


def test_check_reads_the_user_file_and_warns_of_plain_http(users: Path) -> None:
    reading = read_settings(None, [f"access.users={users}", "server.host=0.0.0.0"])
    checked = check_settings(reading)
    assert [warning.message for warning in checked.warnings] == ["passwords would travel unencrypted"]
    reading = read_settings(None, [f"access.users={users}.none"])
    assert "cannot be read" in check_settings(reading).problems[0].message
