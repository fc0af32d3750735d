"""A proxy with TLS and Basic authentication before the nodes, as a cluster with passwords is seen by its clients.
Certificates are made by openssl."""

from __future__ import annotations

import base64
import hmac
import http.client
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SECONDS = 120.0
HOP_HEADERS = frozenset(("connection", "content-length", "keep-alive", "transfer-encoding"))


def make_certificate(folder: Path, names: str = "IP:127.0.0.1") -> tuple[Path, Path]:
    """Make a certificate that signs itself, for these names; return its file and that of its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=porism-test"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, "-addext", f"subjectAltName={names}", *files], check=True, capture_output=True)
    return certificate, key


class TlsProxy:
    """A proxy on a port of its own, before one node, for one user. Outside of its `with` statement the node cannot be
    reached."""

    def __init__(self, node: str, user: str, password: str, files: tuple[Path, Path], port: int = 0) -> None:
        wanted = b"Basic " + base64.b64encode(f"{user}:{password}".encode())

        class Handler(_Handler):
            backend, expected, is_open = node, wanted, True

        self._handler = Handler
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> TlsProxy:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._handler.is_open = False
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    backend, expected, is_open = "", b"", True

    def _forward(self) -> None:
        if not self.is_open:  # a connection that a client has kept
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not hmac.compare_digest(self.headers.get("authorization", "").encode(), self.expected):
            self._reply(401, b"Unauthorized", [("content-type", "text/plain"), ("www-authenticate", "Basic")])
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() != "authorization"}
        connection = http.client.HTTPConnection(self.backend, timeout=SECONDS)
        try:
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            self._reply(answer.status, answer.read(), answer.getheaders())
        except OSError:
            self._reply(502, b"Bad Gateway", [("content-type", "text/plain")])
        finally:
            connection.close()

    def _reply(self, status: int, data: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP_HEADERS:
                self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _forward

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""
