"""How requests reach the nodes: opensearch-py with CBOR, whose answers are bytes, and with certificates, passwords and
short-lived mistrust of a host."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

import cbor2
from opensearchpy.connection import Urllib3HttpConnection
from opensearchpy.exceptions import HTTP_EXCEPTIONS, ConnectionTimeout, SerializationError, SSLError, TransportError
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.serializer import JSONSerializer, Serializer
from opensearchpy.transport import Transport
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.exceptions import SSLError as BrokenTls
from urllib3.util import Timeout

from porism.store.opensearch.access import Credentials, tls_context
from porism.store.opensearch.address import ClusterAddress

CONNECT_SECONDS = 2.0  # a node that runs accepts a connection at once
DEAD_SECONDS = 2.0  # a host that failed is left out for this time, longer each time: at most 16 times as long
LONGER_TIMES = 4
KEPT_CONNECTIONS = 32  # of each host
CBOR, LINES = "application/cbor", "application/x-ndjson"

# Failures are reported as errors; a program that wants the library's own log gives it a handler.
logging.getLogger("opensearch").addHandler(logging.NullHandler())


class CborSerializer(Serializer):
    """Answers in CBOR: half the bytes of JSON for stored binary fields, and read twice as fast."""

    mimetype = CBOR

    def loads(self, s: Any) -> Any:
        """Read an answer."""
        try:
            return cbor2.loads(s)
        except (ValueError, EOFError) as error:
            raise SerializationError(str(error), error) from error

    def dumps(self, data: Any) -> Any:
        """Write a body."""
        return cbor2.dumps(data)


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
    except (ValueError, EOFError, SerializationError):
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
