"""Requests to an OpenSearch cluster: complete answers within a time limit, or an error that says what to do.

Nodes fail, so every request may be sent twice: whoever changes something chooses names and ids beforehand. What fails
is repeated while there is time, on another host where there is one. Members of a batch are repeated one by one, since
OpenSearch reports their errors inside a good answer.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, SerializationError, SSLError, TransportError
from opensearchpy.serializer import JSONSerializer

from porism import deadline
from porism.errors import PorismError
from porism.store.opensearch.address import ClusterAddress, Credentials, check_transport
from porism.store.opensearch.problems import PASSING, PASSING_KINDS, NoAnswer, cause, explain
from porism.store.opensearch.transport import CBOR, LINES, open_transport

OLDEST = (3, 0)  # of OpenSearch
QUICK_SECONDS = 1.0  # a shorter time limit says nothing about the cluster
BLOCK_BYTES = 5_000_000
BLOCKS_IN_FLIGHT = 2
MANY_DOCUMENTS = 100
# A node reads its own copies of shards, where it has them, instead of asking another node. Hosts take turns.
NEAR = {"preference": "_local"}
THREADS = 8  # that read second halves


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is repeated. A node that accepts a connection and says nothing is left after `first` seconds,
    then after thrice as many."""

    seconds: float
    first: float
    rounds: float = 3  # how often every host may refuse a connection
    longest_pause: float = 1.0


READING = Patience(30.0, 3.0)
CHANGING = Patience(60.0, 60.0)
LOADING = Patience(900.0, 120.0, rounds=math.inf, longest_pause=5.0)
FIRST_PAUSE = 0.05
ALL_PARTS = ("_index", "_id", "_seq_no", "_primary_term")


class Request(NamedTuple):
    """What is sent. A body of bytes is sent as it is."""

    method: str
    path: str
    body: object = None
    params: Mapping[str, str] | None = None
    kind: str = "application/json"


