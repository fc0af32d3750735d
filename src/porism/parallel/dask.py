"""Tasks in the workers of a Dask cluster. Needs the extra `cluster`.

Dask carries bytes: it unpickles nothing but the call of `run_task`. It does the tasks of a lost worker again on another
one. The thread of the worker that got a task leaves it to a process of its own. Time limits interrupt only the main
thread of a process; tasks in several threads would wait for each other; and a process that dies, for lack of memory,
takes nothing else with it."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from porism import __version__
from porism.errors import PorismError
from porism.hashing import fingerprint
from porism.parallel import THREAD_LIMITS, prepare_worker, run_in_worker
from porism.safe_path import safe_environment, safe_path

if TYPE_CHECKING:
    from distributed import Client, Future, Security

START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from porism.parallel.dask import serve; serve()"
IDLE_SECONDS = 60.0  # after which a process without tasks ends
ATTEMPTS = 3  # to do a task whose process dies
SIZE = 8  # bytes before a message, which say how long it is

# What must be the same on all machines, so that they make the same bytes.
CODE = ("analysis", "corpus", "formula", "hashing", "parallel", "store", "text")
LIBRARIES = ("distributed", "latex2mathml", "lxml", "math-core", "nh3", "numpy", "PyStemmer", "xxhash")
Versions = dict[str, str]
SAME_VERSIONS = "install the same versions on all machines, and start the scheduler and the workers again"
_own = threading.local()
PLAIN = "PORISM_DASK_PLAIN"  # set to 1, it allows an address without TLS
CONNECT_SECONDS = 15.0
LOST_SECONDS = 60.0  # that a build waits for a worker when there is none
RECOUNT_SECONDS = 2.0
MOST_TASKS = 512  # in flight, however many workers there are
SCHEMES = ("tls", "tcp")
START_WORKERS = "start a worker on each machine: dask worker {}"
TLS_SETTINGS = (
    "name the files in the configuration of Dask: distributed.comm.tls.ca-file, distributed.comm.tls.client.cert and "
    "distributed.comm.tls.client.key"
)
Task = TypeVar("Task")
Result = TypeVar("Result")


@lru_cache(1)
def versions() -> Versions:
    """Return the versions of what shapes the results of tasks, and the fingerprint of Porism's own code."""
    python = ".".join(map(str, sys.version_info[:2]))
    code = fingerprint(tuple(f"porism.{name}" for name in CODE))
    return {
        "Porism": __version__,
        "Python": python,
        **{one: version(one) for one in LIBRARIES},
        "the code of Porism": code,
    }


def differences(found: Versions, wanted: Versions) -> str:
    """Return what differs, in words; empty if nothing does."""
    unequal = [name for name, value in wanted.items() if found.get(name) != value]
    return ", ".join(f"{name} {found.get(name, '')[:12]} and not {wanted[name][:12]}" for name in unequal)


def run_task(request: bytes, wanted: Versions) -> bytes:
    """Do a task, a pickled pair of function and argument; return a pickled pair: success, and result or error."""
    if different := differences(versions(), wanted):
        return _failure(PorismError(f"has {different}", where=f"worker on {socket.gethostname()}", fix=SAME_VERSIONS))
    for _ in range(ATTEMPTS):
        with contextlib.suppress(OSError, EOFError):
            return _process().answer(request)
    fact = f"worker processes died {ATTEMPTS} times with the same task"
    return _failure(PorismError(fact, where=f"worker on {socket.gethostname()}", fix="give the workers more memory"))


def _failure(error: Exception) -> bytes:
    """Return an error that certainly arrives, with where in Porism it was raised."""
    if not isinstance(error, PorismError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        message = pickle.dumps((False, error))
        pickle.loads(message)
    except Exception:
        message = pickle.dumps((False, RuntimeError("".join(traceback.format_exception(error)))))
    return message


class _Process:
    """A process that does the tasks of a thread."""

    def __init__(self) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-c", START, json.dumps(safe_path())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=safe_environment(),
        )

    def answer(self, request: bytes) -> bytes:
        """Return what the process answers; an OSError or EOFError means that it died."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        try:
            _write(self.child.stdin, request)
            return _read(self.child.stdout)
        except BaseException:
            self.child.kill()
            self.child.communicate()
            raise


def _process() -> _Process:
    """Return the process of this thread."""
    process: _Process | None = getattr(_own, "process", None)
    if process is None or process.child.poll() is not None:
        process = _own.process = _Process()
    return process


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(SIZE, "big"))
    stream.write(message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(stream, SIZE), "big")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def serve() -> None:
    """Do tasks until the worker ends or has none for a while. The work of the process."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))  # there are as many processes as cores
    prepare_worker()
    requests = sys.stdin.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while select.select([requests], [], [], IDLE_SECONDS)[0]:
            _write(answers, _done(_read(requests)))


