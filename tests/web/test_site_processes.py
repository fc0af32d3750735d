"""Private sites in real server processes: guesses starve nobody, and a session that has ended is dead everywhere."""

from __future__ import annotations

import base64
import http.cookiejar
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from server_processes import Server, running

from porism import accounts
from porism.accounts import UserFile
from porism.web.site.access import COOKIE

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "COST", (16, 8, 1))


def answer_of(server: Server, path: str, **headers: str) -> int:
    """Return the status of a response."""
    request = urllib.request.Request(server.address + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_guesses_do_not_starve_readers(demo: Path, tmp_path: Path) -> None:
    """Sixty connections guess. A reader's request must not wait for checks of passwords: few end while it is
    answered."""
    UserFile(tmp_path / "users").add("ada", PASSWORD)
    options = ("--workers", "1", "--set", f"access.users={tmp_path / 'users'}")
    counts: Counter[int] = Counter()
    stop = threading.Event()

    def guess(number: int) -> None:
        for attempt in range(2000):
            if stop.is_set():
                return
            counts[answer_of(server, "v1/posts/1", authorization=basic(f"eve{number}-{attempt}", "wrong"))] += 1

    with running(tmp_path / "log", "serve", str(demo / "index"), *options) as server:
        ada = basic("ada", PASSWORD)
        assert answer_of(server, "v1/posts/1", authorization=ada) in (200, 404)
        threads = [threading.Thread(target=guess, args=(number,)) for number in range(60)]
        for thread in threads:
            thread.start()
        while counts.total() < 60:
            time.sleep(0.01)
        checked, requests = counts[401], 10
        for _ in range(requests):
            assert answer_of(server, "v1/posts/1", authorization=ada) in (200, 404)
        checked = counts[401] - checked
        stop.set()
        for thread in threads:
            thread.join()
    assert set(counts) <= {401, 429}
    assert counts[429] > counts[401]
    assert checked < 5 * requests


def test_a_copied_cookie_is_dead_in_all_processes_and_after_a_restart(demo: Path, tmp_path: Path) -> None:
    UserFile(tmp_path / "users").add("ada", PASSWORD)
    command = ("serve", str(demo / "index"), "--workers", "2", "--set", f"access.users={tmp_path / 'users'}")
    with running(tmp_path / "log", *command) as server:
        jar = http.cookiejar.CookieJar()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        form = opener.open(server.address + "login").read().decode()
        token = re.search(r'name="csrf" value="([^"]+)"', form)
        assert token
        given = {"csrf": token[1], "name": "ada", "password": PASSWORD}
        page = opener.open(server.address + "login", urllib.parse.urlencode(given).encode())
        session = next(cookie.value for cookie in jar if cookie.name == COOKIE)
        assert [answer_of(server, "", cookie=f"{COOKIE}={session}") for _ in range(8)] == [200] * 8
        token = re.search(
            r'action="/logout"><input type="hidden" name="csrf" value="([0-9a-f]+)"', page.read().decode()
        )
        assert token
        opener.open(server.address + "logout", urllib.parse.urlencode({"csrf": token[1]}).encode())
        assert [answer_of(server, "", cookie=f"{COOKIE}={session}") for _ in range(8)] == [401] * 8
    with running(tmp_path / "log", *command) as server:
        assert answer_of(server, "", cookie=f"{COOKIE}={session}") == 401
