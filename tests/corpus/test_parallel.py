"""Work on all cores: order, few tasks in flight, and a worker that dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from porism.errors import PorismError
from porism.parallel import ordered, workers


def double(number: int) -> int:
    return 2 * number


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("number", [1, 2])
def test_results_come_in_the_order_of_tasks_and_few_are_in_flight(number: int) -> None:
    asked = 0

    def tasks() -> Iterator[tuple[str, int]]:
        nonlocal asked
        for at in range(50):
            asked += 1
            yield str(at), at

    with workers(number) as pool:
        for at, (about, result) in enumerate(ordered(pool, double, tasks(), 4)):
            assert (about, result) == (str(at), 2 * at)
            assert asked - at <= 5


def test_a_worker_that_dies_is_told() -> None:
    with workers(2) as pool, pytest.raises(PorismError) as error:
        list(ordered(pool, die, ((at, at) for at in range(10)), 4))
    assert (
        str(error.value)
        == "a worker process died\n  fix: run the same command again, with fewer --jobs if memory is short"
    )
