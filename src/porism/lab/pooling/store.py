"""A pool on disk: a directory that never changes. Adding runs makes a new pool from the old one.

`items.tsv` is what assessors get. `origins.tsv` (run and rank of each item) and `task3_map.tsv` are not shown to them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.files import atomic_directory, open_text, report_unreadable
from porism.lab.pooling.build import PooledRun, PoolOptions
from porism.lab.pooling.pool import Instance, Origin, Pool, PoolItem, WrittenAnswer, is_written_answer

FORMAT = 1
MANIFEST = "pool.json"


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A pooled run in the manifest."""

    name: str
    status: str
    depth: int
    sha256: str
    problems: dict[str, int]


@dataclass(frozen=True, slots=True)
class PoolManifest:
    """The manifest of a pool: its task and the runs in it."""

    task: int
    runs: tuple[RunEntry, ...]


@dataclass(frozen=True, slots=True)
class BasePool:
    """An earlier pool that a new one extends, with the entries of its runs."""

    pool: Pool
    runs: tuple[RunEntry, ...]


def write_pool(
    pool: Pool, folder: Path, options: PoolOptions, runs: Sequence[PooledRun], earlier: Sequence[RunEntry] = ()
) -> None:
    """Write a pool; `earlier` are the run entries of the pool that it extends."""
    new = [RunEntry(pooled.run.name, pooled.status, pooled.depth, pooled.sha256, pooled.problems) for pooled in runs]
    manifest = {
        "format": FORMAT,
        "kind": "pool",
        "options": asdict(options),
        "runs": [asdict(entry) for entry in (*earlier, *new)],
        "items": len(pool.items),
    }
    with atomic_directory(folder) as target:
        (target / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        _write_table(target / "items.tsv", "\n", [(i.topic, i.item, i.round, _instances(i)) for i in pool.items])
        _write_table(target / "origins.tsv", "\n", pool.origins)
        written = [(o.run, o.topic, o.item) for o in pool.origins if is_written_answer(o.item)]
        # As the lab publishes it: no header, CR LF.
        _write_table(target / "task3_map.tsv", "\r\n", written)
        lines = [json.dumps(asdict(answer), ensure_ascii=False) + "\n" for answer in pool.answers]
        (target / "answers.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_table(path: Path, line_end: str, rows: Sequence[Sequence[object]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter="\t", lineterminator=line_end, quoting=csv.QUOTE_NONE, quotechar=None).writerows(rows)


def _instances(item: PoolItem) -> str:
    return " ".join(f"{instance.formula_id}:{instance.post_id}" for instance in item.instances)


@report_unreadable("build the pool again")
def read_manifest(folder: Path) -> PoolManifest:
    """Read the manifest of a pool, or explain why the folder is not one."""
    path = folder / MANIFEST
    if not path.is_file():
        raise PorismError("not a pool (no pool.json)", where=str(folder), fix="porism lab pool build")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if manifest.get("kind") != "pool" or manifest.get("format") != FORMAT:
        raise PorismError("not a pool of this version", where=str(folder), fix="build the pool again")
    return PoolManifest(manifest["options"]["task"], tuple(RunEntry(**run) for run in manifest["runs"]))


def read_base(folder: Path, task: int, names: Iterable[str]) -> BasePool:
    """Read an earlier pool to extend; it must be of this task and must not hold the runs with these names."""
    manifest = read_manifest(folder)
    if manifest.task != task:
        raise PorismError(
            f"a pool of task {manifest.task}, not of task {task}", where=str(folder), fix=f"name a pool of task {task}"
        )
    if again := sorted({run.name for run in manifest.runs} & set(names)):
        raise PorismError(f"already holds the run {again[0]}", where=str(folder), fix="give only the new runs")
    return BasePool(read_pool(folder), manifest.runs)


@report_unreadable("build the pool again")
def read_pool(folder: Path) -> Pool:
    """Read a pool as it was written."""
    read_manifest(folder)
    items = []
    for topic, item, round_number, instances in _read_table(folder / "items.tsv"):
        pairs = [pair.split(":") for pair in instances.split()]
        shown = tuple(Instance(int(formula), int(post)) for formula, post in pairs)
        items.append(PoolItem(topic, item, int(round_number), shown))
    origins = [Origin(topic, item, run, int(rank)) for topic, item, run, rank in _read_table(folder / "origins.tsv")]
    with open_text(folder / "answers.jsonl") as stream:
        answers = [WrittenAnswer(**json.loads(line)) for line in stream]
    return Pool(items, origins, answers)


def _read_table(path: Path) -> list[list[str]]:
    with open_text(path) as stream:
        return [line.rstrip("\n").split("\t") for line in stream]
