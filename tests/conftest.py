"""Shared by all tests: where the real data is, and a clear reason where it is not."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is slow, which is no failure.
settings.register_profile("porism", settings(), deadline=None)
settings.load_profile("porism")

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
SHARED = Path(os.environ.get("PORISM_SHARED", ROOT.parent / "shared"))


# What `make test` leaves to `make test-all`: what it is, and the files and folders of its tests.
LONG = {
    "neural models": "models systems/neural",
    "trec_eval": "evaluate/test_trec_eval.py",
    "MathJax": "systems/test_mathjax.py",
    "wheels": "test_wheel.py",
    "a browser": "browser",
    "Turkle": "turkle",
    "deployment": "web/test_deploy.py",
    "attacks and a living site": "attack ground/test_safe_path.py",
    "a cluster": "cluster ground/test_dask.py",
}
LONG_PLACES = {TESTS / place for places in LONG.values() for place in places.split()}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Without the option all tests run that the command line names."""
    parser.addoption("--part", choices=["quick", "long"], help="the tests of make test, or those that it leaves out")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is left out, in one line."""
    if config.getoption("part") != "quick":
        return None
    return f"left to make test-all: {', '.join(LONG)}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests of the other part unread, so that they need not be importable."""
    part, long = config.getoption("part"), not LONG_PLACES.isdisjoint((collection_path, *collection_path.parents))
    if part == "quick":
        return long or None
    return (part == "long" and collection_path.suffix == ".py" and not long) or None


def pytest_configure() -> None:
    """What was compiled must be what is written, or the tests would test something else."""
    library = max((path.stat().st_mtime for path in (ROOT / "src").glob("*.so")), default=0.0)
    for compiled in (ROOT / "src" / "porism").rglob("*.so"):
        source = compiled.with_name(compiled.name.partition(".")[0] + ".py")
        if not source.exists() or source.stat().st_mtime > library:
            pytest.exit(f"{source.relative_to(ROOT)} changed after it was compiled; run `make pure`, or `make test`", 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the real data are skipped, with the reason printed, where the folder is absent."""
    if (SHARED / "data").is_dir():
        return
    reason = pytest.mark.skip(reason=f"the real data is not at {SHARED}; set PORISM_SHARED")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data."""
    return SHARED / "data"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as `porism demo` builds it: `collection` and `index`. Built once for all workers; not to be changed,
    copy it."""
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    place = tmp_path_factory.getbasetemp().parent if parallel else tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "porism.cli", "demo", "--build-only", "--directory", str(place / "demo")]
    with open(place / "demo.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([*command, "--sample", str(ROOT / "sample")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return place / "demo"
