"""The two processes beside a server that takes changes: one applies the change log, one merges segments."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.integrity import FileWatch
from porism.search.engine import Engine
from porism.store import open_content, open_store
from porism.store.applying import PASSING, LogApplier
from porism.store.maintenance import build_index
from porism.store.protocols import Store
from porism.store.state import State
from porism.web.http.supervisor import BEAT_SECONDS, Beats

NOTE = "# The square root of {number}\n\nWhy is $\\sqrt{{{number}}}+x^2=y^{number}$ irrational? See $a^2+b^2=c^2$.\n"
QUERY = "square root $\\sqrt{2}+x^2$"


def warm_up_segments() -> None:
    """Search a very small index of two segments, so that its loops are compiled and cached."""
    with TemporaryDirectory(prefix="porism-") as name:
        folder = Path(name)
        notes = folder / "notes"
        notes.mkdir()
        for number in (2, 3, 5):
            (notes / f"{number}.md").write_text(NOTE.format(number=number), "utf-8")
        made = build([open_source(notes, "")], folder / "collection", jobs=1)
        build_index(open_content(made), folder / "index")
        with open_store(folder / "index").writer() as writer:
            writer.put([RawPost(10**6, "question", None, "The square root of 7", NOTE.format(number=7), "html")])
            writer.commit()
        engine = Engine.open(folder / "index")
        engine.search(QUERY, k=1)
        engine.search(QUERY, k=1, kind="questions")
        engine.formulas("\\sqrt{x}", k=3)


LOG = logging.getLogger("porism.web")
LOOK_SECONDS = 0.1  # between two looks at the log
BATCH_SECONDS = 0.5  # between two commits, so that changes which come together are one commit
FIRST_DELAY, LARGEST_DELAY = 1.0, 30.0  # after an error
MERGER_NICENESS = 5
MANY_PARTS = 8  # of a store; more wait for a merge


def run_applier(beats: Beats, state: State) -> None:
    """Apply the change log as it grows."""
    _beat(beats, "applier")
    applier: LogApplier | None = None
    store = open_store(state.address)
    watch = _Watch(store)

    def step() -> float:
        nonlocal applier
        applier = applier or LogApplier(state)
        watch.check()
        if not applier.has_changes():
            return LOOK_SECONDS
        began = time.monotonic()
        if applied := applier.step():
            LOG.info("%s changes are committed in %.2f s", applied, time.monotonic() - began)
        parts = store.status().parts
        if applier.has_more and parts <= MANY_PARTS:
            return 0.0
        # The more parts wait to be merged, the fewer are added.
        return BATCH_SECONDS * max(1.0, parts / MANY_PARTS)

    _repeat(step, "the change log cannot be applied")


def run_merger(beats: Beats, state: State) -> None:
    """Merge segments when there are too many, and all of them when that is requested."""
    os.nice(MERGER_NICENESS)
    _beat(beats, "merger")
    with suppress(*PASSING):
        warm_up_segments()
    seen = -1
    store = open_store(state.address)
    watch = _Watch(store)

    def step() -> float:
        nonlocal seen
        watch.check()
        request = state.merge_request
        if request.exists():
            before = request.stat().st_mtime_ns
            store.maintain(everything=True)
            if request.stat().st_mtime_ns == before:
                request.unlink(missing_ok=True)
            LOG.info("all segments are merged")
        generation = store.status().generation
        if generation != seen:
            seen = generation
            store.maintain()
        return BATCH_SECONDS

    _repeat(step, "segments cannot be merged")


class _Watch:
    """Looks at the files of an index before they are read: damage must not be committed with a new checksum."""

    def __init__(self, store: Store) -> None:
        self._store, self._files, self._generation = store, FileWatch(store.files), -1

    def check(self) -> None:
        """Raise the first damage that is found, also in files of a newer commit."""
        generation = self._store.status().generation
        if generation != self._generation:
            self._files.restart()
            self._generation = generation
        self._files.check()


def _beat(beats: Beats, title: str) -> None:
    """Give signs of life from a thread: a commit or a merge may take longer than a serving process may be silent."""
    with suppress(OSError):  # the name that ps and top show; on Linux only
        Path("/proc/self/comm").write_text(f"porism-{title}")
    beats.ready(title)

    def work() -> None:
        while True:
            beats.beat()
            time.sleep(BEAT_SECONDS)

    threading.Thread(target=work, daemon=True).start()


def _repeat(step: Callable[[], float], problem: str) -> None:
    """Call a step for ever; it returns the seconds until the next. After errors it is tried more and more rarely."""
    delay = FIRST_DELAY
    while True:
        try:
            time.sleep(step())
            delay = FIRST_DELAY
        except PASSING as error:
            shown = error.message if isinstance(error, PorismError) else repr(error)
            LOG.error("%s: %s; next attempt in %g s", problem, shown, delay)
            time.sleep(delay)
            delay = min(2 * delay, LARGEST_DELAY)
