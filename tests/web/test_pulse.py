"""A silent process is frozen if it is stopped, computes without a sign of life, or waits; not if it gets no
processor."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from server_processes import until

from porism.web.http.supervisor import STARVED_FACTOR, STOPPED_LOOKS, Pulse, SilenceLimits, queued_seconds, usage_of

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the kernel keeps no such figures")
LIMITS = SilenceLimits(5.0)


def spin() -> None:
    while True:
        pass


def rest() -> None:
    time.sleep(600)


@contextmanager
def process(work: Callable[[], None], core: int | None = None, niceness: int = 0) -> Iterator[int]:
    """Run a function in a process of its own, on one core if that is given."""

    def run() -> None:
        os.nice(niceness)
        if core is not None:
            os.sched_setaffinity(0, {core})
        work()

    child = multiprocessing.get_context("fork").Process(target=run)
    child.start()
    assert child.pid
    try:
        yield child.pid
    finally:
        child.kill()
        child.join()


def test_a_stopped_process_is_frozen_after_a_few_looks() -> None:
    with process(rest) as pid:
        pulse = Pulse(pid)
        assert pulse.look(LIMITS) == ""
        os.kill(pid, signal.SIGSTOP)
        until(lambda: (usage_of(pid) or ("",))[0] == "T")
        assert [pulse.look(LIMITS) for _ in range(STOPPED_LOOKS)] == [""] * (STOPPED_LOOKS - 1) + ["is stopped"]


def test_a_process_that_continues_in_time_is_not_frozen() -> None:
    with process(rest) as pid:
        pulse = Pulse(pid)
        for _ in range(2):
            os.kill(pid, signal.SIGSTOP)
            until(lambda: (usage_of(pid) or ("",))[0] == "T")
            assert [pulse.look(LIMITS) for _ in range(STOPPED_LOOKS - 1)] == [""] * (STOPPED_LOOKS - 1)
            os.kill(pid, signal.SIGCONT)
            until(lambda: (usage_of(pid) or ("",))[0] != "T")
            assert pulse.look(LIMITS) == ""


def test_a_process_that_computes_without_a_sign_of_life_is_frozen() -> None:
    with process(spin) as pid:
        pulse = Pulse(pid)
        assert pulse.look(LIMITS) == ""
        pulse.silent = 1.0
        until(lambda: "in which it computed" in pulse.look(LIMITS))


def test_a_process_that_starts_may_compute() -> None:
    with process(spin) as pid:
        pulse = Pulse(pid, silent=10.0)
        pulse.look(LIMITS, starting=True)
        before = usage_of(pid)
        assert before
        until(lambda: (usage_of(pid) or before).processor > before.processor + LIMITS.busy)
        assert pulse.look(LIMITS, starting=True) == ""
        assert "in which it computed" in pulse.look(LIMITS)


def test_a_process_that_waits_is_frozen_when_its_time_is_over() -> None:
    with process(rest) as pid:
        pulse = Pulse(pid, silent=4.0)
        assert pulse.look(LIMITS) == ""
        pulse.silent = 5.1
        assert pulse.look(LIMITS, starting=True) == ""
        assert pulse.look(LIMITS) == "gives no sign of life for 5.1 s"


def test_a_process_that_gets_no_processor_has_more_time() -> None:
    core = min(os.sched_getaffinity(0))
    with process(spin, core), process(spin, core), process(spin, core, niceness=15) as pid:
        pulse = Pulse(pid, silent=4.0)
        assert pulse.look(LIMITS) == ""
        queued = queued_seconds(pid)
        until(lambda: queued_seconds(pid) > queued + 0.7)
        pulse.silent = 5.2
        assert pulse.look(LIMITS) == ""
        pulse.silent = LIMITS.frozen * STARVED_FACTOR + 1
        assert pulse.look(LIMITS).startswith("gives no sign of life")
        pulse.beat()
        assert pulse.look(LIMITS) == ""
