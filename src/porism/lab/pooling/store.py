"""A pool on disk: a directory that never changes. Additions make a new one from the old one and the new runs.

`items.tsv` goes to the assessors; `origins.tsv` (which run, which rank) and `task3_map.tsv` do not.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.files import atomic_directory, open_text
from porism.lab.pooling.build import PooledRun, PoolOptions
from porism.lab.pooling.rules import Answer, Instance, Origin, Pool, PoolItem

FORMAT = 1
MANIFEST = "pool.json"


def write_pool(
    pool: Pool, folder: Path, options: PoolOptions, runs: Sequence[PooledRun], earlier: Sequence[dict[str, Any]] = ()
) -> None:
    """Write a pool; `earlier` are the run entries of the pool it grew from."""
    entries = [
        {"name": one.run.name, "status": one.status, "depth": one.depth, "sha256": one.sha256, "problems": one.problems}
        for one in runs
    ]
    manifest = {
        "format": FORMAT,
        "kind": "pool",
        "options": asdict(options),
        "runs": [*earlier, *entries],
        "items": len(pool.items),
    }
    with atomic_directory(folder) as place:
        (place / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        _table(place / "items.tsv", "\n", [(i.topic, i.item, i.round, _instances(i)) for i in pool.items])
        _table(place / "origins.tsv", "\n", pool.origins)
        written = [(origin.run, origin.topic, origin.item) for origin in pool.origins if origin.item.startswith("d_")]
        # As the lab publishes it: no header, CR LF.
        _table(place / "task3_map.tsv", "\r\n", written)
        lines = [json.dumps(asdict(answer), ensure_ascii=False) + "\n" for answer in pool.answers]
        (place / "answers.jsonl").write_text("".join(lines), encoding="utf-8")


def _table(path: Path, end: str, rows: Sequence[Sequence[object]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter="\t", lineterminator=end, quoting=csv.QUOTE_NONE, quotechar=None).writerows(rows)


def _instances(item: PoolItem) -> str:
    return " ".join(f"{one.formula_id}:{one.post_id}" for one in item.instances)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a pool says of itself."""
    path = folder / MANIFEST
    if not path.is_file():
        raise PorismError("is not a pool (no pool.json)", where=str(folder), fix="porism pool build")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if manifest.get("kind") != "pool" or manifest.get("format") != FORMAT:
        raise PorismError("is not a pool of this version", where=str(folder), fix="build the pool again")
    return manifest


def read_base(folder: Path, task: int, names: Iterable[str]) -> tuple[Pool, list[dict[str, Any]]]:
    """An earlier pool to add to, and the entries of its runs; it must be of this task and without these runs."""
    manifest = read_manifest(folder)
    if manifest["options"]["task"] != task:
        raise PorismError(
            f"is a pool of task {manifest['options']['task']}", where=str(folder), fix=f"name a pool of task {task}"
        )
    if again := sorted({run["name"] for run in manifest["runs"]} & set(names)):
        raise PorismError(f"already holds the run {again[0]}", where=str(folder), fix="give only the new runs")
    return read_pool(folder), manifest["runs"]


def read_pool(folder: Path) -> Pool:
    """A pool as it was written."""
    read_manifest(folder)
    items = []
    for topic, item, turn, shown in _rows(folder / "items.tsv"):
        pairs = [pair.split(":") for pair in shown.split()]
        items.append(PoolItem(topic, item, int(turn), tuple(Instance(int(a), int(b)) for a, b in pairs)))
    origins = [Origin(topic, item, run, int(rank)) for topic, item, run, rank in _rows(folder / "origins.tsv")]
    with open_text(folder / "answers.jsonl") as stream:
        answers = [Answer(**json.loads(line)) for line in stream]
    return Pool(items, origins, answers)


def _rows(path: Path) -> list[list[str]]:
    with open_text(path) as stream:
        return [line.rstrip("\n").split("\t") for line in stream]
