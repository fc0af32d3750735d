"""Convert run files between the columns of Task 1, Task 2 and trec_eval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from porism.errors import PorismError
from porism.evaluate.runs.run import Ranking, Run, read_run, write_run
from porism.store import open_content

Format = Literal["trec", "task1", "task2"]
UNKNOWN = "-"  # where a file has no post


def convert_run(path: str | Path, out: str | Path, to: Format, collection: str | Path | None = None) -> str:
    """Write a run in another format and return a message. Formulas of Task 2 need their posts: from the file, or looked up in a collection."""
    run = read_run(path)
    if run.kind == "task3" or (run.kind in ("task1", "task2") and to in ("task1", "task2") and run.kind != to):
        raise PorismError(
            f"a {run.kind} run cannot become a {to} run",
            where=str(path),
            fix="convert a run of the same task, or to trec",
        )
    if to == "task2" and run.kind != "task2":
        run = _with_posts(run, collection, str(path))
    write_run(run, out, to)
    return f"wrote {out}: {len(run.rankings)} topics as {to}"


def _with_posts(run: Run, collection: str | Path | None, where: str) -> Run:
    if collection is None:
        raise PorismError("does not name the posts of its formulas", where=where, fix="add --collection DIR")
    items = [item for ranking in run.rankings.values() for item in ranking.items]
    wrong = next((item for item in items if not item.isdecimal()), None)
    if wrong is not None:
        raise PorismError(f"{wrong} is no formula id", where=where, fix="convert a run of Task 2")
    formulas = open_content(collection).formulas_by_id([int(item) for item in items])
    rankings = {}
    for topic, ranking in run.rankings.items():
        posts = [str(formulas[int(item)].post_id or UNKNOWN) for item in ranking.items]
        rankings[topic] = Ranking(ranking.items, ranking.scores, posts)
    return replace(run, rankings=rankings)
