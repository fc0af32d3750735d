"""A collection in a cluster behind the commands and the server: the same answers as from its folder, new generations
followed, outages survived."""

from __future__ import annotations

import io
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attack.cluster.tls_proxy import TlsProxy, make_certificate
from starlette.testclient import TestClient

from porism.cli import main
from porism.search.engine import Engine
from porism.store.maintenance import copy_store, rollback, snapshot_repository, verify_copy
from porism.store.opensearch import open_cluster
from porism.web.server.run import Settings, make_app

NAME = "trial-serving"


@pytest.fixture(scope="module")
def address(hosts: str, demo: Path) -> str:
    """The sample in the cluster."""
    found = f"opensearch://{hosts}/{NAME}"
    copy_store(demo / "index", found)
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main(command) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ("search", "INDEX", "proof that $\\sqrt{2}$ is irrational", "-k", "10"),
        ("search", "INDEX", "sum of squares", "--kind", "questions"),
        ("formulas", "INDEX", "a^2+b^2=c^2", "-k", "10"),
        ("ask", "INDEX", "what is a square root"),
        ("explain", "INDEX", "square root", "46"),
        ("collection", "show", "INDEX", "thread", "45"),
        ("collection", "stats", "INDEX"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_commands_print_the_same(
    command: tuple[str, ...], address: str, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, copied = (
        printed(capsys, *(str(place) if word == "INDEX" else word for word in command))
        for place in (demo / "index", address)
    )
    assert copied == own


def test_runs_are_the_same(address: str, demo: Path, tmp_path: Path) -> None:
    topics = str(Path(__file__).resolve().parents[2] / "sample" / "topics" / "task1.xml")
    runs = []
    for place in (str(demo / "index"), address):
        output = tmp_path / f"{len(runs)}.tsv"
        assert main(["run", "--topics", topics, "--index", place, "-o", str(output), "-k", "10"]) == 0
        runs.append([line.split("\t")[:3] for line in output.read_text().splitlines()])
    assert runs[0] == runs[1]


def test_the_doctor_is_content(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["site", "doctor", address])
    shown = capsys.readouterr().out
    assert "ok      index: format 1, commit " in shown
    assert "ok      search: works" in shown
    assert "ACTION" not in shown.partition("index: ")[2]


def test_a_copy_is_verified(address: str, demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "verify", address, "--against", str(demo / "index"), "--quiet"]) == 0
    assert "equal to" in capsys.readouterr().err


def test_a_server_follows_and_a_rollback_returns(address: str, demo: Path) -> None:
    app = make_app(Engine.open(address), Settings(address))
    place = open_cluster(address).place
    with TestClient(app, base_url="http://localhost") as client:
        first, build = app.state.engine.snapshot.info.generation, place.current()
        copy_store(demo / "index", address)
        wait_for(lambda: app.state.engine.snapshot.info.generation != first)
        assert client.get("/v1/search?q=square+root").status_code == 200
        assert rollback(address) == build
        wait_for(lambda: app.state.engine.snapshot.info.generation == first)
        assert client.get("/v1/search?q=cube+root").status_code == 200


def test_a_snapshot_is_restored_under_another_name(
    address: str, hosts: str, demo: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue("nodes").folder / "snapshots" / "serving"
    cluster = open_cluster(address).place.cluster
    cluster.request("PUT", "/_snapshot/trial-serving", {"type": "fs", "settings": {"location": str(folder)}})
    taken = snapshot_repository(address, "trial-serving").take()
    assert taken.is_complete
    assert taken.name in {one.name for one in snapshot_repository(address, "trial-serving").all()}
    other = f"opensearch://{hosts}/trial-restored"
    snapshot_repository(other, "trial-serving").restore(taken.name)
    assert verify_copy(other, demo / "index") == []


def test_an_outage_is_one_sentence_and_ends(
    hosts: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    files = make_certificate(tmp_path)
    monkeypatch.setenv("PORISM_OPENSEARCH_CA", str(files[0]))
    monkeypatch.setenv("PORISM_OPENSEARCH_USER", "porism")
    monkeypatch.setenv("PORISM_OPENSEARCH_PASSWORD", "word")
    proxy = TlsProxy(hosts.split(",")[0], "porism", "word", files)
    through = f"opensearchs://127.0.0.1:{proxy.port}/{NAME}"
    with proxy:
        app = make_app(Engine.open(through), Settings(through))
        client = TestClient(app, base_url="http://localhost")
        assert client.get("/search?q=square+root").status_code == 200
        assert client.get("/ready").json() == {"ready": True, "integrity": "verified", "damaged": []}
    wait_for(lambda: client.get("/ready").status_code == 503)
    assert client.get("/ready").json() == {"ready": False, "integrity": "unavailable", "damaged": []}
    assert client.get("/health").status_code == 200
    page = client.get("/search?q=cube+root")
    assert page.status_code == 503
    assert page.headers["retry-after"] == "5"
    assert "the collection cannot be reached at the moment" in page.text
    assert str(proxy.port) not in page.text
    answer = client.get("/v1/search?q=fourth+root")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["error"] == {
        "code": "unavailable",
        "message": "the collection cannot be reached at the moment",
        "where": "",
        "fix": "try again in 5 seconds",
    }
    with TlsProxy(hosts.split(",")[0], "porism", "word", files, proxy.port):
        wait_for(lambda: client.get("/ready").status_code == 200)
        assert client.get("/search?q=cube+root").status_code == 200


def test_the_update_command_changes_it(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last test: the others compare the collection with the sample."""
    record = {"id": 990_001, "title": "Zwölfundvierzig", "body": "<p>Is $zq^{42}+1$ prime?</p>", "tags": ["algebra"]}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(record) + "\n"))
    assert printed(capsys, "update", address, "-") == f"{address}: added posts 1\n"
    found = printed(capsys, "search", address, "Zwölfundvierzig", "--kind", "questions", "--json")
    assert json.loads(found.splitlines()[0])["id"] == 990_001
