"""Building a collection from a generated dump: rates, memory, disk, and what they mean for the full collection.

python -m bench collection builds 20,000 posts; PORISM_BENCH_POSTS=1000000 builds a million.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.generate_dump import generate

# The collection of the lab: posts and formulas of 2010 to 2018.
FULL_POSTS, FULL_FORMULAS = 2_400_000, 28_000_000
BUILD = "import sys; from porism.cli import main; sys.exit(main(['build', sys.argv[1], '-o', sys.argv[2], '--quiet']))"


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and its children, pages that they share counted once (PSS where the system tells it)."""
    total = 0
    for child in [pid, *_children(pid)]:
        try:
            rollup = Path(f"/proc/{child}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total * 1024


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def measure(dump: Path, target: Path) -> tuple[float, float, int]:
    """Seconds, processor seconds and peak memory of a build in its own process."""
    start = time.perf_counter()
    before = _processor()
    peak = 0
    with subprocess.Popen([sys.executable, "-c", BUILD, str(dump), str(target)], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, tree_memory(process.pid))
            time.sleep(0.5)
        if process.returncode:
            raise SystemExit(f"the build failed with {process.returncode}")
    return time.perf_counter() - start, _processor() - before, peak


def _processor() -> float:
    """Processor seconds of all children that have ended, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Generate, build, report."""
    posts = int(os.environ.get("PORISM_BENCH_POSTS", "20000"))
    with tempfile.TemporaryDirectory(dir=os.environ.get("PORISM_BENCH_FOLDER")) as folder:
        dump, target = Path(folder) / "dump", Path(folder) / "collection"
        start = time.perf_counter()
        generate(dump, posts)
        made = time.perf_counter() - start
        seconds, processor, peak = measure(dump, target)
        counts = json.loads((target / "manifest.json").read_text())["counts"]
        size = sum(file.stat().st_size for file in target.iterdir())
        read = sum(file.stat().st_size for file in dump.iterdir())
    formulas = counts["formulas"]
    rows = {
        "posts": f"{counts['posts']:,}",
        "formulas": f"{formulas:,}",
        "distinct formulas": f"{counts['expressions']:,}",
        "dump": f"{read / 1e6:,.0f} MB, generated in {made:,.0f} s",
        "built in": f"{seconds:,.0f} s ({processor:,.0f} s of processor, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})",
        "posts per second": f"{counts['posts'] / seconds:,.0f}",
        "formulas per second": f"{formulas / seconds:,.0f}",
        "peak memory, all processes": f"{peak / 1e6:,.0f} MB",
        "size on disk": f"{size / 1e6:,.0f} MB ({size / formulas:,.0f} bytes a formula)",
        "full collection, by formulas": f"{FULL_FORMULAS * seconds / formulas / 60:,.0f} min, {FULL_FORMULAS * size / formulas / 1e9:,.1f} GB",
        "full collection, by posts": f"{FULL_POSTS * seconds / counts['posts'] / 60:,.0f} min",
    }
    for name, value in rows.items():
        print(f"{name:30}{value}")


if __name__ == "__main__":
    main()