class Cluster:
    """The connection to a cluster. Threads share it; a process that was forked makes its own connections."""

    def __init__(self, address: ClusterAddress) -> None:
        check_transport(address)
        self.address = address
        self._credentials = Credentials.from_environment()
        self._user = self._credentials.user if self._credentials else ""
        self._transport = open_transport(address, self._credentials)
        self._process = os.getpid()
        self._executor = ThreadPoolExecutor(THREADS, "cluster")
        self._answered = 0.0  # when a node answered last, by time.monotonic()
        self.version: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"Cluster({str(self.address)!r})"

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Send a request and return the answer. Without `seconds`: one of reading has 30, one of changing has 60."""
        patience = READING if method in ("GET", "HEAD") else CHANGING
        return self._repeat(lambda: Request(method, path, body, params), _whatever, patience, seconds)

    def refresh(self, indexes: Sequence[str]) -> None:
        """Make what was written visible to searches, on every copy of every shard; a copy that misses it is asked
        again."""
        path = f"/{','.join(indexes)}/_refresh"
        self._repeat(lambda: Request("POST", path), _whole_search, CHANGING, None)

    def search(self, index: str, body: Mapping[str, Any], seconds: float | None = None, only: str = "hits") -> Any:
        """Search, and return an answer of all shards; `only` names the parts of it that are needed, separated by
        commas."""
        params = {"allow_partial_search_results": "false", "filter_path": f"timed_out,_shards,{only}"}
        # A search of a point in time names no index in its path.
        path = f"/{index}/_search" if index else "/_search"
        return self._repeat(lambda: Request("POST", path, body, params), _whole_search, READING, seconds)

    def msearch(
        self, searches: Sequence[tuple[str, Mapping[str, Any]]], seconds: float | None = None, only: str = "hits"
    ) -> list[Any]:
        """Send several searches, each with its index, at once; return the answers, each from all shards. `only` as in
        `search`."""
        parts = ("status", "error", "timed_out", "_shards", *only.split(","))
        params = {"filter_path": ",".join(f"responses.{part}" for part in parts)}
        lines = [
            _line({"index": index, "allow_partial_search_results": False, **NEAR}) + _line(body)
            for index, body in searches
        ]

        def request(pending: Sequence[int]) -> Request:
            return Request("POST", "/_msearch", b"".join(lines[at] for at in pending), params, LINES)

        return self._batch(len(lines), request, lambda answer: answer["responses"], _search_problem, READING, seconds)

    def mget(
        self,
        index: str,
        ids: Sequence[str],
        stored: Sequence[str] = (),
        seconds: float | None = None,
        parts: Sequence[str] = ALL_PARTS,
    ) -> list[Any]:
        """Return documents by their ids, with these stored fields or else their source; `parts` names what else of them
        is needed. A missing one has no `found`. Many are read in two requests at once, since a shard reads those of one
        request one after another."""
        params = {"filter_path": ",".join(f"docs.{part}" for part in ("found", "error", "fields", "_source", *parts))}
        params |= NEAR
        if stored:
            params["stored_fields"] = ",".join(stored)

        def read(own: Sequence[str]) -> list[Any]:
            def request(pending: Sequence[int]) -> Request:
                return Request("POST", f"/{index}/_mget", {"ids": [own[at] for at in pending]}, params)

            return self._batch(len(own), request, lambda answer: answer["docs"], _get_problem, READING, seconds)

        if len(ids) < MANY_DOCUMENTS:
            return read(ids)
        half = len(ids) // 2
        first, second = deadline.shared(self._threads(), read, (ids[:half], ids[half:]))
        return first + second

    def bulk(self, index: str, lines: Iterable[bytes], advance: Callable[[int], object] = lambda number: None) -> None:
        """Send operations, each with its action line and the line of its document, in blocks of 5 MB, two at a time.

        Blocks are not ordered, and a block may be sent again: each id occurs once, and "index" and "delete" are the
        actions to use. The cluster's back-pressure makes this slower. `advance` gets the number of operations that are
        done since its last call.
        """

        def send_block(block: Sequence[bytes]) -> int:
            return self._send_block(index, block)

        with ThreadPoolExecutor(BLOCKS_IN_FLIGHT, "bulk") as executor:
            send = deadline.in_threads(send_block)
            waiting: set[Future[int]] = set()
            try:
                for block in _blocks(lines):
                    waiting.add(executor.submit(send, block))
                    if len(waiting) > BLOCKS_IN_FLIGHT:
                        waiting = _collect(waiting, advance)
                while waiting:
                    waiting = _collect(waiting, advance)
            finally:
                for future in waiting:
                    future.cancel()

    def _send_block(self, index: str, block: Sequence[bytes]) -> int:
        params = {"filter_path": "items.*._id,items.*.status,items.*.error"}

        def request(pending: Sequence[int]) -> Request:
            return Request("POST", f"/{index}/_bulk", b"".join(block[at] for at in pending), params, LINES)

        self._batch(len(block), request, lambda answer: answer["items"], _item_problem, LOADING, None)
        return len(block)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    # ---------- repetition ----------

    def _batch(
        self,
        count: int,
        request: Callable[[Sequence[int]], Request],
        members: Callable[[Any], Sequence[Any]],
        problem: Callable[[Any], TransportError | None],
        patience: Patience,
        seconds: float | None,
    ) -> list[Any]:
        """Send a batch, and again those members that failed, until all are answered. `problem` finds what is wrong with
        the answer of a member."""
        answers: list[Any] = [None] * count
        pending = list(range(count))

        def take(answer: Any) -> None:
            failed: dict[int, TransportError] = {}
            for at, member in zip(pending, members(answer), strict=True):
                if (error := problem(member)) is None:
                    answers[at] = member
                else:
                    failed[at] = error
            pending[:] = failed
            if failed:
                raise next((error for error in failed.values() if not _passes(error)), failed[pending[0]])

        if count:
            self._repeat(lambda: request(pending), take, patience, seconds)
        return answers

    def _repeat(
        self,
        request: Callable[[], Request],
        check: Callable[[Any], object],
        patience: Patience,
        seconds: float | None,
    ) -> Any:
        """Send a request until `check` takes the answer; it raises a TransportError for one that is not complete."""
        deadline.check()
        began = time.monotonic()
        limit = min(patience.seconds if seconds is None else seconds, deadline.remaining())
        refused, pause, attempt = 0, FIRST_PAUSE, patience.first
        while True:
            left = began + limit - time.monotonic()
            try:
                if left <= 0:
                    raise deadline.TimeLimitExceeded
                if not self.version:
                    self._find_version(min(left, attempt))
                answer = self._send(request(), min(left, attempt))
                check(answer)
                return answer
            except SSLError as error:
                raise explain(error, self.address, self._user) from None
            except ConnectionTimeout as error:
                attempt *= 3
                failed: TransportError = error
            except NoConnection as error:
                refused += 1
                failed = error
                if refused >= patience.rounds * len(self.address.hosts):
                    raise explain(error, self.address, self._user) from None
            except TransportError as error:
                failed = error
                if not _passes(error):
                    raise explain(error, self.address, self._user, request().path) from None
            if began + limit - time.monotonic() <= pause:
                raise self._out_of_time(failed, began, limit) from None
            if not isinstance(failed, NoConnection) or (refused and refused % len(self.address.hosts) == 0):
                time.sleep(pause)
                pause = min(2 * pause, patience.longest_pause)

    def _out_of_time(self, error: TransportError, began: float, limit: float) -> PorismError:
        """Return why a request has failed when its time is over."""
        if not isinstance(error, ConnectionTimeout):
            return explain(error, self.address, self._user)
        # If the nodes answer others, this query takes too long for them; nobody answers at once.
        is_slow = self._answered > began or limit < QUICK_SECONDS
        return deadline.TimeLimitExceeded() if is_slow else NoAnswer(self.address, limit)

    def _threads(self) -> ThreadPoolExecutor:
        """Return the threads of this process: a fork has none of its parent's."""
        self._follow_fork()
        return self._executor

    def _follow_fork(self) -> None:
        if self._process != os.getpid():
            self._transport, self._process = open_transport(self.address, self._credentials), os.getpid()
            self._executor = ThreadPoolExecutor(THREADS, "cluster")

    def _send(self, request: Request, seconds: float) -> Any:
        self._follow_fork()
        try:
            answer = self._transport.perform_request(
                request.method,
                request.path,
                params=dict(request.params or {}),
                body=request.body,
                timeout=seconds,
                headers={"accept": CBOR, "content-type": request.kind},
            )
        except SerializationError as error:
            raise NoConnection("N/A", "no answer of OpenSearch", error) from error
        except NoConnection:
            raise
        except TransportError:
            self._answered = time.monotonic()
            raise
        self._answered = time.monotonic()
        return answer

    def _find_version(self, seconds: float) -> None:
        """Ask once what the cluster is."""
        answer = self._send(Request("GET", "/"), seconds)
        found = answer.get("version", {}) if isinstance(answer, dict) else {}
        number = str(found.get("number", ""))
        version = tuple(int(part) for part in number.split("-")[0].split(".") if part.isdecimal())
        needed = ".".join(map(str, OLDEST))
        if found.get("distribution") != "opensearch":
            fact = "is not an OpenSearch cluster"
        elif version < OLDEST:
            fact = f"runs OpenSearch {number}, which is too old"
        else:
            self.version = version
            return
        fix = f"use OpenSearch {needed} or newer, or correct the address"
        raise PorismError(fact, where=str(self.address), fix=fix)


