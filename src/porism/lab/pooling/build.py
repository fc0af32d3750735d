"""Build a pool from run files: check the runs, drop invalid hits, choose the depth by status, pool the items."""

from __future__ import annotations

from collections.abc import Collection as Group
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from porism.corpus.post import Formula
from porism.errors import PorismError
from porism.evaluate.runs.check import check_run
from porism.evaluate.runs.id_lookup import IdLookup
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.problems import counts, reject
from porism.evaluate.runs.run import Run
from porism.evaluate.runs.submission import clean_run
from porism.files import digest_file
from porism.lab.pooling.formulas import INSTANCES, FormulaHit, RankedFormulaRun, choose_instances, visual_pool
from porism.lab.pooling.pool import (
    DEPTHS,
    ItemId,
    Pool,
    RankedRun,
    SubmittedAnswer,
    depth_pool,
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


def build_pool(runs: Sequence[PooledRun], options: PoolOptions, ids: IdLookup, base: Pool | None = None) -> Pool:
    """Return the pool of these runs; with `base`, the base followed by the items that these runs add."""
    base = base or Pool()
    new = _formula_pool(runs, options, ids, base) if options.task == 2 else _answer_pool(runs, options, base)
    return Pool(base.items + new.items, [*base.origins, *sorted(new.origins)], base.answers + new.answers)


def _answer_pool(runs: Sequence[PooledRun], options: PoolOptions, base: Pool) -> Pool:
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
    return Pool(judging_order(origins, options.seed, base.items), origins, named.new)


def _formula_pool(runs: Sequence[PooledRun], options: PoolOptions, ids: IdLookup, base: Pool) -> Pool:
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
    return Pool(judging_order(origins, options.seed, base.items, chosen), origins)


def _hits(items: Iterable[str], formulas: Mapping[int, Formula]) -> list[FormulaHit]:
    found = [formulas[int(item)] for item in items if int(item) in formulas]
    return [FormulaHit(f.id, f.post_id, f.thread_id, f.visual_id) for f in found]
