"""Serve an application from several processes under a supervisor: the socket, the server of a worker, the start."""

from __future__ import annotations

import asyncio
import mmap
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette

from porism.doctor.environment import interpreter
from porism.errors import PorismError
from porism.web.http.connections import ConnectionLimits, LimitedProtocol, allow_files, check_connections
from porism.web.http.middleware import LOG, MAX_TARGET, MOST_HEADER_BYTES, LogFormat, configure_logging
from porism.web.http.supervisor import FROZEN_SECONDS, STOP_SECONDS, Beats, Job, Supervisor

YIELD_SECONDS = 0.005  # for which a connection is left to a process that has fewer
RETRY_SECONDS = 0.5  # after an error of the system, as too many open files
WIDTH = 4  # bytes of a number


def connection_counts(processes: int) -> memoryview[int]:
    """Return how many connections each process has, in memory that all share. Call it before the processes start."""
    return memoryview(mmap.mmap(-1, WIDTH * max(processes, 1))).cast("I")


class Acceptor:
    """Accepts the connections of one process, one at a time; leaves each for a moment to processes with fewer."""

    def __init__(
        self, listener: socket.socket, make_protocol: Callable[[], Any], counts: memoryview[int], worker: int
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
        self._counts[self._worker] = connections

    def _wait(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listener, self._offered)

    def _offered(self) -> None:
        self._loop.remove_reader(self._listener)
        has_fewest = self._counts[self._worker] <= min(self._counts)
        self._loop.call_later(0.0 if has_fewest else YIELD_SECONDS, self._accept)

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


Listeners = tuple[socket.socket, ...]
BACKLOG = 1024  # connections that may wait to be accepted
SWITCH_SECONDS = 0.001  # after which another thread may run: a short query does not wait long for a long one
TICKS = 5  # between two looks at the connections; uvicorn ticks ten times a second


class Service(NamedTuple):
    """An opened application. While it is not `well`, it gives no sign of life, so that its process is replaced.
    `on_start` is called in its process with the number of the worker, `on_beat` about twice a second, `on_stop` after
    the last request."""

    app: Starlette
    title: str = ""
    is_well: Callable[[], bool] = lambda: True
    on_start: Callable[[int], None] = lambda worker: None
    on_beat: Callable[[], None] = lambda: None
    on_stop: Callable[[], None] = lambda: None


class ServerSettings(NamedTuple):
    """How processes serve. With `trust_proxy`, a proxy on this machine reports the address of a client."""

    processes: int = 1
    connections: ConnectionLimits = ConnectionLimits()
    frozen_seconds: float = FROZEN_SECONDS
    stop_seconds: float = STOP_SECONDS
    trust_proxy: bool = False
    log_format: LogFormat = "text"


DEFAULTS = ServerSettings()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket, so that the address is known and free before it is printed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit this. A response is sent in two parts, and the second would wait 40 ms for the first's ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        fact = f"cannot listen: {getattr(error, 'strerror', None) or error}"
        fix = "choose another port with --port, or 0 for a free one"
        raise PorismError(fact, where=f"{host}:{port}", fix=fix) from None
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """Return the address of a listening socket for people."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}/"


class WorkerServer(uvicorn.Server):
    """The server of a worker process. It takes as many connections as the other processes. It tells the supervisor that
    it is alive, and closes connections that take too long."""

    def __init__(
        self, config: uvicorn.Config, service: Service, beats: Beats, listeners: Listeners, counts: memoryview[int]
    ) -> None:
        super().__init__(config)
        self._service, self._beats, self._listeners, self._counts = service, beats, listeners, counts
        self._acceptors: list[Acceptor] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, without sockets of uvicorn: acceptors take the connections."""
        await super().startup([])
        for listener in self._listeners:
            acceptor = Acceptor(listener, self._protocol, self._counts, self._beats.worker)
            acceptor.update(0)
            acceptor.start()
            self._acceptors.append(acceptor)
        self._beats.ready(self._service.title)

    def _protocol(self) -> asyncio.Protocol:
        create: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = create(self.config, self.server_state, self.lifespan.state)
        return protocol

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish, then stop the service."""
        for acceptor in self._acceptors:
            acceptor.close()
        await super().shutdown(list(self._listeners))
        self._service.on_stop()

    async def on_tick(self, counter: int) -> bool:
        """Give a sign of life, and look after connections. No thread does so: if this loop hangs, nothing answers."""
        if self._service.is_well():
            self._beats.beat()
        for acceptor in self._acceptors:
            acceptor.update(len(self.server_state.connections))
        if counter % TICKS == 0:
            check_connections(self.server_state.connections)
            self._service.on_beat()
        return await super().on_tick(counter)


def run_worker(
    beats: Beats,
    open_service: Callable[[], Service],
    listeners: Listeners,
    settings: ServerSettings,
    counts: memoryview[int],
) -> None:
    """Open the service and serve it in a worker process, logging one line per request to stderr."""
    sys.setswitchinterval(SWITCH_SECONDS)
    service = open_service()
    service.on_start(beats.worker)
    limits = settings.connections.within_files()
    config = uvicorn.Config(
        service.app,
        log_config=None,  # its lines go where ours go
        log_level="warning",
        access_log=False,
        http=type("LimitedProtocol", (LimitedProtocol,), {"limits": limits}),
        ws="none",
        # The request line of the longest allowed query must fit, so that a longer one gets our error and not a bare
        # 400.
        h11_max_incomplete_event_size=MAX_TARGET + MOST_HEADER_BYTES,
        timeout_keep_alive=max(1, round(limits.idle_seconds)),
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
        server_header=False,
        proxy_headers=settings.trust_proxy,
        forwarded_allow_ips="127.0.0.1",
    )
    WorkerServer(config, service, beats, listeners, counts).run(sockets=[])


def warn_of_vulnerabilities() -> None:
    """Name the published weaknesses of the interpreter that is about to serve, and the remedy."""
    for finding in interpreter():
        if finding.fix:
            LOG.warning("%s %s; %s", finding.subject, finding.fact, finding.fix)


def supervise(
    open_service: Callable[[], Service],
    listeners: Listeners,
    announce: Callable[[str], None],
    settings: ServerSettings = DEFAULTS,
    on_replace: Callable[[], None] = lambda: None,
    beside: tuple[Job, ...] = (),
) -> None:
    """Serve what `open_service` opens in each process, on sockets, until SIGTERM or Ctrl-C. `announce` receives the
    title when the first process serves; `on_replace` is called whenever a serving process is replaced. `beside` are
    jobs that run in a process each."""
    configure_logging(settings.log_format)
    warn_of_vulnerabilities()
    allow_files()

    def close() -> None:
        for listener in listeners:
            listener.close()

    counts = connection_counts(settings.processes)
    supervisor = Supervisor(
        settings.processes,
        lambda beats: run_worker(beats, open_service, listeners, settings, counts),
        on_ready=announce,
        on_stop=close,
        on_replace=on_replace,
        frozen_seconds=settings.frozen_seconds,
        stop_seconds=settings.stop_seconds,
        beside=beside,
    )
    if supervisor.run() == signal.SIGINT:
        raise KeyboardInterrupt
