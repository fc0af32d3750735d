"""A language model server in a process of its own, for tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = Path(__file__).with_name("endpoint_server.py")


@contextmanager
def endpoint_server(model: Path | None = None) -> Iterator[str]:
    """Start the server; yield its address. The caller adds how it behaves: `/hang/v1/chat/completions`."""
    command = [sys.executable, str(SERVER), *([str(model)] if model else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait(10)
