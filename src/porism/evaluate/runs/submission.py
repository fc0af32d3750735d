"""Check the run files of a submission together, and write corrected copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from porism.evaluate.runs.check import CheckedRun, check_run
from porism.evaluate.runs.id_lookup import CollectionLookup
from porism.evaluate.runs.lines import base_name
from porism.evaluate.runs.problems import Problem, counts, reject
from porism.evaluate.runs.run import Ranking, Run, answer_run, write_run

MOST_RUNS = 5


def check_files(files: Sequence[str], topics: str | None = None, collection: str | None = None) -> list[Problem]:
    """Return the problems of each file, then those of the files together."""
    lookup = CollectionLookup(collection) if collection else None
    ids = topic_ids(topics)
    checked = [check_run(path, ids, lookup) for path in files]
    return [problem for run in checked for problem in run.problems] + list(check_submission(checked))


def topic_ids(path: str | None) -> tuple[str, ...]:
    """Return the ids of a topic file; none without a file."""
    if path is None:
        return ()
    from porism.corpus.topics.files import read_topics

    return tuple(topic.id for topic in read_topics(path))


def check_submission(checked: Iterable[CheckedRun]) -> Iterator[Problem]:
    """Check the rules for a team: at most five runs per task, exactly one of them primary."""
    teams: dict[tuple[str, str], list[CheckedRun]] = {}
    for run in checked:
        if run.name is not None:
            teams.setdefault((run.name.group, run.name.task), []).append(run)
    for (group, task), runs in teams.items():
        primary = [run for run in runs if run.name is not None and run.name.primary]
        for run in primary[1:]:
            message = f"a second primary run of {group} for {task} (first: {primary[0].lines.path})"
            yield Problem("two-primaries", run.lines.path, 0, message)
        if len(runs) > 1 and not primary:
            message = f"none of the {len(runs)} runs of {group} for {task} is primary"
            yield Problem("no-primary", runs[0].lines.path, 0, message)
        if len(runs) > MOST_RUNS:
            message = f"{len(runs)} runs of {group} for {task}; {MOST_RUNS} are allowed"
            yield Problem("too-many-runs", runs[MOST_RUNS].lines.path, 0, message)


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
    """Return the run without its invalid hits, ordered by score, then rank. Writing it numbers ranks and breaks
    ties."""
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
