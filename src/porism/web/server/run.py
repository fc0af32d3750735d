"""Run the search server: bind the address, print it, and serve from several processes until interrupted."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.search.generate import Endpoint
from porism.web.server.app import create_app
from porism.web.server.hosts import LOOPBACK
from porism.web.server.integrity import IntegrityCheck, is_small
from porism.web.server.workers import workers

BACKLOG = 1024  # connections that may wait to be accepted


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """The chat-completions address of a language model, and its name there."""

    url: str
    name: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process needs to know to serve an index."""

    index: str | Path
    names: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    seconds: float = 10.0
    experiment: str | Path | None = None
    assess_url: str = ""
    language_model: LanguageModel | None = None
    site: str = ""
    remote_images: bool = False


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
    except OSError as error:
        listener.close()
        raise PorismError(
            f"cannot listen: {error.strerror or error}",
            where=f"{host}:{port}",
            fix="choose another port with --port, or 0 for a free one",
        ) from None
    return listener


def warm_up(engine: Engine) -> None:
    """Compile loops and open files before the first request."""
    engine.search("square root $\\sqrt{x}$", k=1)
    engine.formulas("a^2+b^2", k=3)
    threading.Thread(target=warm_up_rest, args=(engine,), daemon=True).start()


def warm_up_rest(engine: Engine) -> None:
    """Compile the loops of rarer queries, in the background: wildcards, sub-formulas, operators, completion.

    In a fresh environment compiling them takes seconds, which the first reader to type a wildcard would wait for.
    """
    with contextlib.suppress(PorismError):
        engine.formulas("?x^2+?y^2=?z^2", k=3)
        engine.formulas("a+b", k=3, mode="subformula")
        engine.search("proof of ?a^2+?b^2", k=3, kind="questions", group=True)
        engine.search('"square root" tag:algebra sqare', k=3)
        engine.complete("squa", k=3)
        engine.ask("what is a square root")


def open_engine(settings: Settings) -> Engine:
    """Open the index as an engine that is ready to answer."""
    engine = Engine.open(settings.index, verify="all" if is_small(Path(settings.index)) else "quick")
    if settings.language_model is not None:
        key = os.environ.get("PORISM_ENDPOINT_KEY", "")
        model = settings.language_model
        engine.endpoint = Endpoint(model.url, model.name, key=key, seconds=settings.seconds * 0.8)
    warm_up(engine)
    return engine


def make_app(engine: Engine, settings: Settings) -> Starlette:
    """Create the application around an engine. A large index is verified in the background."""
    check = IntegrityCheck(None if is_small(Path(settings.index)) else Path(settings.index))
    check.start()
    return create_app(
        engine,
        cors=settings.cors,
        seconds=settings.seconds,
        hosts=[*LOOPBACK, *settings.names],
        assess_url=settings.assess_url,
        experiment=Path(settings.experiment) if settings.experiment else None,
        site=settings.site,
        remote_images=settings.remote_images,
        check=check,
    )


class FairServer(uvicorn.Server):
    """A server that accepts one connection at a time, so that a busy process leaves the next one to another."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then restore the length of the queue, which a backlog of one shortens."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)


def run(app: Starlette, listener: socket.socket) -> None:
    """Serve until interrupted, logging one line per request to stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    # The request line of the longest allowed query must fit, so that a longer one gets our error and not a bare 400.
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


def run_worker(settings: Settings, listener: socket.socket) -> None:
    """Serve in a worker process."""
    with contextlib.suppress(KeyboardInterrupt):
        run(make_app(open_engine(settings), settings), listener)


def serve(settings: Settings, host: str, port: int, processes: int = 1) -> None:
    """Serve an index on an address from several processes; print the address to stderr."""
    listener = bind(host, port)
    engine = open_engine(settings)
    app = make_app(engine, settings)
    shown = f"[{host}]" if ":" in host else host
    with workers(processes - 1, run_worker, settings, listener):
        print(
            f"Porism serves {engine.name} at http://{shown}:{listener.getsockname()[1]}/  (Ctrl-C to stop)",
            file=sys.stderr,
            flush=True,
        )
        run(app, listener)
