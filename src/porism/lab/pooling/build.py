"""Build a pool from run files, and keep it on disk."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection as Group
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from porism.corpus.post import Formula
from porism.errors import PorismError
from porism.evaluate.runs.check import check_run, clean_run
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.lookup import IdLookup
from porism.evaluate.runs.problems import counts, reject
from porism.evaluate.runs.run import Run
from porism.files import atomic_directory, digest_file, open_text, report_unreadable
from porism.lab.pooling.formulas import INSTANCES, RankedFormulaRun, RunFormula, choose_instances, visual_pool
from porism.lab.pooling.pool import (
    DEPTHS,
    FormulaInstance,
    ItemId,
    JudgmentPool,
    PooledAnswer,
    PoolItem,
    PoolOrigin,
    RankedRun,
    SubmittedAnswer,
    depth_pool,
    is_written_answer,
    judging_order,
    name_answers,
)


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """How to make a pool.

    `task` is 1 (with the answers of Task 3) or 2. `primary` names runs that are pooled as deeply as primary ones.
    """

    task: int
    seed: int = 0
    depths: dict[str, int] = field(default_factory=dict)
    primary: tuple[str, ...] = ()
    policy: str = "votes"
    instances: int = INSTANCES
    prefix: bool = False

    def depth(self, status: str) -> int:
        """Return the pooling depth of a run with this status."""
        return self.depths.get(status, DEPTHS[self.task][status])


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A run that went into a pool, with the number of problems by kind that the check reported."""

    run: Run
    status: str
    depth: int
    sha256: str
    problems: dict[str, int]


def read_pool_run(path: Path, options: PoolOptions, topics: Group[str], ids: IdLookup) -> PooledRun:
    """Read, check and clean one run; refuse a file with errors."""
    checked = check_run(path, topics, ids)
    reject(checked.problems)
    run = clean_run(checked)
    if (run.kind == "task2" or (checked.name is not None and checked.name.task.startswith("task2"))) != (
        options.task == 2
    ):
        raise PorismError(
            f"a run of {run.kind}, but the pool is for task {options.task}",
            where=str(path),
            fix="build a separate pool for each task",
        )
    name = parse_name(path.name)
    is_primary = (name is not None and name.primary) or run.name in options.primary
    status = "primary" if is_primary else "alternate"
    return PooledRun(run, status, options.depth(status), digest_file(path), counts(checked.problems))


def build_pool(
    runs: Sequence[PooledRun], options: PoolOptions, ids: IdLookup, base: JudgmentPool | None = None
) -> JudgmentPool:
    """Return the pool of these runs; with `base`, the base followed by the items that these runs add."""
    base = base or JudgmentPool()
    new = _formula_pool(runs, options, ids, base) if options.task == 2 else _answer_pool(runs, options, base)
    return JudgmentPool(base.items + new.items, [*base.origins, *sorted(new.origins)], base.answers + new.answers)


def _answer_pool(runs: Sequence[PooledRun], options: PoolOptions, base: JudgmentPool) -> JudgmentPool:
    """Pool Tasks 1 and 3, which are judged together."""
    ranked = [
        RankedRun(
            pooled.run.name, pooled.depth, {topic: ranking.items for topic, ranking in pooled.run.rankings.items()}
        )
        for pooled in runs
        if pooled.run.kind != "task3"
    ]
    submitted = [
        SubmittedAnswer(pooled.run.name, topic, answer.text)
        for pooled in runs
        for topic, answer in pooled.run.answers.items()
        if answer.text.strip()
    ]
    named = name_answers(submitted, base.answers)
    origins = named.origins + depth_pool(ranked)
    return JudgmentPool(judging_order(origins, options.seed, base.items), origins, named.new)


def _formula_pool(runs: Sequence[PooledRun], options: PoolOptions, ids: IdLookup, base: JudgmentPool) -> JudgmentPool:
    """Pool Task 2: visually distinct formulas and their instances."""
    rankings = [ranking for pooled in runs for ranking in pooled.run.rankings.values()]
    formulas = ids.formulas({int(item) for ranking in rankings for item in ranking.items})
    ranked = [
        RankedFormulaRun(
            pooled.run.name,
            pooled.depth,
            {topic: _hits(ranking.items, formulas) for topic, ranking in pooled.run.rankings.items()},
        )
        for pooled in runs
    ]
    origins = visual_pool(ranked)
    items = sorted({ItemId(origin.topic, origin.item) for origin in origins})
    chosen = choose_instances(
        ranked, items, options.seed, policy=options.policy, limit=options.instances, prefix=options.prefix
    )
    return JudgmentPool(judging_order(origins, options.seed, base.items, chosen), origins)


def _hits(items: Iterable[str], formulas: Mapping[int, Formula]) -> list[RunFormula]:
    found = [formulas[int(item)] for item in items if int(item) in formulas]
    return [RunFormula(f.id, f.post_id, f.thread_id, f.visual_id) for f in found]


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

    pool: JudgmentPool
    runs: tuple[RunEntry, ...]


def write_pool(
    pool: JudgmentPool, folder: Path, options: PoolOptions, runs: Sequence[PooledRun], earlier: Sequence[RunEntry] = ()
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
def read_pool(folder: Path) -> JudgmentPool:
    """Read a pool as it was written."""
    read_manifest(folder)
    items = []
    for topic, item, round_number, instances in _read_table(folder / "items.tsv"):
        pairs = [pair.split(":") for pair in instances.split()]
        shown = tuple(FormulaInstance(int(formula), int(post)) for formula, post in pairs)
        items.append(PoolItem(topic, item, int(round_number), shown))
    origins = [
        PoolOrigin(topic, item, run, int(rank)) for topic, item, run, rank in _read_table(folder / "origins.tsv")
    ]
    with open_text(folder / "answers.jsonl") as stream:
        answers = [PooledAnswer(**json.loads(line)) for line in stream]
    return JudgmentPool(items, origins, answers)


def _read_table(path: Path) -> list[list[str]]:
    with open_text(path) as stream:
        return [line.rstrip("\n").split("\t") for line in stream]
