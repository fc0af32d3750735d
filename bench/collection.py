"""Build a collection from a generated dump: rates, memory, disk, and an estimate for the full collection.

python -m bench collection builds 20,000 posts; PORISM_BENCH_POSTS=1000000 builds a million.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from bench._resources import ALL, run_measured
from bench.generate_dump import generate
from porism.parallel import cores

# The collection of the lab: posts and formulas of 2010 to 2018.
FULL_POSTS, FULL_FORMULAS = 2_400_000, 28_000_000
BUILD = "import sys; from porism.cli import main; sys.exit(main(['build', sys.argv[1], '-o', sys.argv[2], '--quiet']))"


def main() -> None:
    """Generate a dump, build its collection, print the figures."""
    posts = int(os.environ.get("PORISM_BENCH_POSTS", "20000"))
    with tempfile.TemporaryDirectory(dir=os.environ.get("PORISM_BENCH_FOLDER")) as folder:
        dump, target = Path(folder) / "dump", Path(folder) / "collection"
        start = time.perf_counter()
        generate(dump, posts)
        generated = time.perf_counter() - start
        used = run_measured([sys.executable, "-c", BUILD, str(dump), str(target)], ALL)
        counts = json.loads((target / "manifest.json").read_text())["counts"]
        size = sum(file.stat().st_size for file in target.iterdir())
        dump_size = sum(file.stat().st_size for file in dump.iterdir())
    formulas = counts["formulas"]
    rows = {
        "posts": f"{counts['posts']:,}",
        "formulas": f"{formulas:,}",
        "distinct formulas": f"{counts['expressions']:,}",
        "dump": f"{dump_size / 1e6:,.0f} MB, generated in {generated:,.0f} s",
        "built in": f"{used.seconds:,.0f} s ({used.processor_seconds:,.0f} s of processor, {cores()} cores, load {os.getloadavg()[0]:.1f})",
        "posts per second": f"{counts['posts'] / used.seconds:,.0f}",
        "formulas per second": f"{formulas / used.seconds:,.0f}",
        "peak memory, all processes": f"{used.peak_memory:,.0f} MB",
        "size on disk": f"{size / 1e6:,.0f} MB ({size / formulas:,.0f} bytes a formula)",
        "full collection, by formulas": f"{FULL_FORMULAS * used.seconds / formulas / 60:,.0f} min, {FULL_FORMULAS * size / formulas / 1e9:,.1f} GB",
        "full collection, by posts": f"{FULL_POSTS * used.seconds / counts['posts'] / 60:,.0f} min",
    }
    for name, value in rows.items():
        print(f"{name:30}{value}")


if __name__ == "__main__":
    main()
