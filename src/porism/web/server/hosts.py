"""The names under which a server on this machine answers."""

from __future__ import annotations

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
