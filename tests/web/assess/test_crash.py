"""20 assessors save 50 judgments each at once, and the server is killed in the middle."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import httpx

from porism.lab.judging.assessments import assessments
from porism.lab.judging.journal import Journal

BENCH = Path(__file__).resolve().parents[3] / "bench" / "assess.py"


def load_driver() -> ModuleType:
    """Load the driver of the benchmark, which makes the same load."""
    spec = importlib.util.spec_from_file_location("bench_assess", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_assess"] = module
    spec.loader.exec_module(module)
    return module


def test_no_judgment_is_lost_or_duplicated_when_the_server_is_killed(
    sample_collection: Path, tmp_path: Path, cheap_passwords: None
) -> None:
    driver = load_driver()
    load = driver.prepare(tmp_path, sample_collection)
    servers = [load.start()]

    def kill_in_the_middle(times: object) -> None:
        for share in (0.25, 0.6):
            while len(times.saves) < share * load.assessors * load.judgments:  # type: ignore[attr-defined]
                time.sleep(0.01)
            servers[-1].kill()  # SIGKILL: no chance to tidy up
            servers[-1].wait()
            servers.append(load.start())

    try:
        times, _ = driver.drive(load, kill_in_the_middle)
    finally:
        servers[-1].terminate()
        servers[-1].wait()
    assert times.retries > 0
    assert len(servers) == 3

    journal = Journal.open(load.journal)
    events = [event for event in journal.events() if event.field == "grade"]
    assert len(events) == 1000
    assert Counter((event.assignment, event.item) for event in events).most_common(1)[0][1] == 1
    submitted = Counter((event.assignment, event.item) for event in journal.events() if event.field == "submit")
    assert len(submitted) == 1000
    assert set(submitted.values()) == {1}
    found = assessments(journal, "dual")
    positions = {
        (row["id"], row["item"]): row["position"]
        for row in journal.read(
            "SELECT assignment AS id, item.item, assigned.position FROM assigned JOIN item ON key = assigned.item"
        )
    }
    for one in found:
        number = int(one.assessor.removeprefix("a"))
        assert one.grade == driver.grade_of(number, positions[one.assignment, one.item])
        assert one.comment == f"comment of {number}"
    assert len(found) == 1000
    assert journal.read("PRAGMA integrity_check")[0][0] == "ok"


def workers_of(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def test_the_server_goes_on_when_its_worker_is_killed(
    sample_collection: Path, tmp_path: Path, cheap_passwords: None
) -> None:
    load = load_driver().prepare(tmp_path, sample_collection)
    server = load.start()
    try:
        (worker,) = workers_of(server.pid)
        os.kill(worker, signal.SIGKILL)
        assert httpx.get(load.url + "/login", timeout=60).status_code == 200
        assert server.poll() is None
        assert worker not in workers_of(server.pid)
    finally:
        server.kill()
        server.wait()
