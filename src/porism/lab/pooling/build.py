"""From run files to a pool: runs are checked, invalid hits filtered, depths chosen by status, items pooled."""

from __future__ import annotations

from collections.abc import Collection as Group
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.runs.check import check_run
from porism.evaluate.runs.fix import clean_run
from porism.evaluate.runs.id_lookup import IdLookup
from porism.evaluate.runs.name import parse_name
from porism.evaluate.runs.problems import counts, reject
from porism.evaluate.runs.run import Run
from porism.files import digest_file
from porism.lab.pooling.formulas import INSTANCES, FormulaHit, FormulaRanking, choose_instances, visual_pool
from porism.lab.pooling.rules import DEPTHS, Pool, Ranking, depth_pool, judging_order, name_answers


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """How a pool is made. `task` is 1 (with the answers of Task 3) or 2; `primary` names runs pooled as deeply as primary ones."""

    task: int
    seed: int = 0
    depths: dict[str, int] = field(default_factory=dict)
    primary: tuple[str, ...] = ()
    policy: str = "votes"
    instances: int = INSTANCES
    prefix: bool = False

    def depth(self, status: str) -> int:
        """How deep a run of this status is pooled."""
        return self.depths.get(status, DEPTHS[self.task][status])


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A run that went into a pool, with what the check found."""

    run: Run
    status: str
    depth: int
    sha256: str
    problems: dict[str, int]


def read_pool_run(path: Path, options: PoolOptions, topics: Group[str], facts: IdLookup) -> PooledRun:
    """Read, check and clean one run; a file with errors is refused."""
    checked = check_run(path, topics, facts)
    reject(checked.problems)
    run = clean_run(checked)
    if (run.kind == "task2" or (checked.name is not None and checked.name.task.startswith("task2"))) != (
        options.task == 2
    ):
        raise PorismError(
            f"is a run of {run.kind}, the pool is of task {options.task}",
            where=str(path),
            fix="pool each task by itself",
        )
    said = parse_name(path.name)
    is_primary = (said is not None and said.primary) or run.name in options.primary
    status = "primary" if is_primary else "alternate"
    return PooledRun(run, status, options.depth(status), digest_file(path), counts(checked.problems))


def build_pool(runs: Sequence[PooledRun], options: PoolOptions, facts: IdLookup, base: Pool | None = None) -> Pool:
    """The pool of these runs, or (with `base`) the base and after it the items that these runs add."""
    base = base or Pool()
    make = _formula_pool if options.task == 2 else _answer_pool
    new = make(runs, options, facts, base)
    return Pool(base.items + new.items, [*base.origins, *sorted(new.origins)], base.answers + new.answers)


def _answer_pool(runs: Sequence[PooledRun], options: PoolOptions, facts: IdLookup, base: Pool) -> Pool:
    """Tasks 1 and 3, judged together."""
    ranked = [
        Ranking(one.run.name, one.depth, {topic: ranking.items for topic, ranking in one.run.rankings.items()})
        for one in runs
        if one.run.kind != "task3"
    ]
    written = [
        (one.run.name, topic, answer.text)
        for one in runs
        for topic, answer in one.run.answers.items()
        if answer.text.strip()
    ]
    answers, origins = name_answers(written, base.answers)
    origins += depth_pool(ranked)
    return Pool(judging_order(origins, options.seed, base.items), origins, answers)


def _formula_pool(runs: Sequence[PooledRun], options: PoolOptions, facts: IdLookup, base: Pool) -> Pool:
    """Task 2: visually distinct formulas and their instances."""
    rankings = [
        FormulaRanking(
            one.run.name, one.depth, {topic: _hits(ranking.items, facts) for topic, ranking in one.run.rankings.items()}
        )
        for one in runs
    ]
    origins = visual_pool(rankings)
    pooled = sorted({(origin.topic, origin.item) for origin in origins})
    chosen = choose_instances(
        rankings, pooled, options.seed, policy=options.policy, limit=options.instances, prefix=options.prefix
    )
    return Pool(judging_order(origins, options.seed, base.items, chosen), origins)


def _hits(items: Iterable[str], facts: IdLookup) -> list[FormulaHit]:
    found = [facts.formula(int(item)) for item in items]
    return [FormulaHit(one.id, one.post_id, one.thread_id, one.visual_id) for one in found if one is not None]
