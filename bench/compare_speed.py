"""Compare the processor time of two source trees: build, index, update and search, old and new alternating.

    python -m bench.compare_speed OLD NEW [--pairs 15] [--posts 1000 | --dump FOLDER] [--only search]

An update is one from a newer dump; `ten posts` is one by JSON Lines, each on top of the last. A search is a title on a
results page; `questions` ranks whole questions, `formulas` searches the formulas of their titles. Memory and disk of
the first index are printed as well.

OLD and NEW are folders that hold `src/porism`, for instance two worktrees of git (`git worktree add ../old TAG`); both
are compiled, or both are plain Python. Each operation runs in a process of its own, and the processor time of that
process and of its children counts, which depends least on what else the machine does. The trees alternate in the order
ABBA. A pair gives one ratio, new by old. The table has their median and an interval for it: from one ratio of the
sorted list to another, so that the median is inside with a probability of at least 90 %, whatever the distribution (the
sign test). Exit code 1 if a median is above the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench._resources import run_measured
from bench.answer_growth import questions
from bench.dump_update import read_rows, vary_dump
from bench.generate_dump import generate

PAIRS, POSTS, QUERIES = 15, 1000, 300
MOST_RATIO = 1.03
CHANGED_SHARE = 0.05  # of the posts, in an update
CONFIDENCE = 0.9
FIRST = 10**9  # id of the first added post
FORMULA = re.compile(r"\$([^$]+)\$")
HEADER = ("| operation | pairs | old | new | median ratio | 90 % interval |", "|---|--:|--:|--:|--:|--:|")
CLI = ("-m", "porism.cli")
OPEN = "import json, sys, porism; engine = porism.open(sys.argv[1]); given = json.load(open(sys.argv[2]))"
SEARCH = f"{OPEN}; [engine.search(q, k=10) for q in given]"
QUESTIONS = f"{OPEN}; from porism.search.query import read_query as read; [engine.rank(read(t, b, tuple(a))) for t, b, a in given]"
FORMULAS = f"{OPEN}; [engine.formulas(latex, k=20) for latex in given]"


class Tree:
    """A source tree, and a folder of its own with what its code has built."""

    def __init__(self, source: Path, work: Path) -> None:
        self.source, self.work = source.resolve() / "src", work
        if not (self.source / "porism").is_dir():
            raise SystemExit(f"{source}: has no folder src/porism")
        self.is_compiled = any((self.source / "porism").rglob("*.so"))
        self.changes = 0
        work.mkdir()

    def run(self, arguments: Sequence[str | Path], given: str = os.devnull) -> float:
        """Run Python with this tree, with a file as its input; return the seconds of processor time of the process and
        its children."""
        environment = os.environ | {"PYTHONPATH": str(self.source)}
        command = [sys.executable, *map(str, arguments)]
        with open(self.work / "output", "wb") as output, open(given, "rb") as text:
            process = subprocess.Popen(
                command, cwd=self.work, env=environment, stdin=text, stdout=output, stderr=output
            )
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{(self.work / 'output').read_text()[-2000:]}")
        return used.ru_utime + used.ru_stime


class Data(NamedTuple):
    """What both trees read: a dump, a newer one, and files of titles, whole questions and formulas as queries."""

    dump: Path
    newer: Path
    queries: Path
    questions: Path
    formulas: Path


def make_data(folder: Path, dump: Path | None, posts: int, queries: int, operations: Sequence[str]) -> Data:
    """Write the newer dump and the queries, which are titles; without a dump, posts are generated."""
    if dump is None:
        dump = folder / "dump"
        generate(dump, posts)
    names = ("newer", "queries.json", "questions.json", "formulas.json")
    data = Data(dump.resolve(), *(folder / name for name in names))
    asked = questions(queries // 3)
    data.questions.write_text(json.dumps(asked), "utf-8")
    found = (FORMULA.search(f"{title} {body}") for title, body, _ in asked)
    data.formulas.write_text(json.dumps([one[1] for one in found if one]), "utf-8")
    if "update" in operations:
        vary_dump(data.dump, data.newer, CHANGED_SHARE)
    titles = dict.fromkeys(row["Title"] for row in read_rows(data.dump / "Posts.xml") if row.get("Title"))
    data.queries.write_text(json.dumps(list(titles)[:queries]), "utf-8")
    return data


def _build(tree: Tree, data: Data) -> float:
    return tree.run([*CLI, "build", data.dump, "-o", _new(tree.work / "built"), "--quiet"])


def _index(tree: Tree, data: Data) -> float:
    return tree.run([*CLI, "index", tree.work / "base" / "collection", "-o", _new(tree.work / "indexed"), "--quiet"])


def _update(tree: Tree, data: Data) -> float:
    copy = _new(tree.work / "updated")
    shutil.copytree(tree.work / "base", copy)
    return tree.run([*CLI, "update", copy / "index", data.newer])


def _ten_posts(tree: Tree, data: Data) -> float:
    changed = tree.work / "changed"
    if not changed.exists():
        shutil.copytree(tree.work / "base", changed)
    tree.changes += 1
    posts = [
        {"id": FIRST + at, "title": title, "body": f"{body}<p>{tree.changes}</p>", "tags": tags}
        for at, (title, body, tags) in enumerate(json.loads(data.questions.read_text("utf-8"))[:10])
    ]
    lines = tree.work / "changes.jsonl"
    lines.write_text("".join(f"{json.dumps(post)}\n" for post in posts), "utf-8")
    return tree.run([*CLI, "update", changed / "index", "-"], str(lines))


def _search(tree: Tree, data: Data) -> float:
    return tree.run(["-c", SEARCH, tree.work / "base" / "index", data.queries])


def _questions(tree: Tree, data: Data) -> float:
    return tree.run(["-c", QUESTIONS, tree.work / "base" / "index", data.questions])


def _formulas(tree: Tree, data: Data) -> float:
    return tree.run(["-c", FORMULAS, tree.work / "base" / "index", data.formulas])


OPERATIONS: dict[str, Callable[[Tree, Data], float]] = {
    "build": _build,
    "index": _index,
    "update": _update,
    "ten posts": _ten_posts,
    "search": _search,
    "questions": _questions,
    "formulas": _formulas,
}


def _new(target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return target


def prepare(tree: Tree, data: Data, operations: Sequence[str]) -> None:
    """Build what the operations start from, and run each once: so both trees are compiled and their files are in
    memory."""
    base = tree.work / "base"
    tree.run([*CLI, "build", data.dump, "-o", base / "collection", "--quiet"])
    if set(operations) - {"build"}:
        command = [*CLI, "index", str(base / "collection"), "-o", str(base / "index"), "--quiet"]
        used = run_measured(["env", f"PYTHONPATH={tree.source}", sys.executable, *command])
        disk = sum(path.stat().st_size for path in (base / "index").rglob("*") if path.is_file()) / 1e6
        figures = f"{used.processor_seconds:.1f} s of processor, {used.peak_memory:.0f} MB of memory, {disk:.1f} MB"
        print(f"{tree.source}: index {figures}", file=sys.stderr)
    for name in [name for name in operations if name not in ("build", "index")]:
        OPERATIONS[name](tree, data)


class Compared(NamedTuple):
    """The processor seconds of an operation, pair by pair."""

    operation: str
    old: list[float]
    new: list[float]

    @property
    def ratios(self) -> list[float]:
        """The ratios of the pairs, sorted."""
        return sorted(new / old for old, new in zip(self.old, self.new, strict=True))

    def row(self) -> str:
        """Return the comparison as a line of a Markdown table."""
        low, high = interval(self.ratios)
        times = f"{median(self.old):.2f} s | {median(self.new):.2f} s"
        return f"| {self.operation} | {len(self.old)} | {times} | {median(self.ratios):.3f} | {low:.3f} to {high:.3f} |"


def interval(ordered: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return two values of a sorted list between which the median lies with at least this probability; all values if
    they are too few."""
    number, tail, cut = len(ordered), 0.0, 0
    while cut < number // 2 and tail + math.comb(number, cut) / 2**number <= (1 - confidence) / 2:
        tail += math.comb(number, cut) / 2**number
        cut += 1
    at = max(cut - 1, 0)
    return ordered[at], ordered[number - 1 - at]


