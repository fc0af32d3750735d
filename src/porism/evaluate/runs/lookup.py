"""Look up the ids of runs in a collection: posts, formulas, and the visual ids by which formulas are judged."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from porism.corpus.content import batched
from porism.corpus.post import Formula
from porism.errors import PorismError
from porism.evaluate.qrels import Qrels
from porism.evaluate.runs.run import LIMIT, Run, RunRanking, read_run
from porism.files import open_text, report_unreadable

POSTS_TOGETHER = 1000  # posts are read with their texts
FORMULAS_TOGETHER = 20_000


class CollectionLookup:
    """Look up ids in a collection."""

    def __init__(self, address: str | Path) -> None:
        from porism.store import open_content

        self.content = open_content(address)

    def post_kinds(self, ids: Iterable[int]) -> dict[int, str]:
        """Return `question` or `answer` for those of the ids that are posts."""
        kinds: dict[int, str] = {}
        for known in batched(sorted(self.content.known_posts([*ids])), POSTS_TOGETHER):
            kinds.update((number, post.kind) for number, post in self.content.posts_by_id(known).items())
        return kinds

    def formulas(self, ids: Iterable[int]) -> dict[int, Formula]:
        """Return those of the ids that are formulas."""
        wanted = sorted(set(ids))
        try:
            return self.content.formulas_by_id(wanted)
        except PorismError:  # one of them is unknown: the halves are read until only that one is left
            middle = len(wanted) // 2
            return {**self.formulas(wanted[:middle]), **self.formulas(wanted[middle:])} if middle else {}

    def bodies(self, items: Iterable[str]) -> dict[str, str]:
        """Return the HTML of those posts that the collection has."""
        numbers = {item: int(item) for item in items}
        posts = self.content.posts_by_id([*self.content.known_posts([*numbers.values()])])
        return {item: posts[number].body.html() for item, number in numbers.items() if number in posts}


def to_visual_ids(run: Run, visual: Mapping[str, str]) -> Run:
    """Return a Task 2 run of visual ids, each at the best rank of its formulas; equal scores stay in their order.

    A hit whose post is `-` is a visual id already. Unknown formulas are left out, but at least one must be known.
    """
    mapped: dict[str, RunRanking] = {}
    for topic, ranking in run.rankings.items():
        posts = ranking.posts or [""] * len(ranking.items)
        order = sorted(range(len(ranking.items)), key=lambda place: -ranking.scores[place])[:LIMIT]
        first: dict[str, float] = {}
        for place in order:
            name = ranking.items[place] if posts[place] == "-" else visual.get(ranking.items[place])
            if name is not None:
                first.setdefault(name, ranking.scores[place])
        if first:
            mapped[topic] = RunRanking(list(first), list(first.values()))
    if not mapped:
        fix = "give the formulas of the collection that the run was made on"
        raise PorismError(f"the map has none of the formula ids of run {run.name}", fix=fix)
    return replace(run, rankings=mapped, kind="trec")


@report_unreadable("write a header that names id and visual_id")
def read_visual_map(path: str | Path) -> dict[str, str]:
    """Read a table that maps formula ids to visual ids: with a header that names `id` (or `formula_id`) and
    `visual_id`, or two columns without header."""
    with open_text(path) as stream:
        first = stream.readline().rstrip("\n").split("\t")
        named = {name.strip().lower(): place for place, name in enumerate(first)}
        key, value = named.get("id", named.get("formula_id", 0)), named.get("visual_id", 1)
        found = {} if "visual_id" in named else {first[key]: first[value]} if len(first) == 2 else None
        if found is None:
            fix = "write a header that names them, or two columns"
            raise PorismError("no columns id and visual_id", where=f"{path}:1", fix=fix)
        for cells in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(cells) > max(key, value):
                found[cells[key]] = cells[value]
    return found


def find_visual_ids(
    runs: Sequence[str | Path], collection: str | Path | None, table: str | Path | None, qrels: Qrels
) -> dict[str, str] | None:
    """Return the visual ids of the formulas in runs and qrels, from a table or a collection; None without either."""
    if table is not None:
        return read_visual_map(table)
    if collection is None:
        return None
    lookup = CollectionLookup(collection)
    items = {item for path in runs for ranking in read_run(path).rankings.values() for item in ranking.items}
    items.update(item for grades in qrels.values() for item in grades)
    found: dict[str, str] = {}
    for batch in batched((item for item in sorted(items) if item.isdecimal()), FORMULAS_TOGETHER):
        formulas = lookup.formulas(map(int, batch))
        found.update((item, str(formulas[int(item)].visual_id)) for item in batch if int(item) in formulas)
    return found


def read_runs(paths: Sequence[str | Path], visual: Mapping[str, str] | None = None) -> list[Run]:
    """Read runs; with a map, those of Task 2 as runs of visual ids."""
    found = [read_run(path) for path in paths]
    return found if visual is None else [to_visual_ids(run, visual) if run.kind == "task2" else run for run in found]
