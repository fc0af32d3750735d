"""Connections are shared among the processes of a server."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from porism.web.http.workers import YIELD_SECONDS, Acceptor, connection_counts

CONNECTIONS = 20


class Counting(asyncio.Protocol):
    """Counts the connections of an acceptor."""

    def __init__(self, counted: list[int], number: int) -> None:
        self._counted, self._number = counted, number

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection."""
        self._counted[self._number] += 1


def listening() -> socket.socket:
    """Return a socket that listens on a free port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(CONNECTIONS)
    return listener


async def accepted(acceptors: int, already: int = 0) -> list[int]:
    """Return how many of CONNECTIONS each acceptor gets, where the first one has some already."""
    counted, counts = [0] * acceptors, connection_counts(acceptors)
    with listening() as listener:
        # Each acceptor has a descriptor of its own, as each process has.
        own = [listener.dup() for _ in range(acceptors)]
        made = [Acceptor(own[n], lambda n=n: Counting(counted, n), counts, n) for n in range(acceptors)]
        made[0].update(already)
        for one in made:
            one.start()
        clients = [socket.create_connection(listener.getsockname()) for _ in range(CONNECTIONS)]
        end = time.monotonic() + 10
        while sum(counted) < CONNECTIONS and time.monotonic() < end:
            await asyncio.sleep(YIELD_SECONDS)
        for one in made:
            one.close()
        for opened in (*clients, *own):
            opened.close()
    return counted


@pytest.mark.parametrize(("acceptors", "already", "expected"), [(1, 0, [20]), (2, 0, [10, 10]), (2, 6, [7, 13])])
def test_connections_are_shared(acceptors: int, already: int, expected: list[int]) -> None:
    assert asyncio.run(accepted(acceptors, already)) == expected


def test_a_process_that_accepts_nothing_is_not_waited_for() -> None:
    async def alone() -> list[int]:
        counted, counts = [0], connection_counts(2)  # of the second one nobody hears
        with listening() as listener:
            acceptor = Acceptor(listener, lambda: Counting(counted, 0), counts, 0)
            acceptor.start()
            clients = [socket.create_connection(listener.getsockname()) for _ in range(3)]
            end = time.monotonic() + 10
            while counted[0] < len(clients) and time.monotonic() < end:
                await asyncio.sleep(YIELD_SECONDS)
            acceptor.close()
            for client in clients:
                client.close()
        return counted

    assert asyncio.run(alone()) == [3]


def test_nothing_is_accepted_after_the_end() -> None:
    async def closed() -> list[int]:
        counted = [0]
        with listening() as listener:
            acceptor = Acceptor(listener, lambda: Counting(counted, 0), connection_counts(1), 0)
            acceptor.start()
            acceptor.close()
            with socket.create_connection(listener.getsockname()):
                await asyncio.sleep(4 * YIELD_SECONDS)
        return counted

    assert asyncio.run(closed()) == [0]
