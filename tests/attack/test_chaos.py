"""A few tries of most attacks; `make chaos` makes fifty of all. It also kills `porism model encode`, which loads a
model for each try."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attack.chaos.__main__ import table  # noqa: E402
from attack.chaos.trials import Lost, Record  # noqa: E402
from attack.page import write_section  # noqa: E402


def test_a_loss_is_counted() -> None:
    record = Record("kind", "must hold")
    for error in (None, Lost("a wrong answer"), KeyError("x")):
        with record.attempt("try"):
            if error:
                raise error
    assert (record.tried, record.held) == (3, 1)
    assert record.losses == ["try: a wrong answer", "try: KeyError: 'x'"]
    assert table([record])[-1] == "| kind | must hold | 3 | 1 | - |"


def test_the_table_replaces_its_part_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- fuzz -->\nold\n<!-- end of fuzz -->\nafter\n")
    monkeypatch.setattr("attack.page.PAGE", page)
    write_section("fuzz", ["new", "lines"])
    assert page.read_text() == "before\n<!-- fuzz -->\nnew\nlines\n<!-- end of fuzz -->\nafter\n"
    with pytest.raises(SystemExit):
        write_section("nosuch", [])


def attack(*kinds: str, tries: int = 2) -> tuple[int, str]:
    """Run kinds of attack in a process of their own; return its exit code, which is 0 if they held, and what it
    prints."""
    only = [word for kind in kinds for word in ("--only", kind)]
    command = [sys.executable, "-m", "attack.chaos", "--tries", str(tries), *only]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    return run.returncode, run.stdout + (run.stderr[-2000:] if run.returncode else "")


def test_killed_builds_and_damaged_files() -> None:
    """A build that is killed gives the same digest when it is run again; damage is noticed."""
    code, printed = attack("kill build", "damage index", "damage collection", "damage journal")
    assert code == 0, printed


def test_two_writers() -> None:
    code, printed = attack("update beside update", "two builds", "two porism index", "two backups")
    assert code == 0, printed


def test_damage_under_a_server() -> None:
    code, printed = attack("flip served", "flip files", "flip journal", "damage change log")
    assert code == 0, printed


def test_hostile_dumps_documents_and_archives() -> None:
    code, printed = attack("hostile dumps", "hostile documents", "hostile 7z")
    assert code == 0, printed


def test_a_clock_that_jumps() -> None:
    code, printed = attack("clock jumps")
    assert code == 0, printed
    if "skipped" in printed:
        pytest.skip(printed.splitlines()[-2])


@pytest.mark.browser
def test_messages_and_streams_in_a_browser() -> None:
    code, printed = attack("forged messages", "hostile answer streams")
    assert code == 0, printed
    if "skipped" in printed:
        pytest.skip(printed.splitlines()[-2])