def _passes(error: TransportError) -> bool:
    """Return whether a request may succeed later. A write block on full disks has the status of back-pressure, and
    stays; a search whose node ends on the way has the status of a failure, and may pass."""
    kind = cause(error.info)[0]
    if error.status_code == 429 and "cluster_block" in kind:
        return False
    if error.status_code == 500 and "search_phase_execution" in kind:
        return True
    return error.status_code in PASSING or PASSING_KINDS.search(kind) is not None


def _whatever(answer: Any) -> None:
    """Take any answer."""


def _whole_search(answer: Any) -> None:
    """Refuse an answer that lacks shards."""
    if (error := _search_problem(answer)) is not None:
        raise error


def _search_problem(answer: Any) -> TransportError | None:
    if "error" in answer:
        return TransportError(int(answer.get("status", 500)), "", answer)
    shards = answer.get("_shards") or {}
    if not answer.get("timed_out") and not shards.get("failed"):
        return None
    reason = next((failure.get("reason") or {} for failure in shards.get("failures") or ()), {})
    error = {"type": "search_phase_execution_exception", "reason": reason.get("reason", "a shard gave no answer")}
    return TransportError(503, "", {"error": error})


def _get_problem(answer: Any) -> TransportError | None:
    if "error" not in answer:
        return None
    missing = "not_found" in str(answer["error"].get("type"))
    return TransportError(404 if missing else 503, "", answer)


def _item_problem(answer: Any) -> TransportError | None:
    action, item = next(iter(answer.items()))
    status = int(item["status"])
    # What was deleted before is deleted: the block was sent again.
    if status < 300 or (action == "delete" and status == 404 and "error" not in item):
        return None
    return TransportError(status, "", item)


def _line(value: object) -> bytes:
    text: str = JSONSerializer().dumps(value)
    return text.encode() + b"\n"


def _blocks(lines: Iterable[bytes]) -> Iterable[list[bytes]]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _collect(waiting: set[Future[int]], advance: Callable[[int], object]) -> set[Future[int]]:
    """Wait for a block, report what is done and return the blocks that are not."""
    done, rest = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        advance(future.result())
    return set(rest)
