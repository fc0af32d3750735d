"""A folder of documents with a hostile file for every module that could be imported: none of them may run, however
Porism is started in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

from attack.chaos.trials import Kind, Lost, Record, Stage

DOCUMENTS = {
    "one.md": "# Pythagoras\n\nWhy is $a^2+b^2=c^2$ true?\n\n" + "$" + "(" * 30 + r"a\over b" + ")" * 30 + "$\n",
    "two.rst": "Limits\n======\n\nThe limit :math:`\\lim_{n\\to\\infty} 1/n = 0`.\n",
    "three.org": "* Binomial theorem\n\\[ \\sum_{k=0}^n \\binom nk = 2^n \\]\n",
    "four.tex": r"\documentclass{article}\begin{document}\section{Euler} $e^{i\pi}+1=0$ \end{document}",
    "five.html": "<h1>Roots</h1><p>$\\sqrt2$ is irrational.</p>",
    "six.txt": "An integral: $\\int_0^1 x^2 dx$",
}
# Modules that programs try to import although they are not installed; the first one comes from the standard library
# itself.
TRIED = (
    "org",
    "sitecustomize",
    "usercustomize",
    "uvloop",
    "colorama",
    "simplejson",
    "cupy",
    "cuda",
    "readline",
    "dotenv",
)
PROGRAMS = ("node", "npm", "git", "java", "gcc", "cc", "ldconfig", "uname", "objdump", "ld", "python3", "file")
# What libraries read from the current folder: numba would load machine code from a cache of others.
SETTINGS = {
    ".numba_config.yaml": "cache_dir: cache\ndisable_jit: 1\n: [",
    "matplotlibrc": "backend: module://org\n",
    "docutils.conf": "[general]\nfile_insertion_enabled: yes\n",
}
WAYS = ("command", "script", "session", "session -c")
SECONDS = 120.0


class HostileFolder(NamedTuple):
    """A folder of documents, and the file in which hostile code leaves its name."""

    place: Path
    marks: Path

    def ran(self) -> list[str]:
        """Return the names of what ran since the last look."""
        found = self.marks.read_text().split() if self.marks.exists() else []
        self.marks.unlink(missing_ok=True)
        return sorted(set(found))


@cache
def module_names() -> frozenset[str]:
    """Return the names of all modules and packages that can be imported, but Porism's own, and of some that cannot."""
    found = {*sys.stdlib_module_names, *packages_distributions(), *TRIED, "porism_own"}
    return frozenset(name for name in found if name.isidentifier()) - {"porism", "attack", "bench"}


def write_hostile_folder(folder: Path, spared: Collection[str] = ()) -> HostileFolder:
    """Write documents, and beside them hostile modules and programs. `spared` names modules that are not written."""
    made = HostileFolder(folder / "documents", folder / "ran.txt")
    made.place.mkdir(parents=True)
    for name, text in {**DOCUMENTS, **SETTINGS}.items():
        (made.place / name).write_text(text, "utf-8")
    for name in module_names() - set(spared):
        (made.place / f"{name}.py").write_text(
            f"with open({str(made.marks)!r}, 'a') as out: out.write({name!r} + ' ')\n"
        )
    for name in PROGRAMS:
        (made.place / name).write_text(f"#!/bin/sh\necho program-{name} >> '{made.marks}'\nexit 1\n")
        (made.place / name).chmod(0o755)
    return made


def loaded_by_python(*arguments: str) -> set[str]:
    """Return the modules that Python itself loads before a program runs: no program can prevent that these are
    replaced."""
    code = "import runpy, re, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    printed = subprocess.run([sys.executable, *arguments, "-c", code], capture_output=True, text=True, check=True)
    return {*printed.stdout.split(), "sitecustomize", "usercustomize"}


def start(way: str, commands: list[list[str]], folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start Porism's commands, one after another in one process, in a folder: as the command, by a script elsewhere, or
    in a session."""
    calls = "".join(f"code = main({command!r})\nassert not code, code\n" for command in commands)
    code = f"from porism.cli import main\n{calls}"
    script = folder.parent / f"{way.split()[0]}.py"
    if way == "command":
        script.write_text("import sys\nfrom porism.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n")
        (words,) = commands
        started = [str(script), *words]
    elif way == "script":
        script.write_text('if __name__ == "__main__":\n' + "".join(f"    {line}\n" for line in code.splitlines()))
        started = [str(script)]
    else:
        started = ["-c", code] if way.endswith("-c") else ["-"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, *started],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        cwd=folder,
        env=os.environ | environment,
    )
    assert process.stdin is not None
    if started == ["-"]:
        process.stdin.write(code)
    process.stdin.close()
    process.stdin = None
    return process


def run(way: str, commands: list[list[str]], folder: Path, **environment: str) -> str:
    """Run commands to their end, and return what they print; they must succeed."""
    groups = [[one] for one in commands] if way == "command" else [commands]
    printed = ""
    for group in groups:
        process = start(way, group, folder, **environment)
        out, errors = process.communicate(timeout=SECONDS)
        if process.returncode:
            raise Lost(f"{way}: porism {group[0][0]} ended with {process.returncode}: {errors[-1000:]}")
        printed += out
    return printed


@contextmanager
def running(way: str, command: list[str], folder: Path, sign: str, stream: str) -> Iterator[str]:
    """Run a command that does not end by itself; yield the line with the sign that it has started."""
    process = start(way, [command], folder)
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    lines: list[str] = []
    try:
        source = process.stdout if stream == "stdout" else process.stderr
        for line in source or ():
            lines.append(line)
            if re.search(sign, line):
                yield line
                break
        else:
            raise Lost(f"{way}: porism {command[0]} did not start: {''.join(lines[-5:])}")
    finally:
        timer.cancel()
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def use_all(way: str, folder: Path) -> None:
    """Build, index, search, update, watch and serve inside a folder."""
    run(way, [["build", ".", "-o", "../collection", "--jobs", "2", "--quiet"]], folder)
    indexing = ["index", "../collection", "-o", "../index", "--quiet"]
    (folder / "seven.md").write_text("# Seven\n\n$x_7$ is new\n")
    searching = ["search", "../index", "why is $a^2+b^2=c^2$ true"]
    found = run(way, [indexing, searching, ["update", "../index", "."], searching], folder)
    if "Pythagoras" not in found:
        raise Lost(f"{way}: the document is not found: {found[-300:]}")
    watching = ["update", "../watched", ".", "--watch", "--wait", "0.1"]
    with running(way, watching, folder, r"built, \d+ posts", "stdout"):
        pass
    with running(way, ["serve", "../index", "--port", "0", "--workers", "1"], folder, "http://", "stderr") as line:
        address = re.findall(r"http://[\w.:]+", line)[0]
        with urllib.request.urlopen(f"{address}/v1/search?q=limit", timeout=SECONDS) as answer:
            if answer.status != 200:
                raise Lost(f"{way}: search answered {answer.status}")


def hostile_folder(stage: Stage, record: Record) -> None:
    """Use Porism in a hostile folder, in all ways."""
    for number in range(max(stage.tries, len(WAYS))):
        way = WAYS[number % len(WAYS)]
        with record.attempt(f"{way} {number + 1}"):
            folder = write_hostile_folder(stage.folder / str(number))
            began = time.monotonic()
            use_all(way, folder.place)
            record.measure(time.monotonic() - began)
            if names := folder.ran():
                raise Lost(f"{way}: ran {', '.join(names[:5])}")


KINDS = (Kind("hostile folder", "no file of the folder runs as code", hostile_folder, share=0.4),)
