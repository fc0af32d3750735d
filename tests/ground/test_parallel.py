"""Worker processes: order, bounded tasks in flight, workers that die, and an early end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.parallel import OBJECTS, THREAD_LIMITS, cores, ordered, workers

SLEEPERS = """
import time
from porism.parallel import ordered, workers

if __name__ == "__main__":
    with workers(2) as pool:
        print("started", flush=True)
        for _, result in ordered(pool, time.sleep, ((None, seconds) for seconds in (0, 0, 60, 60))):
            print("result", flush=True)
"""


def double(number: int) -> int:
    return 2 * number


def thread_limits(_: int) -> list[str | None]:
    return [os.environ.get(name) for name in THREAD_LIMITS]


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(number: int) -> int:
    if number == 3:
        raise PorismError("task 3 failed")
    time.sleep(30 if number > 3 else 0)
    return number


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_task_order_with_few_tasks_in_flight(processes: int) -> None:
    submitted = 0

    def tasks() -> Iterator[tuple[str, int]]:
        nonlocal submitted
        for at in range(50):
            submitted += 1
            yield str(at), at

    with workers(processes) as pool:
        for at, (label, result) in enumerate(ordered(pool, double, tasks())):
            assert (label, result) == (str(at), 2 * at)
            assert submitted - at <= 5


def test_a_dead_worker_is_reported_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(PorismError) as error, workers(2) as pool:
        list(ordered(pool, die, ((at, at) for at in range(10))))
    assert str(error.value).startswith(
        "a worker process died\n  fix: run the same command again, with fewer --jobs if memory is short"
    )
    assert time.monotonic() - began < 20


def test_the_error_names_a_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "notes.py"
    script.write_text(
        "from porism.parallel import ordered, workers\n"
        "with workers(2) as pool:\n"
        "    print(list(ordered(pool, abs, ((at, -at) for at in range(4)))))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert 'notes.py must call Porism under `if __name__ == "__main__":`' in done.stderr


def test_an_error_in_a_task_ends_the_other_workers() -> None:
    began = time.monotonic()
    with pytest.raises(PorismError, match="task 3 failed"), workers(2) as pool:
        list(ordered(pool, fail, ((at, at) for at in range(10))))
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(ending: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "sleepers.py"
    script.write_text(SLEEPERS)
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout is not None
    assert [parent.stdout.readline() for _ in range(3)] == ["started\n", "result\n", "result\n"]
    # Ctrl-C goes to the whole group of a terminal; a kill for lack of memory only to one process.
    if ending == signal.SIGINT:
        os.killpg(parent.pid, ending)
    else:
        os.kill(parent.pid, ending)
    # Workers inherit stderr: `communicate` returns when the last of them has ended.
    _, errors = parent.communicate(timeout=20)
    assert parent.returncode == -ending
    assert "Process" not in errors  # no traceback of a worker


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no CPU affinity")
def test_cores_respects_the_cpu_affinity() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert cores() == len(allowed)


def test_workers_use_one_thread_of_linear_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREAD_LIMITS[0], "7")
    monkeypatch.delenv(THREAD_LIMITS[1], raising=False)
    with workers(2) as pool:
        found = [limits for _, limits in ordered(pool, thread_limits, ((None, number) for number in range(4)))]
    assert found == [["1"] * len(THREAD_LIMITS)] * 4
    assert (os.environ[THREAD_LIMITS[0]], os.environ.get(THREAD_LIMITS[1])) == ("7", None)


def test_workers_may_end_while_the_caller_goes_on() -> None:
    with workers(2) as pool:
        assert pool is not None
        pool.start(os.getpid)
        assert dict(ordered(pool, double, ((at, at) for at in range(5)))) == {at: 2 * at for at in range(5)}
        pool.end()
    assert not multiprocessing.active_children()


def looks_for_cycles(_: int) -> bool:
    return gc.isenabled()


def test_workers_do_not_look_for_reference_cycles_and_the_caller_seldom_does() -> None:
    before = gc.get_threshold()
    with workers(2) as pool:
        assert gc.get_threshold()[0] == OBJECTS
        assert not any(found for _, found in ordered(pool, looks_for_cycles, ((at, at) for at in range(4))))
    assert gc.get_threshold() == before
