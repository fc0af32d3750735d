"""Formula search as the collection grows: seconds to index, size on disk, memory and latency at 10k, 100k and more
formulas.

PORISM_BENCH_SIZES (default 10000,100000) names the sizes; 1000000 takes about half an hour.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.growth_plot import draw
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.search.formulas.searcher import FormulaSearcher
from porism.store import open_content, open_store
from porism.store.maintenance import build_index

SIZES = [int(size) for size in os.environ.get("PORISM_BENCH_SIZES", "10000,100000").split(",")]
PLOT = Path(__file__).parents[1] / "docs/results/formula-growth.svg"
SEED = 4
# Templates of random formulas, with placeholders for letters (@), numbers (#) and sub-expressions (~).
SHAPES = (
    "@^{#}+@^{#}=@^{#}", r"\frac{~}{~}", r"\sum_{@=#}^{@}~", r"\int_{#}^{@}~\,d@", r"\sqrt{~+#}", r"\lim_{@\to\infty}~",
    r"\sin(~)+\cos(~)", r"@_{#}\leq ~", r"\binom{@}{#}~", r"e^{~}-#", r"~=~", r"@(@+#)=~", r"\log_{#}(~)", r"|~|<@", r"@\in @_{#}",
)  # fmt: skip
LEAVES = ("@", "#", "@^{#}", "@_{@}", "#@", "@+#", r"\frac{#}{@}", "@!")


def main() -> None:
    """Print the table, and draw it if matplotlib is installed."""
    print("formulas   index s   formulas/s   disk MB   memory MB   p50 ms   p95 ms")
    rows = [measure(size) for size in SIZES]
    draw(rows, {4: "median ms", 3: "memory MB", 2: "disk MB"}, PLOT)


def measure(size: int) -> tuple[float, ...]:
    """Print and return one line of the table. The search runs in a process of its own, so that its memory is measured
    separately."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = make(folder, size)
        disk = sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file()) / 1e6
        done = subprocess.run(
            [sys.executable, "-m", "bench.formula_growth", folder], check=True, capture_output=True, text=True
        )
        memory, p50, p95 = json.loads(done.stdout)
    print(
        f"{size:8d} {seconds:9.1f} {size / seconds:12.0f} {disk:9.0f} {memory:11.0f} {p50:8.1f} {p95:8.1f}", flush=True
    )
    return size, seconds, disk, memory, p50, p95


def make(folder: Path, size: int) -> float:
    """Index so many generated formulas; return the seconds of indexing alone."""
    source = random.Random(SEED)
    with (folder / "formulas.tsv").open("w", encoding="utf-8") as out:
        out.write("visual_id\tlatex\n")
        for number in range(1, size + 1):
            out.write(f"{number}\t{formula(source)}\n")
    collection = build([open_source(folder / "formulas.tsv", "")], folder / "collection")
    start = time.perf_counter()
    build_index(open_content(collection), folder / "index")
    return time.perf_counter() - start


def formula(source: random.Random) -> str:
    """Return a random formula."""
    text = source.choice(SHAPES)
    for _ in range(2):
        text = re.sub("~", lambda _: source.choice(SHAPES if source.random() < 0.3 else LEAVES), text)
    text = re.sub("~", lambda _: source.choice(LEAVES), text)
    text = re.sub("@", lambda _: source.choice("abcdfghkmnpqrstuvxyz"), text)
    return re.sub("#", lambda _: str(source.choice((1, 2, 2, 3, 4, 5, 10, source.randrange(100)))), text)


def search(folder: Path) -> None:
    """Print memory and latencies of 200 random queries as JSON."""
    searcher = FormulaSearcher(open_store(folder / "index").snapshot())
    source = random.Random(SEED + 1)
    searcher.search("x+1")
    times = []
    for _ in range(200):
        query = formula(source)
        start = time.perf_counter()
        searcher.search(query)
        times.append(time.perf_counter() - start)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    p50, p95 = np.percentile(times, (50, 95)) * 1000
    print(json.dumps([memory, p50, p95]))


if __name__ == "__main__":
    search(Path(sys.argv[1]))