def _done(request: bytes) -> bytes:
    try:
        function: Callable[[Any], Any]
        function, task = pickle.loads(request)
        return pickle.dumps((True, run_in_worker(function, task)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _failure(error)


def check_address(address: str) -> str:
    """Return the address of a scheduler. It runs the code of all who reach it, so plain TCP must be local."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in SCHEMES or not parts.hostname or port is None:
        fix = "give a number of processes, or an address such as tls://scheduler:8786"
        raise PorismError("not an address of a Dask scheduler", where=address, fix=fix)
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname) and os.environ.get(PLAIN) != "1":
        fix = f"use TLS (tls://{parts.netloc}), or set {PLAIN}=1 in a network where you trust every machine"
        raise PorismError(
            "neither encrypted nor on this machine, and a scheduler runs anyone's code", where=address, fix=fix
        )
    return address


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False


@contextmanager
def connect(address: str) -> Iterator[DaskCluster]:
    """Connect to a scheduler whose workers have the same versions as this process."""
    client = _client(check_address(address))
    try:
        cluster = DaskCluster(client, address)
        cluster.check()
        yield cluster
    finally:
        client.close()


def _client(address: str) -> Client:
    try:
        import dask
        from distributed import Client
    except ImportError:
        fix = "install the extra: pip install 'porism[cluster]'"
        raise PorismError("the Python package distributed is not installed", where=address, fix=fix) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported here
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
    security = _security(address) if address.startswith("tls") else None
    try:
        return Client(address, security=security, timeout=CONNECT_SECONDS, set_as_default=False, name="porism")
    except (OSError, ValueError) as error:
        fix = "start it: dask scheduler; or correct the address or the certificates"
        raise PorismError(f"no scheduler can be reached ({_reason(error)})", where=address, fix=fix) from error


def _security(address: str) -> Security:
    """Return what the configuration of Dask says of TLS. Nothing is sent without."""
    from distributed import Security

    try:
        security = Security(require_encryption=True)
        if security.get_connection_args("client")["ssl_context"] is not None:
            return security
    except (OSError, ValueError) as error:  # the errors of ssl are of these types
        fact = f"the certificates cannot be read ({_reason(error)})"
        raise PorismError(fact, where=address, fix=TLS_SETTINGS) from error
    raise PorismError("TLS needs certificates", where=address, fix=TLS_SETTINGS)


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split()) or type(error).__name__


class DaskCluster:
    """The workers of a Dask cluster."""

    sees_files = False

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._threads = 0
        self._counted = self._seen = 0.0

    def check(self) -> None:
        """Raise an error if no worker comes, or if the scheduler or a worker has other versions than this process."""
        try:
            self._client.wait_for_workers(1, CONNECT_SECONDS)
        except TimeoutError:
            raise self._without_workers(CONNECT_SECONDS) from None
        by_name: dict[str, Any] = {}
        try:
            by_name["the scheduler"] = self._client.run_on_scheduler(versions)
        except Exception as error:  # whatever keeps it from importing the function
            by_name["the scheduler"] = error
        of_workers = self._client.run(versions, on_error="return")
        by_name |= {f"the worker {address}": one for address, one in of_workers.items()}
        for name, found in by_name.items():
            absent = "no Porism with the same modules" if isinstance(found, Exception) else ""
            if different := absent or differences(found, versions()):
                raise PorismError(f"{name} has {different}", where=self._address, fix=SAME_VERSIONS)

    def window(self) -> int:
        """Return how many tasks may be in flight: two for each thread of the workers, which may come and go."""
        self.count()
        return min(2 * max(1, self._threads), MOST_TASKS)

    def count(self) -> None:
        """Count the workers, from time to time. Raise an error if there has been none for long."""
        now = time.monotonic()
        if now - self._counted > RECOUNT_SECONDS:
            with self.reported():
                self._threads = sum(self._client.nthreads().values())
            self._counted = now
            if self._threads or not self._seen:
                self._seen = now
        if now - self._seen > LOST_SECONDS:
            raise self._without_workers(LOST_SECONDS)

    def start(self, function: Callable[[], object]) -> None:
        """Do nothing: the workers are there."""

    def submit(self, function: Callable[[Task], Result], task: Task) -> ClusterTask[Result]:
        """Add a task."""
        request = pickle.dumps((function, task), pickle.HIGHEST_PROTOCOL)
        with self.reported():
            return ClusterTask(self, self._client.submit(run_task, request, versions(), pure=False))

    def end(self) -> None:
        """Do nothing: the workers stay."""

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Report what goes wrong between here and the workers. Errors of tasks come as results."""
        try:
            yield
        except TimeoutError:
            raise
        except CancelledError:
            raise self._error("the connection to the scheduler was lost", "start it and the workers again") from None
        except Exception as error:
            fact = f"a task could not be done ({type(error).__name__}: {_reason(error)})"
            raise self._error(fact, "read the logs of the workers; if one was killed, give it more memory") from error

    def _without_workers(self, seconds: float) -> PorismError:
        return self._error(f"has had no worker for {seconds:g} seconds", START_WORKERS.format(self._address))

    def _error(self, fact: str, fix: str) -> PorismError:
        return PorismError(fact, where=self._address, fix=f"{fix}; then run the same command again")


class ClusterTask(Generic[Result]):
    """A task that the cluster does."""

    def __init__(self, cluster: DaskCluster, future: Future[bytes]) -> None:
        self._cluster = cluster
        self._future = future

    def result(self) -> Result:
        """Wait for the result of the task, or raise its error."""
        while True:
            try:
                with self._cluster.reported():
                    answer = self._future.result(RECOUNT_SECONDS)
                break
            except TimeoutError:
                self._cluster.count()
        is_done, found = pickle.loads(answer)
        if not is_done:
            raise found
        result: Result = found
        return result
