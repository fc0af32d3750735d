"""Build a pool from run files, and keep it on disk."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection as Group
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from porism.errors import PorismError
from porism.evaluate.runs.check import check_run, clean_run
from porism.evaluate.runs.lookup import CollectionLookup
from porism.evaluate.runs.problems import counts, reject
from porism.evaluate.runs.run import Run
from porism.files import atomic_directory, digest_file, open_text, report_unreadable
from porism.lab.pooling import pool as pools
from porism.lab.pooling.pool import JudgmentPool, PooledAnswer, PoolItem, RankedRun, RunFormula, SubmittedAnswer

FORMAT = 1
MANIFEST = "pool.json"


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """How to make a pool: `task` is 1 (with Task 3) or 2; runs in `primary` are pooled as deeply as primary ones."""

    task: int
    seed: int = 0
    depths: dict[str, int] = field(default_factory=dict)
    primary: tuple[str, ...] = ()
    policy: str = "votes"
    instances: int = pools.INSTANCES
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A pooled run in the manifest, with the number of problems by kind that the check reported."""

    name: str
    status: str
    depth: int
    sha256: str
    problems: dict[str, int]


class PooledRun(NamedTuple):
    """A run that goes into a pool, and its entry."""

    run: Run
    entry: RunEntry


def read_pool_run(path: Path, options: PoolOptions, topics: Group[str], ids: CollectionLookup) -> PooledRun:
    """Read, check and clean one run; refuse a file with errors."""
    checked = check_run(path, topics, ids)
    reject(checked.problems)
    run = clean_run(checked)
    name = checked.name
    is_task2 = run.kind == "task2" or (name is not None and name.task.startswith("task2"))
    if is_task2 != (options.task == 2):
        fact = f"a run of {run.kind}, but the pool is for task {options.task}"
        raise PorismError(fact, where=str(path), fix="build a separate pool for each task")
    is_primary = (name is not None and name.primary) or run.name in options.primary
    status = "primary" if is_primary else "alternate"
    depth = options.depths.get(status, pools.DEPTHS[options.task][status])
    return PooledRun(run, RunEntry(run.name, status, depth, digest_file(path), counts(checked.problems)))


def build_pool(
    runs: Sequence[PooledRun], options: PoolOptions, ids: CollectionLookup, base: JudgmentPool | None = None
) -> JudgmentPool:
    """Return the pool of these runs; with `base`, the base followed by the items that these runs add."""
    base = base or JudgmentPool()
    new = _formula_pool(runs, options, ids, base) if options.task == 2 else _answer_pool(runs, options, base)
    return JudgmentPool(base.items + new.items, [*base.origins, *sorted(new.origins)], base.answers + new.answers)


def _answer_pool(runs: Sequence[PooledRun], options: PoolOptions, base: JudgmentPool) -> JudgmentPool:
    """Pool Tasks 1 and 3, which are judged together."""
    ranked = [
        RankedRun(run.name, entry.depth, {topic: ranking.items for topic, ranking in run.rankings.items()})
        for run, entry in runs
    ]
    written = (SubmittedAnswer(run.name, topic, one.text) for run, _ in runs for topic, one in run.answers.items())
    named = pools.name_answers([answer for answer in written if answer.text.strip()], base.answers)
    origins = named.origins + pools.depth_pool(ranked)
    return JudgmentPool(pools.judging_order(origins, options.seed, base.items), origins, named.new)


def _formula_pool(
    runs: Sequence[PooledRun], options: PoolOptions, ids: CollectionLookup, base: JudgmentPool
) -> JudgmentPool:
    """Pool Task 2: visually distinct formulas and their instances."""
    rankings = [ranking for run, _ in runs for ranking in run.rankings.values()]
    formulas = ids.formulas({int(item) for ranking in rankings for item in ranking.items})
    hits = {f.id: RunFormula(f.id, f.post_id, f.thread_id, f.visual_id) for f in formulas.values()}
    ranked = []
    for run, entry in runs:
        numbers = {topic: map(int, ranking.items) for topic, ranking in run.rankings.items()}
        known = {topic: [hits[number] for number in row if number in hits] for topic, row in numbers.items()}
        ranked.append(RankedRun(run.name, entry.depth, known))
    origins = pools.visual_pool(ranked)
    items = sorted({pools.ItemId(origin.topic, origin.item) for origin in origins})
    chosen = pools.choose_instances(
        ranked, items, options.seed, policy=options.policy, limit=options.instances, prefix=options.prefix
    )
    return JudgmentPool(pools.judging_order(origins, options.seed, base.items, chosen), origins)


class PoolManifest(NamedTuple):
    """The manifest of a pool: its task and the runs in it."""

    task: int
    runs: tuple[RunEntry, ...]


class BasePool(NamedTuple):
    """An earlier pool that a new one extends, with the entries of its runs."""

    pool: JudgmentPool
    runs: tuple[RunEntry, ...]


def write_pool(
    pool: JudgmentPool, folder: Path, options: PoolOptions, runs: Sequence[PooledRun], earlier: Sequence[RunEntry] = ()
) -> None:
    """Write a pool; `earlier` are the run entries of the pool that it extends."""
    manifest = {
        "format": FORMAT,
        "kind": "pool",
        "options": asdict(options),
        "runs": [asdict(entry) for entry in (*earlier, *(entry for _, entry in runs))],
        "items": len(pool.items),
    }
    with atomic_directory(folder) as target:
        (target / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        shown = [" ".join(f"{formula}:{post}" for formula, post in item.instances) for item in pool.items]
        items = [(item.topic, item.item, item.round, text) for item, text in zip(pool.items, shown, strict=True)]
        _write_table(target / "items.tsv", "\n", items)
        _write_table(target / "origins.tsv", "\n", pool.origins)
        written = [(o.run, o.topic, o.item) for o in pool.origins if pools.is_written_answer(o.item)]
        # As the lab publishes it: no header, CR LF.
        _write_table(target / "task3_map.tsv", "\r\n", written)
        lines = [json.dumps(asdict(answer), ensure_ascii=False) + "\n" for answer in pool.answers]
        (target / "answers.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_table(path: Path, line_end: str, rows: Sequence[Sequence[object]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter="\t", lineterminator=line_end, quoting=csv.QUOTE_NONE, quotechar=None).writerows(rows)


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
        fact = f"a pool of task {manifest.task}, not of task {task}"
        raise PorismError(fact, where=str(folder), fix=f"name a pool of task {task}")
    if again := sorted({run.name for run in manifest.runs} & set(names)):
        raise PorismError(f"already holds the run {again[0]}", where=str(folder), fix="give only the new runs")
    return BasePool(read_pool(folder), manifest.runs)


@report_unreadable("build the pool again")
def read_pool(folder: Path) -> JudgmentPool:
    """Read a pool as it was written."""
    read_manifest(folder)
    items = []
    for topic, item, round_number, instances in _read_table(folder / "items.tsv"):
        pairs = [pair.split(":") for pair in instances.split()]
        shown = tuple(pools.FormulaInstance(int(formula), int(post)) for formula, post in pairs)
        items.append(PoolItem(topic, item, int(round_number), shown))
    origins = [
        pools.PoolOrigin(topic, item, run, int(rank)) for topic, item, run, rank in _read_table(folder / "origins.tsv")
    ]
    with open_text(folder / "answers.jsonl") as stream:
        answers = [PooledAnswer(**json.loads(line)) for line in stream]
    return JudgmentPool(items, origins, answers)


def _read_table(path: Path) -> list[list[str]]:
    with open_text(path) as stream:
        return [line.rstrip("\n").split("\t") for line in stream]
