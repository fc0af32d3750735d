"""One writer at a time, and nothing is left by those that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.files import atomic_directory, atomic_file, litter

WRITER = """
import sys, time
from pathlib import Path
from porism.files import {name}
with {name}(Path(sys.argv[1])) as work:
    print("writing", flush=True)
    time.sleep(60)
"""


def start(name: str, target: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER.format(name=name), str(target)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_the_second_writer_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    process = start("atomic_directory", tmp_path / "index")
    with pytest.raises(PorismError) as error, atomic_directory(tmp_path / "index"):
        pass
    assert error.value.message == f"process {process.pid} is writing it now"
    assert litter(tmp_path) == []
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(litter(tmp_path)) == 1
    with atomic_directory(tmp_path / "other") as work:
        (work / "a").write_text("1")
    assert hidden(tmp_path) == [".index.writing"], "the folder of a killed process is removed by the next one beside it"
    with atomic_directory(tmp_path / "index") as work:
        (work / "a").write_text("1")
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("age", [3600, -86_400 * 365])  # long ago, or before a clock was set back
def test_a_file_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path, age: int) -> None:
    process = start("atomic_file", tmp_path / "run.tsv")
    (half,) = tmp_path.iterdir()
    os.utime(half, (time.time() - age,) * 2)
    with atomic_file(tmp_path / "run.tsv") as out:
        out.write("1")
    assert half.exists(), "it is still being written"
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.utime(half, (time.time() - age,) * 2)
    with atomic_file(tmp_path / "run.tsv") as out:
        out.write("2")
    assert [path.name for path in tmp_path.iterdir()] == ["run.tsv"]
