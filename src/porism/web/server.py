"""Running the application: bind, say where, serve until interrupted."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.search.generate import Endpoint
from porism.web.app import LOOPBACK, create_app


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, so that the address is known (and free) before anything is said."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
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
    engine.formulas("a^2+b^2", k=1)


def serve(
    index: str | Path,
    host: str,
    port: int,
    names: Sequence[str] = (),
    cors: Sequence[str] = (),
    seconds: float = 10.0,
    experiment: str | Path | None = None,
    assess_url: str = "",
    endpoint: tuple[str, str] | None = None,
) -> None:
    """Serve an index; words go to stderr, one line of log for each request. `endpoint` is the address of a model and its name."""
    engine = Engine.open(index)
    if endpoint is not None:
        engine.endpoint = Endpoint(*endpoint, key=os.environ.get("PORISM_ENDPOINT_KEY", ""), seconds=seconds * 0.8)
    listener = bind(host, port)
    warm(engine)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    app = create_app(
        engine,
        cors=cors,
        seconds=seconds,
        hosts=[*LOOPBACK, host, *names],
        assess_url=assess_url,
        experiment=Path(experiment) if experiment else None,
    )
    shown = f"[{host}]" if ":" in host else host
    print(
        f"Porism serves {engine.name} at http://{shown}:{listener.getsockname()[1]}/  (Ctrl-C to stop)",
        file=sys.stderr,
        flush=True,
    )
    # The request line of the longest allowed query must fit, so that a longer one gets our clear answer and not a bare 400.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        h11_max_incomplete_event_size=2**21,
        timeout_keep_alive=15,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listener])
