"""Add what the operator switches on to an application: metrics, the log of slow queries, search analytics."""

from __future__ import annotations

from starlette.applications import Starlette

from porism.search.analytics.store import AnalyticsStore
from porism.web.operations.counters import SharedCounters
from porism.web.operations.observer import Observer, observe
from porism.web.operations.recorder import Recorder
from porism.web.operations.settings import Operations
from porism.web.pages import analytics


class OperatedApp:
    """An application with what its operator switched on. The methods are called in its worker process."""

    def __init__(self, app: Starlette, settings: Operations, shared: SharedCounters) -> None:
        app.state.operations = settings
        self.recorder: Recorder | None = None
        if settings.analytics is not None:
            AnalyticsStore(settings.analytics, settings.minimum_count).close()  # report a wrong file now
            self.recorder = app.state.recorder = Recorder(settings.analytics, settings.minimum_count)
            app.router.routes.extend(analytics.routes())
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
