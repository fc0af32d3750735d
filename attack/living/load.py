"""Clients of the living site: one sends changes, some search all the time, one looks for changes until a search finds
them."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from attack.living.site import Change, LivingSite

PAUSE_SECONDS = 0.2  # between an answer and a person's next query
RETRY_SECONDS = 0.1
MOST_PROBES, PROBE_EVERY = 50, 20  # of few changes, every one or every second is looked for
GIVE_UP_SECONDS = 600.0
TIMEOUT = 30.0


class Answer(NamedTuple):
    """The answer to a request; status 0 if there was none."""

    status: int
    data: Any = None


@dataclass(frozen=True)
class Client:
    """Sends requests to the server, each on a connection of its own, so that any process of it may answer."""

    port: int
    token: str

    def call(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """Send one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, {"authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            text = response.read()
            return Answer(response.status, json.loads(text).get("data") if response.status < 300 else text[:300])
        except (OSError, http.client.HTTPException, ValueError):
            return Answer(0)
        finally:
            connection.close()


class Failure(NamedTuple):
    """A request that failed: when it was sent, when it ended, and its status."""

    began: float
    ended: float
    status: int


@dataclass
class Searcher:
    """Searches until it is stopped."""

    client: Client
    queries: list[str]
    seed: int
    stopped: threading.Event
    seconds: list[float] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def run(self) -> None:
        """Send one query after another, with a pause between them."""
        chance = random.Random(self.seed)
        while not self.stopped.is_set():
            began = time.monotonic()
            answer = self.client.call("GET", f"/v1/search?q={quote(chance.choice(self.queries))}")
            ended = time.monotonic()
            if answer.status == 200:
                self.seconds.append(ended - began)
            else:
                self.failures.append(Failure(began, ended, answer.status))
            self.stopped.wait(PAUSE_SECONDS * 2 * chance.random())


class Probe(NamedTuple):
    """A post that a search should find: the word that only it has, its id, and when its change was acknowledged."""

    word: str
    id: int
    acknowledged: float


@dataclass
class Prober:
    """Searches for new posts until they are found, and measures the time since they were acknowledged."""

    client: Client
    stopped: threading.Event
    waiting: list[Probe] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Look for the oldest probes first."""
        while not self.stopped.is_set() or self.waiting:
            for probe in list(self.waiting)[:5]:
                self._look(probe)
            time.sleep(RETRY_SECONDS)

    def _look(self, probe: Probe) -> None:
        answer = self.client.call("GET", f"/v1/search?q={probe.word}&kind=questions&verbatim=true")
        now = time.monotonic()
        if answer.status == 200 and any(hit["id"] == probe.id for hit in answer.data["hits"]):
            self.seconds.append(now - probe.acknowledged)
            self.waiting.remove(probe)
        elif now - probe.acknowledged > GIVE_UP_SECONDS:
            self.lost.append(f"post {probe.id} was not found after {GIVE_UP_SECONDS:.0f} s")
            self.waiting.remove(probe)


@dataclass
class Changer:
    """Sends changes one after the other; one that gets no acknowledgement is sent again, as a program of a site
    does."""

    client: Client
    site: LivingSite
    number: int
    prober: Prober
    pause: float = 0.0
    sent: int = 0
    again: int = 0
    refused: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Send all changes."""
        every = max(1, min(PROBE_EVERY, self.number // MOST_PROBES))
        while self.sent < self.number:
            change = self.site.change(probe=self.sent % every == 0)
            acknowledged = self._send(change)
            if change.probe and change.put:
                self.prober.waiting.append(Probe(change.probe, change.put.id, acknowledged))
            self.sent += 1
            time.sleep(self.pause)

    def _send(self, change: Change) -> float:
        method = "DELETE" if change.put is None else "PUT"
        number = change.delete if change.put is None else change.put.id
        body = None if change.put is None else json.dumps(change.put.record()).encode()
        while True:
            began = time.monotonic()
            answer = self.client.call(method, f"/v1/posts/{number}", body)
            now = time.monotonic()
            if answer.status in (200, 202):
                self.seconds.append(now - began)
                return now
            if answer.status in (401, 403, 405, 413, 422):
                self.refused.append(f"{method} {number}: {answer}")
                return now
            if answer.status not in (429,):
                self.failures.append(Failure(began, now, answer.status))
            self.again += 1
            time.sleep(RETRY_SECONDS)
