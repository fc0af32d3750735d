"""Follow an index while it is served: switch to its newest commit, and notice files that another program changes."""

from __future__ import annotations

import logging
import time

from starlette.applications import Starlette

from porism.errors import PorismError, StoreUnavailable
from porism.search.engine import Engine
from porism.web.server.integrity import FileWatch
from porism.web.writing.access import WriteAccess

SETTLE_LOOKS = 20  # after which all nodes of a cluster know of a change
FOLLOW_SECONDS = 0.25  # between two looks for a newer commit of the index, and at the sizes and times of its files


def open_files(engine: Engine) -> None:
    """Open the files and compile the loops that most requests need: words, formulas, and the highlights of a page."""
    engine.search("square root $\\sqrt{x}$", k=1)
    engine.search("proof of $a^2+b^2=c^2$", k=10)
    engine.formulas("a^2+b^2", k=3)


def follow_index(app: Starlette) -> None:
    """Look after the index for as long as it is served."""
    seen, looks = None, 0
    store = app.state.engine.store
    watch = FileWatch(store)
    while True:
        time.sleep(FOLLOW_SECONDS)
        try:
            version = store.version()
            if seen != version:
                looks += 1
                # A node of a cluster may know of a change that the next one does not know of yet.
                if switch_to_newest(app) or looks > SETTLE_LOOKS:
                    seen, looks = version, 0
                watch.restart()
            app.state.integrity.is_away = False
        except StoreUnavailable as error:
            if not app.state.integrity.is_away:
                logging.error("not ready: %s", " ".join(str(error).split()))
            app.state.integrity.is_away = True
        except (PorismError, OSError) as error:
            logging.warning("a newer commit of the index cannot be opened: %s", error)
        app.state.integrity.changed = watch.damages()


def switch_to_newest(app: Starlette) -> bool:
    """Serve the newest commit of the index from now on, and report its position in the change log. Return whether it is
    another one.

    Requests that are under way finish on the engine they have. The last of them frees it: an engine has no cycles of
    references, so that its files are closed at once, without the garbage collector.
    """
    writing: WriteAccess | None = app.state.writing
    position = writing.position() if writing else None  # before the refresh, which may find a newer commit
    fresh = app.state.engine.refresh()
    is_new = fresh is not app.state.engine
    if is_new:
        open_files(fresh)
        app.state.engine, app.state.cache = fresh, app.state.cache.cleared()
        logging.info("the index has changed: a newer commit is served")
    if writing and position:
        writing.served.set(position.sequence)
    return is_new
