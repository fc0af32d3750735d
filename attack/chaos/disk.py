"""A full disk: commands report it, leave nothing behind, and succeed when there is space again."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attack.chaos.kills import collection_digest
from attack.chaos.processes import Command, run_command
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import write_dump


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[bool]:
    """Make a folder a disk of its own with little space, if this user may; yield whether it is one."""
    place.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    is_disk = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield is_disk
    finally:
        if is_disk:
            subprocess.run(["umount", "-l", str(place)], check=True)


def _limited(kilobytes: int) -> Callable[[], None]:
    """Return what limits the size of any file of a process: without root, the nearest to a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 256, kilobytes * 256))

    return limit


def fill(stage: Stage, record: Record, arguments: Sequence[str], target: str, needed: int) -> None:
    """Run a command that writes `target` on disks of random sizes, all too small for the `needed` kilobytes."""
    log = stage.folder / "disk.log"
    for number in range(max(1, stage.tries // 5)):
        place = stage.folder / f"disk-{target}-{number}"
        size = max(8, int(needed * stage.rng.uniform(0.02, 0.8)))
        with record.attempt(f"{size} KB"), small_disk(place, size) as is_disk:
            command = Command(
                [*arguments, "-o", str(place / target)], log, (lambda: None) if is_disk else _limited(size)
            )
            code, output = command.wait(), command.output()
            if code == 0:
                record.notes.append(f"{target} fits into {size} KB") if not is_disk else None
                continue
            if "Traceback" in output or "fix:" not in output:
                raise Lost(f"no clear error (exit code {code}): {output[-200:]}")
            left = [path.name for path in place.iterdir() if not path.name.endswith(".partial")]
            if left:
                raise Lost(f"left behind: {', '.join(left)}")
        shutil.rmtree(place, ignore_errors=True)


def _kilobytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*")) // 1024


def full_disk(stage: Stage, record: Record) -> None:
    """Build and index on full disks, then with space."""
    log = stage.folder / "disk.log"
    dump = write_dump(stage.folder / "disk.dump", threads=120)
    collection, index = stage.folder / "disk.collection", stage.folder / "disk.index"
    run_command(["build", str(dump), "-o", str(collection), "--quiet"], log)
    run_command(["index", str(collection), "-o", str(index), "--quiet"], log)
    expected = collection_digest(collection)
    fill(stage, record, ["build", str(dump), "--quiet", "--jobs", "1"], "collection", _kilobytes(collection))
    fill(stage, record, ["index", str(collection), "--quiet"], "index", _kilobytes(index))
    with record.attempt("space again"):
        place = stage.folder / "disk-again"
        with small_disk(place, _kilobytes(collection) // 3) as is_disk:
            again = ["build", str(dump), "-o", str(place / "collection"), "--quiet"]
            Command(again, log).wait()
            if is_disk:
                subprocess.run(["mount", "-o", "remount,size=200m", str(place)], check=True)
            if not (place / "collection").exists():
                run_command(again, log)
            if collection_digest(place / "collection") != expected:
                raise Lost("the result is different")


KINDS = (Kind("full disk", "a clear error, nothing left behind, the same digest when there is space again", full_disk),)
