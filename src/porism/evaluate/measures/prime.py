"""The prime filter, and formulas as visual ids: what happens to a run before it is measured."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.runs.run import LIMIT, Ranking, Run
from porism.files import open_text


def limited(ranking: Ranking, limit: int = LIMIT) -> Ranking:
    """The first `limit` hits in trec_eval's order; done before any filter."""
    if len(ranking.items) <= limit and len(set(ranking.items)) == len(ranking.items):
        return ranking
    best = ranking.pairs(limit)
    return Ranking([item for item, _ in best], [score for _, score in best])


def primed(run: Run, qrels: Mapping[str, Mapping[str, int]], limit: int = LIMIT) -> Run:
    """Only hits of the (judged) qrels stay, in their order and with their scores; a topic without one is gone. Doing it twice changes nothing."""
    kept: dict[str, Ranking] = {}
    for topic, ranking in run.rankings.items():
        grades = qrels.get(topic)
        if not grades:
            continue
        top = limited(ranking, limit)
        known = [item in grades for item in top.items]
        if any(known):
            kept[topic] = Ranking(list(compress(top.items, known)), list(compress(top.scores, known)))
    return replace(run, rankings=kept)


def as_visual(run: Run, visual: Mapping[str, str], limit: int = LIMIT) -> Run:
    """A Task 2 run of visual ids: hits by score (equal ones in file order), each visual id once, at its best place.

    A hit whose post is `-` is a visual id already. A formula that the map does not know is an error only if none is known.
    """
    known = 0
    mapped: dict[str, Ranking] = {}
    for topic, ranking in run.rankings.items():
        posts = ranking.posts or [""] * len(ranking.items)
        order = sorted(range(len(ranking.items)), key=lambda place: -ranking.scores[place])[:limit]
        first: dict[str, float] = {}
        for place in order:
            name = ranking.items[place] if posts[place] == "-" else visual.get(ranking.items[place])
            if name is not None:
                known += 1
                first.setdefault(name, ranking.scores[place])
        if first:
            mapped[topic] = Ranking(list(first), list(first.values()))
    if not known:
        raise PorismError(
            f"no formula id of run {run.name} is in the map",
            fix="give the formulas of the collection that the run was made on",
        )
    return replace(run, rankings=mapped, kind="trec")


def read_visual_map(path: str | Path) -> dict[str, str]:
    """Formula id -> visual id, from a table whose header has `id` (or formula_id) and `visual_id`, or from two columns without header."""
    with open_text(path) as stream:
        first = stream.readline().rstrip("\n").split("\t")
        named = {name.strip().lower(): place for place, name in enumerate(first)}
        key, value = named.get("id", named.get("formula_id", 0)), named.get("visual_id", 1)
        found = {} if "visual_id" in named else {first[key]: first[value]} if len(first) == 2 else None
        if found is None:
            raise PorismError(
                "no columns id and visual_id", where=f"{path}:1", fix="write a header that names them, or two columns"
            )
        for cells in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(cells) > max(key, value):
                found[cells[key]] = cells[value]
    return found
