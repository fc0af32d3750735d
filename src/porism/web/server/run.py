"""Run the search server: bind the address, open the index in several processes, print the address, serve."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import threading
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette

from porism.compiled import load_numba
from porism.errors import PorismError
from porism.parallel import cores
from porism.search.analytics import AnalyticsStore
from porism.search.engine import Engine
from porism.search.generation.endpoint import Endpoint
from porism.web.api.changes import WriteAccess, WriteSettings
from porism.web.http.connections import ConnectionLimits
from porism.web.http.middleware import LOOPBACK, LogFormat, log_address
from porism.web.http.supervisor import Job
from porism.web.http.workers import ServerSettings, Service, address_of, bind, supervise
from porism.web.server.app import DEFAULT_SITE, create_app
from porism.web.server.metrics import SharedCounters
from porism.web.server.observer import ANALYTICS_ROUTES, NOTHING, Observer, Operations, Recorder, observe
from porism.web.server.served_index import (
    IntegrityCheck,
    SharedVerification,
    follow_index,
    is_small,
    open_files,
    switch_to_newest,
)
from porism.web.site.settings import SiteSettings

MOST_WORKERS = 4
OPERATOR_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process needs to know to serve an index."""

    index: str | Path
    site: SiteSettings = DEFAULT_SITE
    operations: Operations = NOTHING
    writing: WriteSettings | None = None

    @property
    def hosts(self) -> list[str]:
        """Return the names under which the server answers."""
        server, public = self.site.server, urlsplit(self.site.site.base_url).hostname
        return [*LOOPBACK, server.host, *server.names, *([public] if public else [])]


def warm_up_rest(engine: Engine) -> None:
    """Compile the loops of rarer queries, in the background: questions by words, wildcards, sub-formulas, operators,
    completion. In a fresh environment compiling them takes seconds, which the first reader to type a wildcard would
    wait for."""
    with contextlib.suppress(PorismError):
        engine.search("square root", k=3, kind="questions")
        engine.formulas("?x^2+?y^2=?z^2", k=3)
        engine.formulas("a+b", k=3, mode="subformula")
        engine.search("proof of ?a^2+?b^2", k=3, kind="questions", group=True)
        engine.search('"square root" tag:algebra sqare', k=3)
        engine.complete("squa", k=3)
        engine.ask("what is a square root", generate=False)


def open_engine(settings: Settings) -> Engine:
    """Open the index as an engine that is ready to answer."""
    engine = Engine.open(settings.index, verify="all" if is_small(settings.index) else "quick")
    model = settings.site.endpoint
    if model.url:
        key = os.environ.get("PORISM_ENDPOINT_KEY", "")
        engine.endpoint = Endpoint(model.url, model.model, key=key, seconds=model.seconds)
    open_files(engine)
    threading.Thread(target=warm_up_rest, args=(engine,), daemon=True).start()
    return engine


def make_app(engine: Engine, settings: Settings, verification: SharedVerification | None = None) -> Starlette:
    """Create the application around an engine. A large index is verified in the background, by one process for all."""
    check = IntegrityCheck(None if is_small(settings.index) else Path(settings.index), verification)
    check.start()
    writing = WriteAccess(settings.writing) if settings.writing else None
    app = create_app(engine, settings.site, hosts=settings.hosts, check=check, writing=writing)
    if writing:
        switch_to_newest(app)
    threading.Thread(target=follow_index, args=(app,), daemon=True).start()
    return app


def collect_rarely() -> None:
    """Collect garbage rarely, and nothing of what is open now: a full collection stopped a worker for 0.1 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def open_service(settings: Settings, shared: SharedCounters, verification: SharedVerification | None = None) -> Service:
    """Open an index in a worker process, which counts in `shared`."""
    engine = open_engine(settings)
    app = make_app(engine, settings, verification)
    collect_rarely()
    operated = OperatedApp(app, settings.operations, shared)
    is_well = lambda: not app.state.slots.is_stuck()  # noqa: E731
    return Service(app, engine.name, is_well, operated.start, operated.observer.update, operated.stop)


class OperatedApp:
    """An application with what its operator switched on. The methods are called in its worker process."""

    def __init__(self, app: Starlette, settings: Operations, shared: SharedCounters) -> None:
        app.state.operations = settings
        self.recorder: Recorder | None = None
        if settings.analytics is not None:
            AnalyticsStore(settings.analytics, settings.minimum_count).close()  # report a wrong file now
            self.recorder = app.state.recorder = Recorder(settings.analytics, settings.minimum_count)
            app.router.routes.extend(ANALYTICS_ROUTES)
        self.observer: Observer = observe(app, settings, shared)

    def start(self, worker: int) -> None:
        """Start in the process of a worker."""
        self.observer.counters.claim(worker)
        if self.recorder is not None:
            self.recorder.start()

    def stop(self) -> None:
        """Write what is not written yet."""
        if self.recorder is not None:
            self.recorder.flush()


def server_settings(site: SiteSettings) -> ServerSettings:
    """Return how the processes of a site serve."""
    limits = site.limits
    log_format: LogFormat = "json" if site.server.log_format == "json" else "text"
    connections = ConnectionLimits(idle_seconds=limits.idle_seconds, connections=limits.connections)
    processes = site.server.workers or min(MOST_WORKERS, cores())
    return ServerSettings(processes, connections, limits.frozen_seconds, limits.stop_seconds, log_format=log_format)


def operator_listener(operations: Operations, site_port: int) -> socket.socket:
    """Return the socket for the operator's pages, on this machine only: the chosen or the next port."""
    port = operations.port if operations.port is not None else site_port and site_port + 1
    try:
        return bind(OPERATOR_HOST, port)
    except PorismError as error:
        fix = "choose another port for the pages of the operator with --operator-port, or 0 for a free one"
        raise PorismError(error.message, where=error.where, fix=fix) from None


def serve(settings: Settings) -> None:
    """Serve an index on its address from several processes; print the address to stderr."""
    host, port, server = settings.site.server.host, settings.site.server.port, server_settings(settings.site)
    load_numba()  # the workers are forked from this process, so that they need not import it
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(bind(host, port))]
        address, own = address_of(listeners[0], host), ""
        if settings.operations.has_own_port:
            listeners.append(stack.enter_context(operator_listener(settings.operations, port)))
            own = address_of(listeners[1], OPERATOR_HOST)
            chosen = replace(settings.operations, port=listeners[1].getsockname()[1])
            settings = replace(settings, operations=chosen)

        def announce(name: str) -> None:
            line = f"Porism serves {name} at {address}  (Ctrl-C to stop)"
            log_address(line, address, server.log_format)
            if own:
                log_address(
                    f"Pages of the operator, for this machine only, at {own}", own, server.log_format, "operator"
                )

        shared, verification = SharedCounters(server.processes), SharedVerification()

        def replaced() -> None:
            verification.forget()  # it may have died of a damaged file
            shared.count_restart()

        jobs: tuple[Job, ...] = ()
        if settings.writing:
            from porism.web.server.write_processes import run_applier, run_merger

            work = {"applier": run_applier, "merger": run_merger}
            jobs = tuple(Job(name, partial(job, state=settings.writing.state)) for name, job in work.items())
        opening = partial(open_service, settings, shared, verification)
        supervise(opening, tuple(listeners), announce, server, replaced, jobs)