def compare(old: Tree, new: Tree, data: Data, operation: str, pairs: int) -> Compared:
    """Run an operation in both trees, one after the other, in the order ABBA."""
    times: dict[Tree, list[float]] = {old: [], new: []}
    for number in range(pairs):
        for tree in (old, new) if number % 2 == 0 else (new, old):
            times[tree].append(OPERATIONS[operation](tree, data))
        print(f"\r{operation} {number + 1}/{pairs} ", end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    return Compared(operation, times[old], times[new])


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare_speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path, help="a folder with src/porism")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of each operation (default %(default)s)")
    parser.add_argument("--posts", type=int, default=POSTS, help="posts that are generated (default %(default)s)")
    parser.add_argument("--dump", type=Path, help="a folder of a dump to use instead, such as sample/dump")
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries of a search (default %(default)s)")
    parser.add_argument("--only", action="append", choices=OPERATIONS, help="only this operation; may be repeated")
    parser.add_argument("--most", type=float, default=MOST_RATIO, help="largest median ratio (default %(default)s)")
    return parser.parse_args(given)


def command(given: Sequence[str] | None = None) -> int:
    """Compare two trees; print the table."""
    options = arguments(given)
    with tempfile.TemporaryDirectory(prefix="porism-speed-") as place:
        folder = Path(place)
        old, new = Tree(options.old, folder / "old"), Tree(options.new, folder / "new")
        if old.is_compiled != new.is_compiled:
            raise SystemExit("one tree is compiled and the other is not: run `make pure` or install both")
        operations = options.only or list(OPERATIONS)
        data = make_data(folder, options.dump, options.posts, options.queries, operations)
        for tree in (old, new):
            prepare(tree, data, operations)
        found = [compare(old, new, data, name, options.pairs) for name in operations]
    print("\n".join((*HEADER, *(one.row() for one in found))))
    slower = [one.operation for one in found if median(one.ratios) > options.most]
    if slower:
        print(f"slower than {options.most:g} times: {', '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(command())
