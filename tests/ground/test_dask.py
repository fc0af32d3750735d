"""Tasks on a Dask cluster: the same bytes as in local processes, lost workers, limits, versions, addresses and TLS."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dask_nodes as tasks
import pytest
from dask_nodes import HERE, DaskNodes, nodes, wait_until

import porism
from porism.cli import main
from porism.corpus.build import parsing, threads
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.errors import PorismError
from porism.parallel import dask as client_side
from porism.parallel import ordered, workers
from porism.parallel.dask import run_task, versions
from porism.progress import Silent
from porism.store import open_content
from porism.store.embedded.formulas import build as formulas
from porism.store.embedded.posts import build as posts
from porism.store.maintenance import build_index
from porism.store.protocols import IndexOptions

SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "dump"

pytest.importorskip("distributed", reason="needs the extra cluster: pip install 'porism[cluster]'")
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskNodes]:
    """A scheduler and two workers."""
    with nodes(tmp_path_factory.mktemp("dask") / "nodes") as started:
        started.worker("one")
        started.worker("two")
        started.wait_for_workers(2)
        yield started


@contextmanager
def small_blocks() -> Iterator[None]:
    """Make many blocks of the sample, so that some are in flight whenever a worker is lost."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(threads, "THREADS", 20)
        changed.setattr(parsing, "BATCH", 200)
        changed.setattr(formulas, "CHUNK", 100)
        changed.setattr(posts, "CHUNK", 16)
        yield


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, built and indexed here in small blocks."""
    place = tmp_path_factory.mktemp("here")
    with small_blocks():
        build([open_source(SAMPLE)], place / "collection", jobs=1)
        build_index(open_content(place / "collection"), place / "index", IndexOptions(vectors=False), jobs=1)
    return place


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of all files."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_same_files(made: Path, expected: Path) -> None:
    found, wanted = files_of(made), files_of(expected)
    assert found.keys() == wanted.keys()
    assert not [name for name, content in wanted.items() if found[name] != content]


def test_build_and_index_make_the_same_bytes_as_here(two: DaskNodes, here: Path, tmp_path: Path) -> None:
    collection, index = tmp_path / "collection", tmp_path / "index"
    options = ["--jobs", two.address, "--quiet"]
    with small_blocks():
        assert main(["build", str(SAMPLE), "-o", str(collection), *options]) == 0
        assert main(["index", str(collection), "-o", str(index), "--no-vectors", "--default-ranking", *options]) == 0
    assert_same_files(tmp_path, here)


class KilledWorkers(Silent):
    """Progress that kills a worker with -9 in some stages, while it has tasks."""

    def __init__(self, cluster: DaskNodes, stages: tuple[str, ...]) -> None:
        self.cluster = cluster
        self.stages = stages
        self.lost: list[int] = []  # tasks that each worker had

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        if name not in self.stages:
            yield lambda number: None
            return
        victim = self.cluster.worker("victim")
        wait_until(lambda: "victim" in self.cluster.tasks())
        killer = threading.Thread(target=self._kill, args=(victim,))
        killer.start()
        yield lambda number: None
        killer.join()

    def _kill(self, victim: subprocess.Popen[bytes]) -> None:
        wait_until(lambda: self.cluster.tasks()["victim"])
        victim.send_signal(signal.SIGSTOP)
        self.lost.append(self.cluster.tasks()["victim"])
        victim.kill()
        victim.wait()


def test_blocks_of_killed_workers_are_built_again(two: DaskNodes, here: Path, tmp_path: Path) -> None:
    watched = KilledWorkers(two, ("segment posts of dump", "parse formulas"))
    with small_blocks():
        build([open_source(SAMPLE)], tmp_path / "collection", jobs=two.address, progress=watched)
    assert all(watched.lost)
    assert len(watched.lost) == 2
    assert_same_files(tmp_path / "collection", here / "collection")


def test_blocks_of_killed_workers_are_indexed_again(two: DaskNodes, here: Path, tmp_path: Path) -> None:
    shutil.copytree(here / "collection", tmp_path / "collection")
    watched = KilledWorkers(two, ("formulas", "threads"))
    with small_blocks():
        content = open_content(tmp_path / "collection")
        build_index(content, tmp_path / "index", IndexOptions(vectors=False), jobs=two.address, progress=watched)
    assert all(watched.lost)
    assert len(watched.lost) == 2
    assert_same_files(tmp_path / "index", here / "index")


def test_results_come_in_task_order_with_few_tasks_in_flight(two: DaskNodes) -> None:
    submitted = 0

    def numbered() -> Iterator[tuple[int, int]]:
        nonlocal submitted
        for at in range(50):
            submitted += 1
            yield at, at

    with workers(two.address) as pool:
        for at, (label, result) in enumerate(ordered(pool, tasks.double, numbered())):
            assert (label, result) == (at, 2 * at)
            assert submitted - at <= 5


def one(address: str, function: Callable[..., object], task: object) -> object:
    """Return the result of one task."""
    with workers(address) as pool:
        return next(ordered(pool, function, [(None, task)]))[1]


def test_a_task_is_done_as_in_a_process_of_this_machine(two: DaskNodes) -> None:
    assert one(two.address, tasks.compute_too_long, 0.1) == "takes more than 0.1 seconds of processor time"
    assert one(two.address, tasks.print_and_count_threads, 0) == ["1", "1", "1"]
    with pytest.raises(LookupError, match="there is no 7") as error:
        one(two.address, tasks.fail, 7)
    assert "in fail" in error.value.__notes__[0]
    with pytest.raises(RuntimeError, match="Unreadable: 7"):
        one(two.address, tasks.fail_unreadably, 7)


def test_a_task_whose_process_died_is_done_again_but_not_for_ever(two: DaskNodes, tmp_path: Path) -> None:
    assert one(two.address, tasks.die_once, str(tmp_path / "marker")) == "done again"
    with pytest.raises(PorismError, match="worker processes died 3 times with the same task") as error:
        one(two.address, tasks.always_die, 0)
    assert error.value.fix == "give the workers more memory"


def test_a_process_without_tasks_ends() -> None:
    code = "import porism.parallel.dask as worker; worker.IDLE_SECONDS = 0.01; worker.serve()"
    done = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert done.wait(60) == 0


def test_a_worker_with_other_code_is_refused(two: DaskNodes, tmp_path: Path) -> None:
    shutil.copytree(Path(porism.__file__).parent, tmp_path / "porism", ignore=shutil.ignore_patterns("*.so", "*.pyc"))
    changed = tmp_path / "porism" / "text" / "segment.py"
    changed.write_text(changed.read_text("utf-8") + "\nCHANGED = 1\n", "utf-8")
    own = two.worker("changed", PYTHONPATH=f"{tmp_path}{os.pathsep}{HERE}")
    try:
        two.wait_for_workers(3)
        with pytest.raises(PorismError) as error, workers(two.address):
            pass
        here = versions()["the code of Porism"][:12]
        error.match(rf"the worker tcp://127.0.0.1:\d+ has the code of Porism \w{{12}} and not {here}")
        assert error.value.where == two.address
        assert error.value.fix.startswith("install the same versions on all machines")
    finally:
        own.kill()
        own.wait()
        two.wait_for_workers(2)


def test_a_worker_that_comes_later_is_checked_with_its_first_task() -> None:
    done, error = pickle.loads(run_task(b"", {**versions(), "Python": "2.7", "numpy": "1.0"}))
    assert not done
    here = versions()
    assert error.message == f"has Python {here['Python']} and not 2.7, numpy {here['numpy']} and not 1.0"


def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_side, "CONNECT_SECONDS", 2.0)
    monkeypatch.setattr(client_side, "LOST_SECONDS", 1.0)
    with nodes(tmp_path / "nodes") as alone:
        with pytest.raises(PorismError) as error, workers(alone.address):
            pass
        assert str(error.value) == (
            f"{alone.address}: has had no worker for 2 seconds\n"
            f"  fix: start a worker on each machine: dask worker {alone.address}; then run the same command again"
        )
        only = alone.worker("only")
        alone.wait_for_workers(1)
        threading.Timer(3.0, only.kill).start()
        with pytest.raises(PorismError, match="has had no worker for 1 seconds"):
            one(alone.address, tasks.wait, 60)
        alone.worker("another")
        alone.wait_for_workers(1)
        threading.Timer(3.0, alone.processes[0].kill).start()
        with pytest.raises(PorismError, match="the connection to the scheduler was lost"):
            one(alone.address, tasks.wait, 60)
    with pytest.raises(PorismError, match="no scheduler can be reached") as error, workers(alone.address):
        pass
    assert error.value.fix == "start it: dask scheduler; or correct the address or the certificates"


def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="certificates of the test need the package cryptography")
    import dask

    settings, others = tasks.tls_settings(tmp_path / "own"), tasks.tls_settings(tmp_path / "others")
    with nodes(tmp_path / "nodes", settings, "tls") as secure:
        assert secure.address.startswith("tls://")
        with pytest.raises(PorismError) as error:
            one(secure.address, tasks.double, 2)
        assert str(error.value) == (
            f"{secure.address}: TLS needs certificates\n  fix: name the files in the configuration of Dask: "
            "distributed.comm.tls.ca-file, distributed.comm.tls.client.cert and distributed.comm.tls.client.key"
        )
        with monkeypatch.context() as hasty, dask.config.set(others):
            hasty.setattr(client_side, "CONNECT_SECONDS", 2.0)
            with pytest.raises(PorismError, match=r"no scheduler can be reached \(.*CERTIFICATE_VERIFY_FAILED"):
                one(secure.address, tasks.double, 2)
        unreadable = {**settings, "distributed.comm.tls.ca-file": str(tmp_path / "absent.pem")}
        with dask.config.set(unreadable), pytest.raises(PorismError, match="the certificates cannot be read"):
            one(secure.address, tasks.double, 2)
        secure.worker("secure")
        with dask.config.set(settings):
            assert one(secure.address, tasks.double, 2) == 4
