"""Build collection and index of generated posts: rates, peak memory over all processes, disk by part, and what a
million posts would take.

PORISM_BENCH_POSTS (default 20000) says how many posts; 1000000 takes about an hour. PORISM_BENCH_FOLDER names a folder
that keeps dump, collection and index.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from bench._resources import Used, run_measured
from bench.generate_dump import generate
from porism.parallel import cores
from porism.store import open_content

MILLION = 1_000_000
# Parts of an index: the name of each, and the endings of its files below `posts` or `formulas`.
PARTS = {
    "rows of terms": ("threads.rows", "threads.row_start.npy", ".lengths.npy"),
    "posting lists": (".lists", ".list_end.npy", ".documents.npy"),
    "dictionaries": (".hash.npy", ".id.npy", ".text", ".text_end.npy"),
    "vectors": (".basis.npy", "vectors.words.npy", "vectors.tuples.npy"),
    "trees, paths and LaTeX": (".bin",),
}


def main() -> None:
    """Print one table for each stage, and the disk by part."""
    posts = int(os.environ.get("PORISM_BENCH_POSTS", "20000"))
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(os.environ.get("PORISM_BENCH_FOLDER", temporary)) / str(posts)
        dump, collection, index = place / "dump", place / "collection", place / "index"
        if not dump.exists():
            generate(dump, posts)
        built = _measured(place, "collection", ["build", str(dump), "-o", str(collection)])
        indexed = _measured(place, "index", ["index", str(collection), "-o", str(index)])
        content = open_content(collection)
        counts = {name: content.count(name) for name in ("posts", "formulas", "visuals")}
        _print_rates(counts, {"collection": built, "index": indexed})
        _print_disk(counts["posts"], {"collection": collection, "index": index})


def _measured(place: Path, name: str, arguments: list[str]) -> Used:
    """Run a command of the product once, and keep what it took beside what it made."""
    kept = place / f"{name}.json"
    if not kept.exists():
        kept.write_text(json.dumps(run_measured([sys.executable, "-m", "porism.cli", *arguments, "--quiet"])), "utf-8")
    return Used(*json.loads(kept.read_text("utf-8")))


def _print_rates(counts: dict[str, int], stages: dict[str, Used]) -> None:
    print(
        f"{counts['posts']:,} posts, {counts['formulas']:,} formulas, {counts['visuals']:,} distinct; {cores()} cores, ",
        end="",
    )
    print(
        f"load {os.getloadavg()[0]:.1f}\n{'':12}seconds  processor s  ms/post  posts/s  formulas/s  distinct/s  peak MB"
    )
    for name, used in stages.items():
        rates = (counts[what] / used.seconds for what in ("posts", "formulas", "visuals"))
        per_post = 1000 * used.processor_seconds / counts["posts"]
        print(f"{name:12}{used.seconds:7.0f} {used.processor_seconds:12.0f} {per_post:8.2f}", end="")
        print("{:9.0f} {:11.0f} {:11.0f}".format(*rates), f"{used.peak_memory:8.0f}")


def _print_disk(posts: int, folders: dict[str, Path]) -> None:
    print(f"\n{'':40}MB   bytes/post   GB at a million posts")
    for name, folder in folders.items():
        sizes: dict[str, int] = {}
        for path in folder.rglob("*"):
            if path.is_file():
                part = _part(path.relative_to(folder))
                sizes[part] = sizes.get(part, 0) + path.stat().st_size
        for part, size in [*sorted(sizes.items()), ("all", sum(sizes.values()))]:
            print(f"{name + ', ' + part:34}{size / 1e6:8.1f} {size / posts:12.0f} {size / posts * MILLION / 1e9:23.2f}")


def _part(path: Path) -> str:
    """Return the part of an index that a file belongs to."""
    name = next((part for part, endings in PARTS.items() if path.name.endswith(endings)), "other")
    return f"{path.parts[0]}: {name}" if len(path.parts) > 1 else name


if __name__ == "__main__":
    main()
