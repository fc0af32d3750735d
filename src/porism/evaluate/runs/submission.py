"""Check several run files together, as the submission of one or more teams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from porism.evaluate.runs.check import CheckedRun, check_run
from porism.evaluate.runs.id_lookup import CollectionLookup
from porism.evaluate.runs.problems import Problem

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
