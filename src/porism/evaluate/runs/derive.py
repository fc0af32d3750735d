"""Make run files from others: convert their columns, or fuse them topic by topic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from porism.errors import PorismError
from porism.evaluate.fusion import FUSIONS, RRF_K, Fusion, ScoredIds
from porism.evaluate.runs.run import LIMIT, Run, RunRanking, read_run, write_run
from porism.records import topic_key
from porism.store import open_content

Format = Literal["trec", "task1", "task2"]
UNKNOWN = "-"  # where a file has no post


def convert_run(path: str | Path, out: str | Path, to: Format, collection: str | Path | None = None) -> str:
    """Write a run in another format; return a message. Formulas need their posts, from the file or a collection."""
    run = read_run(path)
    if run.kind == "task3" or (run.kind in ("task1", "task2") and to in ("task1", "task2") and run.kind != to):
        fact = f"a {run.kind} run cannot become a {to} run"
        raise PorismError(fact, where=str(path), fix="convert a run of the same task, or to trec")
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
        raise PorismError(f"{wrong} is not a formula id", where=where, fix="convert a run of Task 2")
    formulas = open_content(collection).formulas_by_id([int(item) for item in items])
    rankings = {}
    for topic, ranking in run.rankings.items():
        posts = [str(formulas[int(item)].post_id or UNKNOWN) for item in ranking.items]
        rankings[topic] = RunRanking(ranking.items, ranking.scores, posts)
    return replace(run, rankings=rankings)


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    weights: Sequence[float] | None = None,
    k: float = RRF_K,
    tag: str = "fused",
) -> Run:
    """Fuse runs of one kind by a method of `porism.evaluate.fusion`."""
    fusion = FUSIONS.get(method)
    if fusion is None:
        raise PorismError(f"unknown fusion {method!r}", fix=f"choose one of {', '.join(FUSIONS)}")
    if len(runs) < 2 or len({run.kind for run in runs}) != 1 or runs[0].kind == "task3":
        fact = "fusion needs two or more runs of one kind, with rankings"
        raise PorismError(fact, fix="give Task 1, Task 2 or trec_eval files of one task")
    shares = [1.0] * len(runs) if weights is None else list(weights)
    are_valid = all(math.isfinite(weight) and weight >= 0 for weight in shares) and sum(shares) > 0
    if len(shares) != len(runs) or not are_valid:
        fact = f"{len(shares)} weights for {len(runs)} runs"
        raise PorismError(fact, fix="give one weight per run, none negative, not all 0")
    topics = sorted({topic for run in runs for topic in run.rankings}, key=topic_key)
    fused = {topic: _fuse_topic(runs, topic, fusion, shares, k) for topic in topics}
    return Run(tag, runs[0].kind, fused, tag)


def _fuse_topic(runs: Sequence[Run], topic: str, fusion: Fusion, weights: Sequence[float], k: float) -> RunRanking:
    rankings = [run.rankings.get(topic, RunRanking([], [])).in_score_order(LIMIT) for run in runs]
    # Descending, because fusions order equal scores by ascending id, and trec_eval by descending item.
    items = sorted({item for ranking in rankings for item in ranking.items}, reverse=True)
    number = {item: place for place, item in enumerate(items)}
    coded = [
        ScoredIds(np.array([number[item] for item in ranking.items], np.int64), np.array(ranking.scores))
        for ranking in rankings
    ]
    fused = fusion(coded, weights, k)
    names = [items[place] for place in fused.ids[:LIMIT]]
    posts: dict[str, str] = {}
    for whole in (run.rankings[topic] for run in runs if topic in run.rankings):
        for item, post in zip(whole.items, whole.posts, strict=False):
            posts[item] = max(posts.get(item, post), post)  # where runs differ, whichever comes first
    return RunRanking(names, fused.scores[:LIMIT].tolist(), [posts[name] for name in names] if posts else [])
