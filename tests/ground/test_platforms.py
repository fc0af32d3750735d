"""Search, formulas and evaluation work where a system lacks what only POSIX has; what needs it says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from porism import limited_process
from porism.formula.latex.isolated import Task, TooExpensive, convert_isolated

SAMPLE = Path(__file__).resolve().parents[2] / "sample"
# A start of Python without the modules and names that Windows lacks.
WITHOUT = """
import os, signal, sys
for name in ("fcntl", "resource", "grp", "pwd", "termios"):
    sys.modules[name] = None
for name in ("SIGVTALRM", "SIGPROF", "SIGKILL", "SIGALRM", "SIGCHLD", "SIGHUP", "setitimer", "ITIMER_PROF", "ITIMER_VIRTUAL"):
    delattr(signal, name)
for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "pread", "pwrite", "sched_getaffinity", "fchmod", "getuid"):
    delattr(os, name)
import subprocess
def refused(*arguments, **options):
    raise OSError("no process is started")
subprocess.Popen.__init__ = refused
from porism.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *words], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("formula", "x^2"), "x"),
        (("search", "{index}", r"proof that $\sqrt{2}$ is irrational"), "irrational"),
        (("formulas", "{index}", "a^2+b^2=c^2"), "similar"),
        (("explain", "{index}", "square root of 2 irrational", "754"), "irrational"),
        (("ask", "{index}", r"why is $\sqrt{2}$ irrational?"), "source: "),
        (("collection", "show", "{collection}", "thread", "45"), "question 45"),
        (("eval", "{sample}/qrels/task1.txt", "{sample}/runs/Abacus-task1-words-auto-text-P.tsv"), "nDCG"),
        (("run", "--topics", "{sample}/topics/task1.xml", "--index", "{index}", "-o", "run.tsv"), ""),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_searching_and_scoring_need_no_posix(words: tuple[str, ...], shown: str, demo: Path, tmp_path: Path) -> None:
    places = {"index": demo / "index", "collection": demo / "collection", "sample": SAMPLE}
    done = run(tmp_path, *(word.format(**places) if word.startswith("{") and "}" in word else word for word in words))
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_without_limits_no_process_is_started_for_an_expensive_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_process, "resource", None)
    with pytest.raises(TooExpensive):
        convert_isolated(Task("math-core", "x"))


def test_what_needs_posix_says_so(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("The root of $2$.\n", "utf-8")
    for words in (("build", "notes", "-o", "made"), ("serve", str(demo / "index"))):
        done = run(tmp_path, *words)
        assert done.returncode == 1
        assert "needs file locks and limits of processes, which this system does not have" in done.stderr
        assert "fix: use Linux, macOS or the Windows Subsystem for Linux" in done.stderr
