"""The example that each command shows in its help works, on the sample and its demo."""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from porism.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
# What an example takes for granted, made by the commands before it.
JOURNAL = (
    "porism pool build demo/collection --task 1 --topics sample/topics/task1.xml --runs sample/runs/Abacus-task1-words-auto-text-P.tsv -o pool1",
    "porism assess create lab.journal",
    "porism assess load lab.journal --pool pool1 --topics sample/topics/task1.xml",
    "echo password of ada | porism assess account lab.journal ada",
    "porism assess assign lab.journal ada A.1",
)
BEFORE = {
    "agreement": JOURNAL,
    "completion": ("mkdir -p ~/.local/share/bash-completion/completions",),
    "qrels": JOURNAL,
    "turkle": JOURNAL,
}
# Examples that end only when they are told to; what they say when they are ready.
SERVERS = {"serve": "http://", "demo": "http://"}


def example(name: str) -> str:
    """The example of a command."""
    return str(importlib.import_module(f"porism.cli.{name}").EXAMPLE)


@pytest.fixture
def place(demo: Path, tmp_path: Path) -> Path:
    """A folder as the examples expect it: `sample`, and `demo` with a collection and an index."""
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    shutil.copytree(demo, tmp_path / "demo")
    return tmp_path


def settings(place: Path) -> dict[str, str]:
    """Our own porism first on the path; home is the folder, so that an example changes nothing else."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": paths, "HOME": str(place)}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SERVERS])
def test_example_works(name: str, place: Path) -> None:
    for line in (*BEFORE.get(name, ()), example(name)):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=place,
            env=settings(place),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name in SERVERS])
def test_server_of_the_example_starts_and_stops(name: str, place: Path) -> None:
    words = [*shlex.split(example(name)), "--port", "0"]
    with open(place / "said", "w+") as said:
        server = subprocess.Popen(words, cwd=place, env=settings(place), stdout=said, stderr=said)
        try:
            for _ in range(600):
                if SERVERS[name] in (place / "said").read_text() or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert server.poll() is None, (place / "said").read_text()
            assert SERVERS[name] in (place / "said").read_text()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)


@pytest.mark.parametrize("name", COMMANDS)
def test_example_is_one_line_for_this_command(name: str) -> None:
    line = example(name)
    assert "\n" not in line
    assert line.startswith(f"porism {name}")
