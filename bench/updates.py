"""Updates of an index: ten posts are added to, replaced in and deleted from generated posts; seconds until they are
searchable.

PORISM_BENCH_POSTS (default 100000) is the number of posts before. PORISM_BENCH_FOLDER names a folder that keeps dump,
collection and index for the next time (shared with answer_growth).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench._resources import memory, run_measured
from bench.answer_growth import questions
from bench.generate_dump import generate
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import RawPost

POSTS = int(os.environ.get("PORISM_BENCH_POSTS", "100000"))
CHANGED = 10  # posts of each update
TIMES = 5  # updates of each kind
FIRST = 10**9  # id of the first added post


def main() -> None:
    """Build the index if there is none, then print the times of updates and their ratio to a rebuild."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("PORISM_BENCH_FOLDER", temporary)) / str(POSTS)
        made, costs = folder / "collection", folder / "index.json"
        if not (made / "manifest.json").exists():
            generate(folder / "dump", POSTS)
            build([open_source(folder / "dump", "")], made)
        if not costs.exists():
            command = [sys.executable, "-m", "porism.cli", "index", str(made), "-o", str(folder / "index"), "--quiet"]
            costs.write_text(json.dumps(run_measured(command)), "utf-8")
        rebuild = json.loads(costs.read_text("utf-8"))
        copy = folder / "updated"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / "index", copy)
        subprocess.run([sys.executable, "-m", "bench.updates", str(copy)], check=True)
        shutil.rmtree(copy)
    print(f"index from scratch: {rebuild[0]:.1f} s, processor {rebuild[1]:.1f} s, {rebuild[2]:.0f} MB")


def update(index: Path) -> None:
    """Make updates of each kind; print the median and the longest time until a new reader finds the change, and the
    share of the commit."""
    from porism.search.engine import Engine

    engine = Engine.open(index)
    engine.search("warm up", k=1)
    added = [
        RawPost(FIRST + at, "question", None, title, body, "html", " ".join(tags))
        for at, (title, body, tags) in enumerate(questions(TIMES * CHANGED))
    ]
    groups = [added[start : start + CHANGED] for start in range(0, len(added), CHANGED)]
    changed = [[replace(post, body=f"{post.body}<p>changed</p>") for post in group] for group in groups]
    for name, batches, put in (("add", groups, True), ("replace", changed, True), ("delete", changed, False)):
        engine = _measure(name, engine, index, batches, put)
    print(f"memory of writer and reader in one process: {memory(os.getpid()):.0f} MB", flush=True)


def _measure(name: str, engine: object, index: Path, batches: list[list[RawPost]], put: bool) -> object:
    from porism.search.engine import Engine
    from porism.store import open_store

    assert isinstance(engine, Engine)
    commits, totals, processor = [], [], []
    for batch in batches:
        began, used = time.perf_counter(), time.process_time()
        with open_store(index).writer() as writer:
            if put:
                writer.put(batch)
            else:
                writer.delete(post.id for post in batch)
            writer.commit()
        commits.append(time.perf_counter() - began)
        engine = engine.refresh()
        found = engine.snapshot.locate(_ids(batch)).threads >= 0
        assert found.all() if put else not found.any()
        totals.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    times = f"{median(totals):.2f} s, longest {max(totals):.2f} s; commit {median(commits):.2f} s"
    print(f"{name:8} {CHANGED} of {POSTS:,} posts: {times}; processor {median(processor):.2f} s", flush=True)
    return engine


def _ids(batch: list[RawPost]) -> object:
    import numpy as np

    return np.array([post.id for post in batch], np.int64)


if __name__ == "__main__":
    update(Path(sys.argv[1]))
