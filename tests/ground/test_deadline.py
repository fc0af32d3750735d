from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from porism.deadline import TimeLimitExceeded, check, in_threads, passed, remaining, shared, shorten, time_limit
from porism.errors import PorismError


def test_without_a_limit_nothing_is_raised() -> None:
    check()
    shorten()
    assert remaining() == math.inf
    assert not passed()


def test_after_the_limit_check_raises_an_error_that_a_user_understands() -> None:
    with time_limit(-1.0), pytest.raises(TimeLimitExceeded, match="the query took too long") as error:
        check()
    assert isinstance(error.value, PorismError)
    assert isinstance(error.value, TimeoutError)
    check()


def test_an_inner_limit_cannot_be_longer() -> None:
    with time_limit(10.0), time_limit(100.0):
        assert 0 < remaining() <= 10
    with time_limit(100.0), time_limit(0.0):
        while not passed():
            pass
    assert not passed()


def test_leaving_something_out_marks_all_limits_around() -> None:
    with time_limit(10.0) as outer:
        with time_limit(5.0) as inner:
            shorten()
        with time_limit(5.0) as second:
            pass
    assert (outer.shortened, inner.shortened, second.shortened) == (True, True, False)


def test_threads_of_a_pool_have_the_limit_of_their_caller() -> None:
    with ThreadPoolExecutor(1) as pool:
        with time_limit(10.0):
            assert next(pool.map(in_threads(lambda _: remaining()), [0])) <= 10
        with time_limit(-1.0), pytest.raises(TimeLimitExceeded):
            list(pool.map(in_threads(lambda _: None), [0]))
        assert next(pool.map(lambda _: remaining(), [0])) == math.inf


def test_tasks_are_shared_with_a_thread_and_done_here_where_none_is_free() -> None:
    def where(task: int) -> tuple[int, int]:
        if task == 0:
            time.sleep(0.05)  # so that the thread begins
        return task, threading.get_ident()

    here = threading.get_ident()
    with ThreadPoolExecutor(1) as executor:
        results = shared(executor, where, [0, 1, 2])
        assert [task for task, _ in results] == [0, 1, 2]
        assert results[0][1] == here != results[1][1] == results[2][1]
        busy = threading.Event()
        executor.submit(busy.wait, 10)
        assert shared(executor, where, [1, 2]) == [(1, here), (2, here)]
        busy.set()


def test_shared_tasks_keep_the_time_limit() -> None:
    def slow(task: int) -> None:
        if task:
            check()
        time.sleep(0.05)

    with ThreadPoolExecutor(1) as executor, time_limit(0.02):
        executor.submit(int).result()
        with pytest.raises(TimeLimitExceeded):
            shared(executor, slow, [0, 0, 1])
