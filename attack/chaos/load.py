"""A mixed load: plain searches must be answered, right and soon, while others send hostile ones. The load is that of
`bench mixed_load`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bench._resources import memory
from bench.mixed_load import HOSTILE_SHARE, Segment, press, server

from attack.chaos.processes import hits
from attack.chaos.servers import QUERIES
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import small_index

PAUSE_SECONDS = 0.2  # between two searches whose answers are compared
MEGABYTES_OF_CACHES = 100


@contextmanager
def compared(address: str) -> Iterator[list[str]]:
    """Compare answers with those of the unloaded server meanwhile; yield the list of what was wrong."""
    expected = {query: hits(address, query) for query in QUERIES}
    wrong: list[str] = []
    ended = threading.Event()

    def compare() -> None:
        while not ended.is_set():
            for query in QUERIES:
                found = hits(address, query, 30)
                if found != expected[query]:
                    wrong.append(f"{'no' if found is None else 'a wrong'} answer to {query}")
                ended.wait(PAUSE_SECONDS)

    thread = threading.Thread(target=compare, daemon=True)
    thread.start()
    try:
        yield wrong
    finally:
        ended.set()
        thread.join()


def mixed_load(stage: Stage, record: Record) -> None:
    """Compare plain searches alone with the same beside hostile ones."""
    seconds = 600.0 if stage.long else min(30.0, max(3.0, stage.tries * 0.6))
    alone, beside = Segment(), Segment()
    with (
        server(small_index(stage.folder), stage.folder, "--workers", "2") as (process, address),
        compared(f"http://{address.host}:{address.port}") as wrong,
    ):
        press(address, Segment(), HOSTILE_SHARE, "warm", 2.0)
        press(address, alone, 0.0, "plain", seconds / 3)
        before = memory(process.pid)
        press(address, beside, HOSTILE_SHARE, "mixed", seconds)
        after = memory(process.pid)
    quick, slow = alone.percentile(0.99), beside.percentile(0.99)
    record.measure(max(beside.seconds))
    record.notes.append(
        f"p99 of plain searches {quick:.0f} ms alone, {slow:.0f} ms beside {HOSTILE_SHARE:.0%} hostile ones"
    )
    record.notes.append(f"memory {before:.0f} MB before, {after:.0f} MB after")
    with record.attempt("answers"):
        if wrong:
            raise Lost(wrong[0])
        if set(alone.statuses + beside.statuses) != {200}:
            raise Lost(f"plain queries got {dict(alone.statuses + beside.statuses)}")
        if beside.hostile[0] or beside.hostile[500]:
            raise Lost(f"hostile queries got {dict(beside.hostile)}")
    with record.attempt("latency"):
        if slow > max(2 * quick, 250):
            raise Lost(f"p99 {slow:.0f} ms, {quick:.0f} ms without hostile queries")
    with record.attempt("memory"):
        if after > before * 1.3 + MEGABYTES_OF_CACHES:
            raise Lost(f"{before:.0f} MB became {after:.0f} MB")


KINDS = (Kind("mixed load", "plain searches are answered right, p99 at most twice as long, memory flat", mixed_load),)
