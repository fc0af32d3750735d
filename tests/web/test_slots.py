"""Slots for queries: the time limit ends work, a slot is free when its work has ended, and a full queue refuses."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from server_processes import Server, running, until
from starlette.testclient import TestClient

from porism.deadline import TimeLimitExceeded, check, shorten
from porism.search.engine import Engine
from porism.web.api import results as slots_module
from porism.web.api.results import PLACE_SECONDS, SHORT_RUNNING, Busy, QuerySlots, Turn
from porism.web.server.app import create_app


def endless() -> None:
    while True:
        check()


async def results(slots: QuerySlots, number: int, seconds: float) -> list[Any]:
    tasks = [slots.run(endless, seconds) for _ in range(number)]
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_forty_slow_queries_leave_nothing_running() -> None:
    slots = QuerySlots(running=2, waiting=3)
    found = [type(one) for one in asyncio.run(results(slots, 40, 0.3))]
    assert found.count(TimeLimitExceeded) >= 2
    assert found.count(Busy) >= 35
    assert len(found) == found.count(Busy) + found.count(TimeLimitExceeded)
    until(lambda: slots._taken == 0)
    assert asyncio.run(slots.run(lambda: 7, 10.0)) == (7, True)


def test_a_slot_is_taken_until_its_work_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the work does not notice that its time is over."""
    monkeypatch.setattr(slots_module, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(slots_module, "STUCK_SECONDS", 0.0)
    slots, ended = QuerySlots(running=1, waiting=0), threading.Event()
    with pytest.raises(TimeLimitExceeded):
        asyncio.run(slots.run(ended.wait, 0.05))
    assert slots.is_stuck()
    with pytest.raises(Busy):
        asyncio.run(slots.run(lambda: 1, 10.0))
    ended.set()
    until(lambda: slots._taken == 0)
    assert not slots.is_stuck()
    assert asyncio.run(slots.run(lambda: 1, 10.0)).value == 1


def test_a_result_that_is_cut_short_is_marked() -> None:
    assert not asyncio.run(QuerySlots().run(shorten, 10.0)).complete


def test_a_long_computation_lets_short_ones_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    turns: list[Turn] = []
    monkeypatch.setattr(slots_module, "SHORT_SECONDS", -1.0)
    monkeypatch.setattr(slots_module, "WORK_SECONDS", 0.0)
    monkeypatch.setattr("porism.web.api.results.time.sleep", rests.append)
    places = threading.Semaphore(2)
    turns += [Turn(0.0, lambda: turns, places), Turn(0.0, lambda: turns, places)]
    older, younger = turns
    older.give_way()  # it has become long
    assert (older.is_long, younger.is_long, rests) == (True, False, [])
    older.give_way()
    assert len(rests) == 1
    younger.give_way()
    older.give_way()
    assert len(rests) == 1
    younger.give_way()
    assert len(rests) == 2


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return Engine.open(demo / "index")


def test_a_busy_server_says_when_to_try_again(engine: Engine) -> None:
    with TestClient(create_app(engine, hosts=["*"])) as client:
        slots, ended = QuerySlots(running=1, waiting=0), threading.Event()
        client.app.state.slots = slots  # type: ignore[attr-defined]
        threading.Thread(target=lambda: asyncio.run(slots.run(ended.wait, 60))).start()
        until(lambda: slots._taken == 1)
        answer = client.get("/v1/search", params={"q": "group"})
        page = client.get("/search", params={"q": "group"})
        health, home = client.get("/v1/health"), client.get("/")
        ended.set()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert answer.json()["error"] == {
        "code": "busy",
        "message": "the server is busy with other queries",
        "where": "",
        "fix": "try again in 2 seconds",
    }
    assert (page.status_code, page.headers["retry-after"]) == (429, "2")
    assert "The server is busy" in page.text
    assert (health.status_code, home.status_code) == (200, 200)


def test_an_incomplete_result_is_not_cached(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*arguments: Any, **options: Any) -> Any:
        shorten()
        return found

    found = engine.search("group")
    monkeypatch.setattr(Engine, "search", search)
    app = create_app(engine, hosts=["*"])
    with TestClient(app) as client:
        assert client.get("/v1/search", params={"q": "ring"}).status_code == 200
    assert not app.state.cache._results


def status_of(server: Server, query: str) -> int:
    address = f"{server.address}v1/formulas?{urllib.parse.urlencode({'q': query, 'mode': 'subformula'})}"
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_processor_is_idle_soon_after_slow_queries(demo: Path, tmp_path: Path) -> None:
    options = ("--workers", "1", "--seconds", "0.5", "--queue", "8")
    with running(tmp_path / "log", "serve", str(demo / "index"), *options) as server:
        (worker,) = server.workers()
        queries = [f"$ {n} + {' + '.join(f'?a^{k} x_{k}' for k in range(300))} $" for n in range(40)]
        with ThreadPoolExecutor(40) as pool:
            found = list(pool.map(lambda query: status_of(server, query), queries))
        assert set(found) <= {200, 429, 503}
        assert 503 in found
        assert 429 in found
        time.sleep(0.5)
        before = processor_seconds(worker)
        time.sleep(2)
        assert processor_seconds(worker) - before < 0.5
        assert server.answers()


def test_few_short_computations_run_at_the_same_time_unless_they_wait() -> None:
    """Threads of a process share a processor; but a computation that waits for something else must not keep others
    out."""
    now, most, lock = 0, 0, threading.Lock()

    def work(seconds: float) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(seconds)
        with lock:
            now -= 1

    async def all_of(seconds: float) -> None:
        slots = QuerySlots()
        await asyncio.gather(*(slots.run(lambda: work(seconds), 20) for _ in range(6)))

    asyncio.run(all_of(0.001))
    assert most <= SHORT_RUNNING
    asyncio.run(all_of(3 * PLACE_SECONDS))
    assert most > SHORT_RUNNING
