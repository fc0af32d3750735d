"""SIGKILL of the assessment server while people judge: nothing that was confirmed is lost or stored twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from bench.assess import Load, Times, drive, grade_of, prepare

from attack.chaos.processes import children
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import build_collection, write_dump
from porism.lab.judging.assessments import assessments
from porism.lab.judging.journal import Journal


def kill_assessment(stage: Stage, record: Record) -> None:
    """Kill the server again and again while ten assessors save judgments; then count."""
    collection = build_collection(write_dump(stage.folder / "dump", threads=60), stage.folder / "collection")
    load = prepare(stage.folder, collection, assessors=10, judgments=60)
    servers = [load.start()]

    def kill(times: Times) -> None:
        total = load.assessors * load.judgments
        for number in range(stage.tries):
            before = len(times.saves)
            with record.attempt(f"kill {number + 1}"):
                deadline = time.monotonic() + stage.rng.uniform(0.02, 0.25)
                while time.monotonic() < deadline and len(times.saves) < min(total, before + 12):
                    time.sleep(0.005)
                _kill(servers[-1])
                began = time.monotonic()
                servers.append(load.start())
                record.measure(time.monotonic() - began)

    try:
        times, _ = drive(load, kill)
    finally:
        servers[-1].terminate()
        servers[-1].wait()
    record.notes.append(f"{len(times.saves)} judgments saved, {times.retries} requests repeated")
    with record.attempt("the journal"):
        _check(load)


def _kill(server: subprocess.Popen[bytes]) -> None:
    """Kill the first process of the server; the others must end with it."""
    family = [server.pid, *_descendants(server.pid)]
    server.kill()
    server.wait()
    deadline = time.monotonic() + 5
    while any(_lives(pid) for pid in family):
        if time.monotonic() > deadline:
            for pid in filter(_lives, family):
                os.kill(pid, signal.SIGKILL)
            raise Lost("its processes did not end")
        time.sleep(0.01)


def _descendants(pid: int) -> list[int]:
    below = children(pid)
    return [*below, *(further for child in below for further in _descendants(child))]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _check(load: Load) -> None:
    """Compare the journal with what the assessors saved."""
    journal = Journal.open(load.journal)
    expected = load.assessors * load.judgments
    for field in ("grade", "submit"):
        stored = Counter((event.assignment, event.item) for event in journal.events() if event.field == field)
        if len(stored) != expected or set(stored.values()) != {1}:
            raise Lost(f"{field}: {sum(stored.values())} events for {len(stored)} items, {expected} were saved")
    rows = journal.read(
        "SELECT assignment AS id, item.item, assigned.position FROM assigned JOIN item ON key = assigned.item"
    )
    places = {(row["id"], row["item"]): row["position"] for row in rows}
    for one in assessments(journal, "dual"):
        if one.grade != grade_of(int(one.assessor.removeprefix("a")), places[one.assignment, one.item]):
            raise Lost(f"another grade for {one.item} of {one.assessor}")
    if journal.read("PRAGMA integrity_check")[0][0] != "ok":
        raise Lost("the journal is damaged")
    journal.close()


KINDS = (Kind("kill assessment", "every confirmed judgment is stored once, with its grade", kill_assessment),)
