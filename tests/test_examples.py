"""The examples in the help of the commands work, on the sample and its demo."""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from porism.cli import COMMANDS, make_parser

ROOT = Path(__file__).resolve().parents[1]
# Commands that make what an example needs.
JOURNAL = (
    "porism pool build demo/collection --task 1 --topics sample/topics/task1.xml --runs sample/runs/Abacus-task1-words-auto-text-P.tsv -o pool1",
    "porism assess create lab.journal",
    "porism assess load lab.journal --pool pool1 --topics sample/topics/task1.xml",
    "echo password of ada | porism assess account lab.journal ada",
    "porism assess assign lab.journal ada A.1",
)
BEFORE = {
    "agreement": JOURNAL,
    "analytics": (
        "python -c \"import pathlib, porism.search.analytics.store as s; s.AnalyticsStore(pathlib.Path('searches.analytics'))\"",
    ),
    "completion": ("mkdir -p ~/.local/share/bash-completion/completions",),
    "qrels": JOURNAL,
    "restore": ("porism backup demo/index -o backup.tar",),
    "update": (
        "mkdir notes",
        "echo 'The square root of 2 is irrational.' > notes/root.md",
        "porism build notes -o notes-collection",
        "porism index notes-collection -o notes-index",
    ),
    "turkle": JOURNAL,
    "watch": ("mkdir notes", "echo 'The square root of 2 is irrational.' > notes/root.md"),
}
# Examples that run until Ctrl-C, and what they print when they are ready.
SERVERS = {"serve": "http://", "demo": "http://", "watch": "built"}
# Commands with examples of their actions, with what these need; and actions that need a server or run as one.
ACTIONS = {
    "run": (),
    "editor": (),
    "systems": (),
    "models": (),
    "pool": (),
    "topics": (),
    "submissions": (),
    "tokens": (),
    "assess": JOURNAL[:1],
    "turkle": JOURNAL,
    "users": (),
}
NOT_RUN = {
    ("editor", "install"),
    ("editor", "remove"),
    ("assess", "serve"),
    ("models", "prove"),  # encodes for a minute; tests/models/test_prove.py
    ("models", "convert"),  # needs pickled weights; tests/models/test_pickles.py
    ("assess", "judge-model"),
    ("turkle", "upload"),
    ("turkle", "download"),
    ("turkle", "import"),
}
NOT_RUN |= {("systems", "verify"), ("systems", "fuse")}  # they need the test data, and minutes
PASSWORD = "a long password\n"


def example(name: str) -> str:
    """Return the example of a command."""
    return str(importlib.import_module(f"porism.cli.{name}").EXAMPLE)


@pytest.fixture
def folder(demo: Path, tmp_path: Path) -> Path:
    """A folder as the examples need it: `sample`, and `demo` with a collection and an index."""
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    shutil.copytree(demo, tmp_path / "demo")
    return tmp_path


def settings(folder: Path) -> dict[str, str]:
    """Return the environment: our own porism first on the path, and the folder as home, so that nothing else changes."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": paths, "HOME": str(folder)}


def failure(lines: Iterable[str], folder: Path) -> str:
    """Run command lines, one after the other; return the first that does not exit with 0 and its output, empty if there is none."""
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line], cwd=folder, env=settings(folder), capture_output=True, text=True, input=PASSWORD
        )
        if done.returncode:
            return f"{line}\n{done.stdout}{done.stderr}"
    return ""


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SERVERS])
def test_example_works(name: str, folder: Path) -> None:
    assert not failure((*BEFORE.get(name, ()), example(name)), folder)


@pytest.mark.parametrize("name", ACTIONS)
def test_examples_of_actions_work(name: str, folder: Path) -> None:
    examples = importlib.import_module(f"porism.cli.{name}").EXAMPLES
    lines = (*ACTIONS[name], *(line for action, line in examples.items() if (name, action) not in NOT_RUN))
    assert not failure(lines, folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_parse(name: str) -> None:
    module = importlib.import_module(f"porism.cli.{name}")
    examples = getattr(module, "EXAMPLES", {})
    assert bool(examples) == (name in ACTIONS)
    for action, line in examples.items():
        args = make_parser().parse_args(shlex.split(line)[1:])
        assert (args.command, args.action) == (name, action)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name in SERVERS])
def test_server_of_the_example_starts_and_stops(name: str, folder: Path) -> None:
    assert not failure(BEFORE.get(name, ()), folder)
    words = shlex.split(example(name)) + (["--port", "0"] if SERVERS[name] == "http://" else [])
    with open(folder / "output", "w+") as output:
        server = subprocess.Popen(words, cwd=folder, env=settings(folder), stdout=output, stderr=output)
        try:
            for _ in range(600):
                if SERVERS[name] in (folder / "output").read_text() or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert server.poll() is None, (folder / "output").read_text()
            assert SERVERS[name] in (folder / "output").read_text()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)


@pytest.mark.parametrize("name", COMMANDS)
def test_example_is_one_line_for_this_command(name: str) -> None:
    line = example(name)
    assert "\n" not in line
    assert line.startswith(f"porism {name}")
