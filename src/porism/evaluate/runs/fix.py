"""Write a corrected copy of a run file: without invalid hits, with ranks from 1 and without tied scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from porism.evaluate.runs.check import CheckedRun, check_run
from porism.evaluate.runs.id_lookup import CollectionLookup
from porism.evaluate.runs.lines import base_name
from porism.evaluate.runs.problems import counts, reject
from porism.evaluate.runs.run import Ranking, Run, answer_run, write_run
from porism.evaluate.runs.submission import topic_ids


@dataclass(frozen=True, slots=True)
class FixedRun:
    """A corrected run file: where it is, and what was done, in words."""

    path: Path
    message: str


def fix_file(
    path: str, target: str | None = None, topics: str | None = None, collection: str | None = None
) -> FixedRun:
    """Write the corrected run to `target` (default: beside the file, as NAME.fixed.tsv). Refuse a file with errors."""
    checked = check_run(path, topic_ids(topics), CollectionLookup(collection) if collection else None)
    reject(checked.problems)
    place = Path(target) if target else Path(path).with_name(f"{base_name(path)}.fixed.tsv")
    write_run(clean_run(checked), place)
    problems = counts(checked.problems)
    found = ", ".join(f"{number} {kind}" for kind, number in problems.items()) or "no problem found"
    hits = "hit" if len(checked.dropped) == 1 else "hits"
    return FixedRun(place, f"{path}: {found}; {len(checked.dropped)} {hits} dropped")


def clean_run(checked: CheckedRun) -> Run:
    """Return the run without its invalid hits, ordered by score, then rank. Writing it numbers ranks and breaks ties."""
    lines = checked.lines
    if lines.kind == "task3":
        return answer_run(lines)
    rows: dict[str, list[int]] = {}
    for row, topic in enumerate(lines.cells["topic"]):
        if row not in checked.dropped:
            rows.setdefault(topic, []).append(row)
    rankings: dict[str, Ranking] = {}
    posts = lines.cells.get("post", [])
    for topic, mine in rows.items():
        mine.sort(key=lambda row: (-lines.scores[row], lines.ranks[row]))
        items = [lines.cells["item"][row] for row in mine]
        rankings[topic] = Ranking(
            items, [lines.scores[row] for row in mine], [posts[row] for row in mine] if posts else []
        )
    name = base_name(lines.path)
    return Run(name, lines.kind, rankings, next(filter(None, lines.cells["tag"]), name))
