"""Readers and a writer of a collection in a cluster, while its nodes die: every answer is compared, every acknowledged
change is looked for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from porism.deadline import time_limit
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.store.opensearch.connection import Cluster

QUERY_SECONDS = 30.0
PAUSE = 0.05
MAPPING = {"settings": {"number_of_replicas": 1}, "mappings": {"properties": {"n": {"type": "long"}}}}


def answer(engine: Engine, query: str) -> list[int]:
    """Return the ids of the first ten answers."""
    return [hit.id for hit in engine.search(query, k=10).hits]


@dataclass
class Readers:
    """Threads that search, each answer compared with the expected one. `engine` is called for each query, so that
    readers may follow."""

    engine: Callable[[], Engine]
    expected: dict[str, list[int]]
    count: int = 8
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(self.count)
        ]

    def _run(self, number: int) -> None:
        queries = list(self.expected)
        while not self._stop.is_set():
            number = (number + 1) % len(queries)
            query = queries[number]
            began = time.monotonic()
            try:
                with time_limit(QUERY_SECONDS):
                    found = answer(self.engine(), query)
            except PorismError as error:
                self.failures.append(f"{query}: {error}")
            else:
                self.seconds.append(time.monotonic() - began)
                if found != self.expected[query]:
                    self.wrong.append(f"{query}: {found}, not {self.expected[query]}")
            time.sleep(PAUSE)

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(QUERY_SECONDS + 10)


@dataclass
class Writer:
    """Writes one document after another into an index with a copy, and notes which were acknowledged."""

    cluster: Cluster
    index: str
    written: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            document = json.dumps({"index": {"_id": str(number)}}) + "\n" + json.dumps({"n": number}) + "\n"
            try:
                self.cluster.bulk(self.index, [document.encode()])
                self.written.append(number)
            except PorismError as error:
                self.failures.append(str(error))
            time.sleep(PAUSE)

    def __enter__(self) -> Writer:
        self.cluster.request("DELETE", f"/{self.index}", params={"ignore_unavailable": "true"})
        self.cluster.request("PUT", f"/{self.index}", MAPPING, {"wait_for_active_shards": "all"})
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(120)

    def lost(self) -> list[int]:
        """Return the acknowledged documents that are not there."""
        ids = [str(number) for number in self.written]
        return [int(one["_id"]) for one in self.cluster.mget(self.index, ids) if not one["found"]]


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
