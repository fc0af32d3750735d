"""How requests reach the nodes: opensearch-py with CBOR, whose answers are bytes, and with certificates, passwords and
short-lived mistrust of a host."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import cbor2
import numpy as np
import numpy.typing as npt
from opensearchpy.connection import Urllib3HttpConnection
from opensearchpy.exceptions import HTTP_EXCEPTIONS, ConnectionTimeout, SerializationError, SSLError, TransportError
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.serializer import JSONSerializer, Serializer
from opensearchpy.transport import Transport
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.exceptions import SSLError as BrokenTls
from urllib3.util import Timeout

from porism.compiled import compiled
from porism.store.opensearch.address import ClusterAddress, Credentials, tls_context

CONNECT_SECONDS = 2.0  # a node that runs accepts a connection at once
DEAD_SECONDS = 2.0  # a host that failed is left out for this time, longer each time: at most 16 times as long
LONGER_TIMES = 4
KEPT_CONNECTIONS = 32  # of each host
# The answer of several searches in CBOR: how it begins, how the list of hits of one begins, and how a hit begins that
# is only sorted by a single-precision score and an id. All containers are of unknown length and end with a break.
SEARCHES, HITS, HIT = b"\xbf\x69responses", b"\x64hits\x9f", b"\xbf\x64sort\x9f\xfa"
BREAK, SHORTEST_HIT, LONGEST_HIT = 0xFF, len(HIT) + 7, len(HIT) + 15
CBOR, LINES = "application/cbor", "application/x-ndjson"

# Failures are reported as errors; a program that wants the library's own log gives it a handler.
logging.getLogger("opensearch").addHandler(logging.NullHandler())


class CborSerializer(Serializer):
    """Answers in CBOR: half the bytes of JSON for stored binary fields, and read twice as fast."""

    mimetype = CBOR

    def loads(self, s: Any) -> Any:
        """Read an answer."""
        try:
            return read_searches(s) if s.startswith(SEARCHES) else cbor2.loads(s)
        except (cbor2.CBORError, ValueError, EOFError) as error:
            raise SerializationError(str(error), error) from error

    def dumps(self, data: Any) -> Any:
        """Write a body."""
        return cbor2.dumps(data)


class SortedHits(NamedTuple):
    """Hits that are nothing but a score and an id each."""

    ids: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


@compiled
def _read_hits(data: Any, at: int, ids: Any, scores: Any) -> tuple[int, int]:
    """Read hits that are `{"sort": [score, id]}` from a position on. Return their number and the position of the break
    after them; -1 where one is anything else."""
    number = 0
    while at + LONGEST_HIT < len(data) and data[at] != BREAK:
        for place in range(len(HIT)):
            if data[at + place] != HIT[place]:
                return -1, at
        at += len(HIT)
        bits = np.uint32(0)
        for place in range(4):
            bits = (bits << np.uint32(8)) | np.uint32(data[at + place])
        scores[number] = bits
        head = data[at + 4]
        at += 5
        value, size = np.int64(head), 0
        if 24 <= head < 28:
            value, size = np.int64(0), 1 << (head - 24)
        elif head > 27:
            return -1, at
        for place in range(size):
            value = (value << 8) | np.int64(data[at + place])
        ids[number] = value
        at += size
        if data[at] != BREAK or data[at + 1] != BREAK:
            return -1, at
        at += 2
        number += 1
    return (number, at) if at < len(data) and data[at] == BREAK else (-1, at)


def read_searches(data: bytes) -> Any:
    """Read the answer of several searches. Thousands of hits that are a score and an id become arrays, which takes a
    tenth of the time."""
    kept, found, at = [], [], 0
    array = np.frombuffer(data, np.uint8)
    while (start := data.find(HITS, at)) >= 0:
        start += len(HITS)
        most = (len(data) - start) // SHORTEST_HIT + 1
        ids, scores = np.empty(most, np.int64), np.empty(most, np.uint32)
        number, end = _read_hits(array, start, ids, scores)
        if number < 0:
            return cbor2.loads(data)
        kept.append(data[at:start])
        found.append(SortedHits(ids[:number].copy(), scores[:number].view(np.float32).copy()) if number else [])
        at = end
    answer = cbor2.loads(b"".join((*kept, data[at:])))
    places = [one["hits"] for one in answer["responses"] if "hits" in one.get("hits", ())]
    if len(places) != len(found):
        return cbor2.loads(data)
    for place, hits in zip(places, found, strict=True):
        place["hits"] = hits
    return answer


class BytesConnection(Urllib3HttpConnection):
    """A connection that keeps answers as bytes; the library's own decodes them as UTF-8."""

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return status, headers and the bytes of the answer."""
        seconds = timeout or self.timeout
        try:
            response = self.pool.urlopen(
                method,
                f"{url}?{urlencode(params)}" if params else url,
                body,
                headers={**self.headers, **(headers or {})},
                retries=False,
                redirect=False,
                timeout=Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds),
            )
        except BrokenTls as error:
            raise SSLError("N/A", str(error), error) from error
        except ReadTimeoutError as error:
            raise ConnectionTimeout("TIMEOUT", str(error), error) from error
        except (HTTPError, OSError) as error:
            raise NoConnection("N/A", str(error), error) from error
        if not 200 <= response.status < 300 and response.status not in ignore:
            raise _refusal(response.status, response.data, response.headers.get("content-type", ""))
        return response.status, response.headers, response.data


def _refusal(status: int, data: bytes, kind: str) -> TransportError:
    """Return the exception of the library for a status, with the answer as its `info`."""
    info: Any = data
    try:
        if kind.startswith(CBOR):
            info = cbor2.loads(data)
        elif kind.startswith("application/json"):
            info = JSONSerializer().loads(data.decode("utf-8"))
    except (cbor2.CBORError, ValueError, EOFError, SerializationError):
        pass  # a proxy's page, or half an answer: its bytes are shown
    error: TransportError = HTTP_EXCEPTIONS.get(status, TransportError)(status, "", info)  # type: ignore[assignment]
    return error


def open_transport(address: ClusterAddress, credentials: Credentials | None) -> Transport:
    """Return what sends requests to the hosts in turn. It repeats nothing, since only the caller knows how much time is
    left."""
    settings: dict[str, Any] = {}
    if address.tls:
        settings |= {"use_ssl": True, "ssl_context": tls_context()}
    if credentials is not None:
        settings["http_auth"] = (credentials.user, credentials.password)
    return Transport(
        [{"host": host.name, "port": host.port} for host in address.hosts],
        connection_class=BytesConnection,
        serializers={CBOR: CborSerializer()},
        max_retries=0,
        retry_on_timeout=True,
        retry_on_status=(),
        pool_maxsize=KEPT_CONNECTIONS,
        dead_timeout=DEAD_SECONDS,
        timeout_cutoff=LONGER_TIMES,
        **settings,
    )
