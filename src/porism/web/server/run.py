"""Running the application: bind, say where, serve until interrupted, with as many processes as were asked for."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.search.generate import Endpoint
from porism.web.server.app import LOOPBACK, create_app
from porism.web.server.workers import workers

QUEUE = 1024  # connections that wait to be taken


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process needs to know to serve an index. `endpoint` is the address of a model and its name."""

    index: str | Path
    names: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    seconds: float = 10.0
    experiment: str | Path | None = None
    assess_url: str = ""
    endpoint: tuple[str, str] | None = None


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, so that the address is known (and free) before anything is said."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections take this over. An answer goes out in two pieces, and the second would wait 40 ms until the first is confirmed.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
        listener.listen(QUEUE)
    except OSError as error:
        listener.close()
        raise PorismError(
            f"cannot listen: {error.strerror or error}",
            where=f"{host}:{port}",
            fix="choose another with --port, or 0 for a free one",
        ) from None
    return listener


def warm(engine: Engine) -> None:
    """Compiled loops and open files are ready before the first visitor comes."""
    engine.search("square root $\\sqrt{x}$", k=1)
    engine.formulas("a^2+b^2", k=3)


def open_app(settings: Settings) -> tuple[Starlette, str]:
    """The application, ready to answer, and the name of its collection."""
    engine = Engine.open(settings.index)
    if settings.endpoint is not None:
        key = os.environ.get("PORISM_ENDPOINT_KEY", "")
        engine.endpoint = Endpoint(*settings.endpoint, key=key, seconds=settings.seconds * 0.8)
    warm(engine)
    app = create_app(
        engine,
        cors=settings.cors,
        seconds=settings.seconds,
        hosts=[*LOOPBACK, *settings.names],
        assess_url=settings.assess_url,
        experiment=Path(settings.experiment) if settings.experiment else None,
    )
    return app, engine.name


class FairServer(uvicorn.Server):
    """Takes one connection at a time, so that a process at work leaves the next one to another."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then let connections wait again: a server that takes one at a time also lets only one wait."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


def run(app: Starlette, listener: socket.socket) -> None:
    """Serve until interrupted; one line of log for each request on stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    # The request line of the longest allowed query must fit, so that a longer one gets our clear answer and not a bare 400.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        backlog=1,
        h11_max_incomplete_event_size=2**21,
        timeout_keep_alive=15,
        server_header=False,
    )
    FairServer(config).run(sockets=[listener])


def help_out(settings: Settings, listener: socket.socket) -> None:
    """What every process but the first does."""
    with contextlib.suppress(KeyboardInterrupt):
        run(open_app(settings)[0], listener)


def serve(settings: Settings, host: str, port: int, processes: int = 1) -> None:
    """Serve an index on an address; words go to stderr."""
    listener = bind(host, port)
    app, name = open_app(settings)
    shown = f"[{host}]" if ":" in host else host
    with workers(processes - 1, help_out, settings, listener):
        print(
            f"Porism serves {name} at http://{shown}:{listener.getsockname()[1]}/  (Ctrl-C to stop)",
            file=sys.stderr,
            flush=True,
        )
        run(app, listener)
