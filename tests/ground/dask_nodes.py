"""A real Dask cluster for tests: a scheduler and workers, each a process, on 127.0.0.1."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


class DaskNodes:
    """A scheduler, and workers that the test starts."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, protocol: str = "tcp") -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(HERE)}
        for name, value in (settings or {}).items():
            self.environment["DASK_" + name.upper().replace(".", "__").replace("-", "_")] = value
        self.place = folder / "scheduler.json"
        self.processes = [self._start("scheduler", "--host", f"{protocol}://127.0.0.1", "--port", "0")]
        wait_until(self.place.exists)
        self.address: str = json.loads(self.place.read_text())["address"]

    def worker(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker with one thread."""
        # Without the process that starts a worker again, so that a killed one stays away.
        started = self._start("worker", "--no-nanny", "--nthreads", "1", "--name", name, **environment)
        self.processes.append(started)
        return started

    def _start(self, what: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        files = ["--scheduler-file", str(self.place), "--no-dashboard"]
        if what == "worker":
            files += ["--local-directory", str(self.folder / "space")]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *options, *files],
                cwd=self.folder,
                env={**self.environment, **environment},
                stdout=log,
                stderr=log,
            )

    def wait_for_workers(self, number: int) -> None:
        """Wait until the scheduler knows this many workers."""
        wait_until(lambda: len(self.tasks()) == number)

    def tasks(self) -> dict[str, int]:
        """Return how many tasks each worker has, by the name of the worker."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            known, tasks = client.scheduler_info()["workers"], client.processing()
            return {one["name"]: len(tasks.get(address, ())) for address, one in known.items()}

    def stop(self) -> None:
        """End all processes."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def nodes(folder: Path, settings: Mapping[str, str] | None = None, protocol: str = "tcp") -> Iterator[DaskNodes]:
    """Start a scheduler; end it with its workers."""
    folder.mkdir()
    started = DaskNodes(folder, settings, protocol)
    try:
        yield started
    finally:
        started.stop()


def wait_until(condition: object, seconds: float = 60) -> None:
    """Wait until a function returns true."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def tls_settings(folder: Path) -> dict[str, str]:
    """Make certificates in a new folder; return the settings of Dask that name them."""
    from distributed import Security

    made = Security.temporary()
    folder.mkdir()
    files = {"ca-file": made.tls_ca_file}
    for role in ("client", "scheduler", "worker"):
        files[f"{role}.cert"] = getattr(made, f"tls_{role}_cert")
        files[f"{role}.key"] = getattr(made, f"tls_{role}_key")
    for name, content in files.items():
        (folder / f"{name}.pem").write_text(content)
    return {f"distributed.comm.tls.{name}": str(folder / f"{name}.pem") for name in files}


def double(number: int) -> int:
    """A task."""
    return 2 * number


def fail(number: int) -> int:
    """A task that fails."""
    raise LookupError(f"there is no {number}")


class Unreadable(Exception):
    """An error that pickle cannot read."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(f"{message}: {number}")


def fail_unreadably(number: int) -> int:
    """A task that fails with such an error."""
    raise Unreadable("Unreadable", number)


def wait(seconds: float) -> None:
    """A task that takes a while."""
    time.sleep(seconds)


def die_once(marker: str) -> str:
    """A task that kills its process the first time."""
    if not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), 9)
    return "done again"


def always_die(_: int) -> None:
    """A task that always kills its process."""
    os.kill(os.getpid(), 9)


def compute_too_long(seconds: float) -> str:
    """A task that is stopped by a limit of processor time."""
    from porism.deadline import ProcessorLimitExceeded, processor_limit

    try:
        with processor_limit(seconds):
            while True:
                pass
    except ProcessorLimitExceeded as error:
        return error.message


def print_and_count_threads(_: int) -> list[str | None]:
    """A task that writes where answers would go."""
    from porism.parallel import THREAD_LIMITS

    print("not an answer")
    return [os.environ.get(name) for name in THREAD_LIMITS]
