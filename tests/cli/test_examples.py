"""The examples in the help of the commands work, on the sample and its demo."""

from __future__ import annotations

import argparse
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

from porism.cli import make_parser

ROOT = Path(__file__).resolve().parents[2]
# Commands that make what an example needs.
JOURNAL = (
    "porism lab pool build demo/collection --task 1 --topics sample/topics/task1.xml --runs sample/runs/Abacus-task1-words-auto-text-P.tsv -o pool1",
    "porism lab assess create lab.journal",
    "porism lab assess load lab.journal --pool pool1 --topics sample/topics/task1.xml",
    "echo password of ada | porism lab assess account lab.journal ada",
    "porism lab assess assign lab.journal ada A.1",
)
NOTES = ("mkdir notes", "echo 'The square root of 2 is irrational.' > notes/root.md")
ANALYTICS = "import pathlib, porism.search.analytics as s; s.AnalyticsStore(pathlib.Path('searches.analytics'))"
BEFORE = {
    "update": (*NOTES, "porism build notes -o notes-collection", "porism index notes-collection -o notes-index"),
    "lab agreement": JOURNAL,
    "lab qrels": JOURNAL,
    "lab assess": JOURNAL[:1],
    "lab turkle": JOURNAL,
    "site restore": ("porism site backup demo/index -o backup.tar",),
    "site analytics": (f'python -c "{ANALYTICS}"',),
}
# Examples that run until Ctrl-C, and what they print when they are ready.
SERVERS = {"serve": "http://", "demo": "http://"}
# Examples that are not run, and why.
NOT_RUN = {
    "store copy": "needs a cluster; tests/cluster",
    "store rollback": "needs a cluster; tests/cluster",
    "store snapshot": "needs a cluster; tests/cluster",
    "store restore": "needs a cluster; tests/cluster",
    "site editor install": "needs the npm registry",
    "site editor remove": "changes the installation",
    "lab assess serve": "runs until Ctrl-C",
    "lab assess judge-model": "needs a language model",
    "lab assess train": "needs known grades",
    "lab assess move": "needs assignments",
    "lab assess dual": "needs judgments",
    "lab assess training": "needs known grades",
    "lab assess extra": "needs judgments",
    "lab turkle upload": "needs a Turkle server",
    "lab turkle download": "needs a Turkle server",
    "lab turkle import": "needs results of people",
    "model evaluate": "encodes for a minute; tests/models/test_prove.py",
    "model convert": "needs pickled weights; tests/models/test_pickles.py",
    "model train encoder": "trains for minutes; tests/models/test_training.py",
    "model train cross-encoder": "trains for minutes; tests/models/test_training.py",
}
PASSWORD = "a long password\n"


def examples(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the examples of all commands by path, in the order of the help."""
    found = {}
    for commands in parser._actions:
        if isinstance(commands, argparse._SubParsersAction):
            for below in commands.choices.values():
                found[below.prog.removeprefix("porism ")] = (below.epilog or "").removeprefix("example:\n  ")
                found |= examples(below)
    return found


EXAMPLES = examples(make_parser())
GROUPS = {path.rpartition(" ")[0] for path in EXAMPLES}
# What is run in one folder: a command, or the commands of a group in their order where each needs the one before.
STEPS = {"lab assess", "lab pool", "lab submissions", "lab turkle", "site tokens", "site users"}
RUNS = [
    path
    for path in EXAMPLES
    if path in STEPS
    or (path.rpartition(" ")[0] not in STEPS and not {path} & (NOT_RUN.keys() | SERVERS | GROUPS - {"run", "systems"}))
]


@pytest.fixture
def folder(demo: Path, tmp_path: Path) -> Path:
    """A folder as the examples need it: `sample`, and `demo` with a collection and an index."""
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    shutil.copytree(demo, tmp_path / "demo")
    return tmp_path


def settings(folder: Path) -> dict[str, str]:
    """Return the environment: our own porism first on the path, and the folder as home, so that nothing else
    changes."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": paths, "HOME": str(folder)}


def failure(lines: Iterable[str], folder: Path) -> str:
    """Run command lines, one after the other; return the first that does not exit with 0 and its output, empty if there
    is none."""
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line], cwd=folder, env=settings(folder), capture_output=True, text=True, input=PASSWORD
        )
        if done.returncode:
            return f"{line}\n{done.stdout}{done.stderr}"
    return ""


@pytest.mark.parametrize("path", RUNS)
def test_examples_work(path: str, folder: Path) -> None:
    steps = (
        [one for one in EXAMPLES if one.rpartition(" ")[0] == path and one not in NOT_RUN] if path in STEPS else [path]
    )
    assert not failure((*BEFORE.get(path, ()), *(EXAMPLES[one] for one in steps)), folder)


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_is_one_line_for_its_command_and_parses(path: str) -> None:
    line = EXAMPLES[path]
    assert "\n" not in line
    assert line.startswith(f"porism {path} ") or line == f"porism {path}"
    make_parser().parse_args(shlex.split(line)[1:])


def test_what_is_not_run_exists() -> None:
    assert set(EXAMPLES) >= {*NOT_RUN, *SERVERS, *BEFORE}


@pytest.mark.parametrize("path", SERVERS)
def test_server_of_the_example_starts_and_stops(path: str, folder: Path) -> None:
    words = [*shlex.split(EXAMPLES[path]), "--port", "0"]
    with open(folder / "output", "w+") as output:
        server = subprocess.Popen(words, cwd=folder, env=settings(folder), stdout=output, stderr=output)
        try:
            for _ in range(600):
                if SERVERS[path] in (folder / "output").read_text() or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert server.poll() is None, (folder / "output").read_text()
            assert SERVERS[path] in (folder / "output").read_text()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
