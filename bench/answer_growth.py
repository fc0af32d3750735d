"""Answer search as the collection grows: indexing, memory, disk and latency at 10k, 100k and more generated posts.

PORISM_BENCH_SIZES (default 10000,100000) names the sizes; 1000000 takes about an hour. PORISM_BENCH_FOLDER names a
folder that keeps dumps, collections and indexes for the next time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from bench._resources import memory, run_measured
from bench.generate_dump import Generator, generate
from bench.growth_plot import draw
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.store import open_content

SIZES = [int(size) for size in os.environ.get("PORISM_BENCH_SIZES", "10000,100000").split(",")]
PLOT = Path(__file__).parents[1] / "docs/results/answer-growth.svg"
# Title, digits after the point, and the name of those columns that are drawn.
COLUMNS = (
    ("posts", 0, ""),
    ("formulas", 0, ""),
    ("distinct", 0, ""),
    ("index s", 0, ""),
    ("processor s", 0, ""),
    ("ms/post", 2, "indexing, processor ms/post"),
    ("build MB", 0, "indexing, memory MB"),
    ("disk MB", 0, "index, disk MB"),
    ("search MB", 0, "searching, memory MB"),
    ("mapped MB", 0, ""),
    ("open s", 1, ""),
    ("p50 ms", 0, "a question, median ms"),
    ("p95 ms", 0, "a question, 95 % within ms"),
    ("processor ms", 0, ""),
)
WIDTH = 12
QUESTIONS = 100
SEED = 5  # of the queries; the posts have another seed


def main() -> None:
    """Print the table, and draw it if matplotlib is installed."""
    print("  ".join(name.rjust(WIDTH) for name, _, _ in COLUMNS))
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(os.environ.get("PORISM_BENCH_FOLDER", temporary))
        rows = [measure(place / str(size), size) for size in SIZES]
    draw(rows, {at: drawn for at, (_, _, drawn) in enumerate(COLUMNS) if drawn}, PLOT, "posts")


def measure(folder: Path, size: int) -> tuple[float, ...]:
    """Print and return one line of the table. Indexing and searching run in processes of their own, so that memory is
    measured separately."""
    made = folder / "collection"
    if not (made / "manifest.json").exists():
        generate(folder / "dump", size)
        build([open_source(folder / "dump", "")], made)
    costs = folder / "index.json"
    if not costs.exists():
        command = [sys.executable, "-m", "porism.cli", "index", str(made), "-o", str(folder / "index"), "--quiet"]
        costs.write_text(json.dumps(run_measured(command)), "utf-8")
    seconds, processor, peak = json.loads(costs.read_text("utf-8"))
    content = open_content(made)
    formulas, distinct = content.count("formulas"), content.count("expressions")
    disk = sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file()) / 1e6
    command = [sys.executable, "-m", "bench.answer_growth", str(folder / "index")]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    row = (size, formulas, distinct, seconds, processor, 1000 * processor / size, peak, disk, *found)
    cells = (f"{value:{WIDTH}.{digits}f}" for value, (_, digits, _) in zip(row, COLUMNS, strict=True))
    print("  ".join(cells), flush=True)
    return row


def search(index: Path) -> None:
    """Print as JSON: memory without and with mapped pages (MB), seconds to open the index, and for whole questions as
    queries the median and 95th percentile of latency (ms) and the median of processor time (ms)."""
    from porism.search.engine import Engine
    from porism.search.query import read_query

    start = time.perf_counter()
    engine = Engine.open(index)
    opened = time.perf_counter() - start
    times = []
    for title, body, tags in questions(QUESTIONS + 1):
        start, used = time.perf_counter(), time.process_time()
        engine.rank(read_query(title, body, tags))
        times.append((1000 * (time.perf_counter() - start), 1000 * (time.process_time() - used)))
    latency, processor = np.array(times[1:]).T  # the first query loads compiled code
    mapped = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    p50, p95 = np.percentile(latency, (50, 95))
    print(json.dumps([memory(os.getpid()), mapped, opened, p50, p95, float(np.median(processor))]))


def questions(number: int) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return questions that no dump contains: title, body and tags."""
    rows = (ElementTree.fromstring(row) for name, row in Generator(100 * number, SEED).rows() if name == "Posts")
    found = islice((row for row in rows if row.get("Title")), number)
    return [(row.get("Title", ""), row.get("Body", ""), tags(row.get("Tags", ""))) for row in found]


def tags(text: str) -> tuple[str, ...]:
    """Parse the tags of a row: `<a><b>`."""
    return tuple(text.strip("<>|").replace("><", "|").split("|"))


if __name__ == "__main__":
    search(Path(sys.argv[1]))
