"""Read documents in another process, whose processor time and memory are limited.

Documents are of any origin, and the libraries that read them promise no bounds: a headline of 4 KB kept orgparse busy for minutes. The process
is started with the first document and serves all; one that takes too much ends it, and the next document starts another.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

from porism.corpus.sources.documents.latex import read_latex
from porism.corpus.sources.documents.markdown import read_markdown
from porism.corpus.sources.documents.notebook import read_notebook
from porism.corpus.sources.documents.org import read_org
from porism.corpus.sources.documents.page import read_page
from porism.corpus.sources.documents.plain import read_text
from porism.corpus.sources.documents.restructured import read_rst
from porism.corpus.sources.documents.section import Document, Section
from porism.safe_path import safe_environment, safe_path

READERS: dict[str, Callable[[str], Document]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".tex": read_latex,
    ".ltx": read_latex,
    ".html": read_page,
    ".htm": read_page,
    ".xhtml": read_page,
    ".ipynb": read_notebook,
    ".txt": read_text,
    ".rst": read_rst,
    ".org": read_org,
}
# Processor time that a document may take, and for each of its bytes; an ordinary one takes a tenth of that.
SECONDS, SECONDS_OF_BYTE = 10.0, 50e-6
MEMORY_BYTES = 2 << 30
PATIENCE = 20.0  # times the processor time that the clock may show, on a busy machine
ENDED = {
    -signal.SIGPROF: "takes more than {:.0f} seconds of processor time",
    -signal.SIGABRT: f"takes more than {MEMORY_BYTES >> 30} GB of memory",
}
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from porism.corpus.sources.documents import limited; limited.serve()"


def read_document(suffix: str, text: str) -> Document:
    """Return the document that a file with this suffix holds. Raise ValueError if it is none, or takes too much time or memory."""
    return _process.read(suffix, text.encode())


class _Process:
    """The process that reads documents."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._limits: dict[str, str] = {}

    def read(self, suffix: str, content: bytes) -> Document:
        """Return a document."""
        with self._lock:
            child = self._running()
            assert child.stdin is not None
            assert child.stdout is not None
            seconds = SECONDS + SECONDS_OF_BYTE * len(content)
            try:
                with contextlib.suppress(BrokenPipeError):
                    child.stdin.write(json.dumps([suffix, seconds, len(content)]).encode() + b"\n" + content)
                    child.stdin.flush()
                answer = _line(child.stdout, time.monotonic() + PATIENCE * seconds)
            except BaseException:  # the next answer must not be that to this document
                self.stop()
                raise
            if not answer:
                code = self.stop()
                raise ValueError(ENDED.get(code, "its reader died").format(seconds))
        made = json.loads(answer)
        if isinstance(made, str):
            raise ValueError(made)
        title, tags, sections, unexpanded = made
        return Document(title, tuple(tags), [Section(*section) for section in sections], unexpanded)

    def _running(self) -> subprocess.Popen[bytes]:
        limits = {name: value for name, value in os.environ.items() if name.startswith("PORISM_")}
        if self._child is not None and limits != self._limits:
            self.stop()
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps(safe_path())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=safe_environment(),
            )
            self._owner, self._limits = os.getpid(), limits  # after a fork, the parent's process belongs to the parent
        return self._child

    def stop(self) -> int:
        """End the process; return how it ended."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return 0
        if child.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.1)  # it may be ending by itself
        child.kill()
        child.communicate()
        return child.returncode


def _line(stream: IO[bytes], deadline: float) -> bytes:
    """Read a line; empty if the process ends or the deadline passes first."""
    received: list[bytes] = []
    while not (received and received[-1].endswith(b"\n")):
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(stream.fileno(), 1 << 20) if ready else b""
        if not part:
            return b""
        received.append(part)
    return b"".join(received)


_process = _Process()
atexit.register(_process.stop)


def serve() -> None:
    """Read documents from standard input until it is closed. The work of the process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while head := sys.stdin.buffer.readline():
        suffix, seconds, length = json.loads(head)
        content = sys.stdin.buffer.read(length)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, whatever holds the interpreter
        try:
            answer = json.dumps(_read(suffix, content.decode()))
        except MemoryError:
            answer = json.dumps(ENDED[-signal.SIGABRT])
        except Exception as error:  # one damaged document must not end a build of thousands
            answer = json.dumps(str(error) or type(error).__name__)
        signal.setitimer(signal.ITIMER_PROF, 0)
        with contextlib.suppress(BrokenPipeError):
            print(answer, flush=True)


def _read(suffix: str, text: str) -> object:
    document = READERS[suffix](text)
    sections = [(section.title, section.body) for section in document.sections]
    return document.title, document.tags, sections, document.unexpanded
