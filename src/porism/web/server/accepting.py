"""Accept connections so that the processes of a server have about as many each.

All processes wait for connections of one socket, and the first to wake takes them. Eight connections that stay open could then be six of one
process and two of another, of which one computes while the other waits.
"""

from __future__ import annotations

import asyncio
import mmap
import socket
from collections.abc import Callable
from typing import Any

YIELD_SECONDS = 0.005  # for which a connection is left to a process that has fewer
RETRY_SECONDS = 0.5  # after an error of the system, as too many open files
WIDTH = 4  # bytes of a number


class ConnectionCounts:
    """The number of connections of each process, in memory that all of them share. Create it before the processes start."""

    def __init__(self, processes: int) -> None:
        self._numbers = memoryview(mmap.mmap(-1, WIDTH * max(processes, 1))).cast("I")

    def set(self, worker: int, connections: int) -> None:
        """Tell the others how many connections a process has."""
        self._numbers[worker] = connections

    def has_fewest(self, worker: int) -> bool:
        """Return whether no other process has fewer connections."""
        return self._numbers[worker] <= min(self._numbers)


class Acceptor:
    """Accept the connections of one process, one at a time; leave each for a moment to the others if they have fewer."""

    def __init__(
        self, listener: socket.socket, make_protocol: Callable[[], Any], counts: ConnectionCounts, worker: int
    ) -> None:
        self._listener, self._make_protocol = listener, make_protocol
        self._counts, self._worker = counts, worker
        self._loop = asyncio.get_running_loop()
        self._starting: set[asyncio.Task[Any]] = set()
        self._connections = 0
        self._is_closed = False

    def start(self) -> None:
        """Wait for connections."""
        self._listener.setblocking(False)
        self._wait()

    def close(self) -> None:
        """Accept no more. The socket stays open."""
        self._is_closed = True
        self._loop.remove_reader(self._listener)

    def update(self, connections: int) -> None:
        """Tell the others how many connections are open now."""
        self._connections = connections
        self._counts.set(self._worker, connections)

    def _wait(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listener, self._offered)

    def _offered(self) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(0.0 if self._counts.has_fewest(self._worker) else YIELD_SECONDS, self._accept)

    def _accept(self) -> None:
        if self._is_closed:
            return
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another process has it, or it is gone
            self._wait()
            return
        except OSError:
            self._loop.call_later(RETRY_SECONDS, self._wait)
            return
        connection.setblocking(False)
        self.update(self._connections + 1)
        task = self._loop.create_task(self._loop.connect_accepted_socket(self._make_protocol, connection))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        self._wait()
