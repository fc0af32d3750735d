"""Check run files by the lab's rules, each by itself and those of a team together; write corrected copies."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from porism.corpus.topics.files import read_topics
from porism.evaluate.runs.lines import RunLines, RunName, base_name, parse_name, read_lines, topic_rows
from porism.evaluate.runs.lookup import CollectionLookup
from porism.evaluate.runs.problems import RunProblem, counts, reject
from porism.evaluate.runs.run import LIMIT, Run, RunRanking, answer_run, single_precision, write_run
from porism.evaluate.text_measures import DOLLAR

LONGEST_ANSWER = 1200
UNKNOWN = -1  # what no id is
PREFIX = {"task1": "A", "task2": "B", "task3": "A"}
MOST_RUNS = 5  # of a team for a task


@dataclass(slots=True)
class CheckedRun:
    """A run file and its problems; `dropped` holds the rows of invalid hits (level F)."""

    lines: RunLines
    name: RunName | None
    problems: list[RunProblem] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)

    def drop(self, row: int, kind: str, message: str) -> None:
        """Drop a hit. Only the first reason is recorded."""
        if row not in self.dropped:
            self.dropped.add(row)
            self.note(kind, self.lines.lines[row], message, self.lines.cells["topic"][row])

    def note(self, kind: str, line: int, message: str, topic: str = "") -> None:
        """Record a problem."""
        self.problems.append(RunProblem(kind, self.lines.path, line, message, topic))


def check_run(path: str | Path, topics: Collection[str] = (), lookup: CollectionLookup | None = None) -> CheckedRun:
    """Check one file. Without `topics`, topics are not checked; without `lookup`, ids are not looked up."""
    lines = read_lines(path)
    checked = CheckedRun(lines, parse_name(str(path)), list(lines.problems))
    _check_name(checked)
    _check_topics(checked, topics)
    _check_tags(checked)
    if lines.kind == "task3":
        _check_answers(checked)
    else:
        _check_rankings(checked)
        if lookup is not None:
            _check_ids(checked, lookup)
    checked.problems.sort(key=lambda problem: (problem.line, problem.kind))
    return checked


def _check_name(checked: CheckedRun) -> None:
    """Check the file's name against the lab's pattern. A run of `porism run` has a record, and may have any name."""
    if checked.name is None:
        record = None
        with suppress(OSError, ValueError):
            record = json.loads(Path(checked.lines.path).with_suffix(".json").read_text("utf-8"))
        if not (isinstance(record, dict) and "system" in record and "task" in record):
            name = base_name(checked.lines.path)
            checked.note("name", 0, f"the name {name} does not give group, task, id, run type, data and eval")
    elif checked.name.deviations:
        checked.note("name-deviation", 0, f"the name is read as {checked.name} ({'; '.join(checked.name.deviations)})")


def _check_topics(checked: CheckedRun, topics: Collection[str]) -> None:
    """Find unknown topics, missing topics, and A and B topics in one file."""
    known = set(topics)
    first: dict[str, int] = {}
    for topic, start, _ in topic_rows(checked.lines.cells["topic"]):
        first.setdefault(topic, checked.lines.lines[start])
    prefixes = {topic[:1]: topic for topic in reversed(first) if re.match(r"[AB]\.", topic)}
    expected = PREFIX.get(checked.lines.kind) or (next(iter(first))[:1] if first else "")
    for prefix, topic in prefixes.items():
        if prefix != expected:
            checked.note("task-mix", first[topic], f"topic {topic} in a run of {expected} topics", topic)
    for topic, line in first.items():
        if known and topic not in known and topic[:1] not in set(prefixes) - {expected}:
            checked.note("unknown-topic", line, f"there is no topic {topic}", topic)
    missing = [topic for topic in topics if topic not in first]
    if missing:
        some = ", ".join([*missing[:5], *(["..."] if len(missing) > 5 else [])])
        checked.note("missing-topics", 0, f"{len(missing)} of {len(known)} topics are missing: {some}")


def _check_tags(checked: CheckedRun) -> None:
    """Check that the whole file has one run id."""
    tags = checked.lines.cells["tag"]
    first = next((row for row, tag in enumerate(tags) if tag), 0)
    if len(set(tags) - {""}) > 1:
        row = next(row for row, tag in enumerate(tags) if tag and tag != tags[first])
        message = f"run id {tags[row]!r} differs from {tags[first]!r} at line {checked.lines.lines[first]}"
        checked.note("run-id", checked.lines.lines[row], message)


def _check_answers(checked: CheckedRun) -> None:
    """Check a Task 3 run: length, one answer per topic, rank 1, dollar signs in pairs, no empty answer."""
    seen: dict[str, int] = {}
    cells = checked.lines.cells
    for row, (topic, text) in enumerate(zip(cells["topic"], cells["answer"], strict=True)):
        line, rank, dollars = checked.lines.lines[row], checked.lines.ranks[row], len(DOLLAR.findall(text))
        if topic in seen:
            fact = f"a second answer for topic {topic} (first at line {seen[topic]})"
            checked.note("second-answer", line, fact, topic)
        seen.setdefault(topic, line)
        if len(text) > LONGEST_ANSWER:
            fact = f"the answer has {len(text)} characters, {LONGEST_ANSWER} are allowed"
            checked.note("answer-too-long", line, fact, topic)
        if rank != 1:
            checked.note("answer-rank", line, f"rank {rank}; the only answer of a topic has rank 1", topic)
        if not text.strip():
            checked.note("empty-answer", line, f"the answer to topic {topic} is empty", topic)
        if dollars % 2:
            checked.note("odd-dollars", line, f"{dollars} dollar signs: a formula is not closed", topic)


def _check_rankings(checked: CheckedRun) -> None:
    """Check ranks, scores, repeated hits and hits beyond the limit, topic by topic."""
    rows_of: dict[str, list[int] | range] = {}
    for topic, start, end in topic_rows(checked.lines.cells["topic"]):
        rows_of[topic] = [*rows_of[topic], *range(start, end)] if topic in rows_of else range(start, end)
    ranks, scores = np.asarray(checked.lines.ranks), single_precision(checked.lines.scores)
    if ranks.size and ranks.min() == 0:
        row = int(np.argmin(ranks))
        checked.note("rank-zero", checked.lines.lines[row], "ranks start at 0", checked.lines.cells["topic"][row])
        ranks = ranks + 1
    for topic, rows in rows_of.items():
        part = slice(rows.start, rows.stop) if isinstance(rows, range) else np.asarray(rows)
        _check_order(checked, topic, rows, ranks[part], scores[part])
        _check_repeats(checked, topic, rows)


def _check_order(
    checked: CheckedRun, topic: str, rows: list[int] | range, ranks: np.ndarray, scores: np.ndarray
) -> None:
    """Find gaps and repeats in rank, rising scores, ties, and hits beyond the limit."""
    order = np.argsort(ranks, kind="stable")
    sorted_ranks, sorted_scores = ranks[order], scores[order]
    line = checked.lines.lines
    gaps = np.flatnonzero(np.diff(sorted_ranks, prepend=0) != 1)
    if gaps.size:
        row = rows[int(order[gaps[0]])]
        message = f"ranks of topic {topic} have gaps or repeats (first: {checked.lines.ranks[row]})"
        checked.note("rank-gap", line[row], message, topic)
    steps = np.diff(sorted_scores)
    if np.any(steps > 0):
        row = rows[int(order[int(np.argmax(steps > 0)) + 1])]
        checked.note("score-order", line[row], f"scores of topic {topic} rise at {int((steps > 0).sum())} ranks", topic)
    by_score = np.sort(scores)
    ties = int((np.diff(by_score) == 0).sum())
    if ties:
        same = sorted_scores[1:][steps == 0]
        value = same[0] if same.size else by_score[1:][np.diff(by_score) == 0][0]
        row = rows[int(np.flatnonzero(scores == value)[1])]
        message = f"{ties} scores of topic {topic} are tied (as 32-bit numbers); trec_eval will order them by id"
        checked.note("tied-scores", line[row], message, topic)
    for place in [*np.flatnonzero(sorted_ranks > LIMIT).tolist(), *range(LIMIT, len(rows))]:
        row = rows[int(order[place])]
        checked.drop(row, "beyond-limit", f"rank {checked.lines.ranks[row]} of topic {topic} is beyond {LIMIT}")


def _check_repeats(checked: CheckedRun, topic: str, rows: list[int] | range) -> None:
    """Drop hits that repeat an earlier one."""
    items = checked.lines.cells["item"]
    mine = items[rows.start : rows.stop] if isinstance(rows, range) else [items[row] for row in rows]
    if len(set(mine)) == len(mine):
        return
    seen: dict[str, int] = {}
    for row, item in zip(rows, mine, strict=True):
        if item in seen:
            what = "formula" if checked.lines.kind == "task2" else "answer"
            place = checked.lines.lines[seen[item]]
            checked.drop(row, "duplicate", f"{what} {item} appears twice for topic {topic} (first at line {place})")
        seen.setdefault(item, row)


def _check_ids(checked: CheckedRun, lookup: CollectionLookup) -> None:
    """Look up all ids. A formula must be one to return, and in the post that the run names."""
    task2 = checked.lines.kind == "task2" or (checked.name is not None and checked.name.task.startswith("task2"))
    cells = checked.lines.cells
    posts = cells.get("post") or [""] * len(cells["item"])
    numbers = {item: int(item) for item in cells["item"] if item.isdecimal()}
    formulas = lookup.formulas(numbers.values()) if task2 else {}
    kinds = {} if task2 else lookup.post_kinds(numbers.values())
    for row, (item, post) in enumerate(zip(cells["item"], posts, strict=True)):
        number = numbers.get(item, UNKNOWN)
        if task2:
            formula = formulas.get(number)
            if formula is None:
                checked.drop(row, "unknown-formula", f"there is no formula {item}")
            elif formula.kind == "comment":
                checked.drop(row, "comment-formula", f"formula {item} is in a comment")
            elif "d" in formula.issue:
                checked.drop(row, "withdrawn-formula", f"formula {item} is withdrawn (issue {formula.issue})")
            elif post and post != str(formula.post_id):
                checked.drop(row, "wrong-post", f"formula {item} is in post {formula.post_id}, not {post}")
        elif number not in kinds:
            checked.drop(row, "unknown-post", f"there is no post {item}")
        elif kinds[number] == "question":
            checked.drop(row, "question-post", f"post {item} is a question; Task 1 returns answers")


def _check_all(files: Sequence[str], topics: str | None, collection: str | None) -> list[CheckedRun]:
    lookup = CollectionLookup(collection) if collection else None
    ids = [topic.id for topic in read_topics(topics)] if topics is not None else []
    return [check_run(path, ids, lookup) for path in files]


def check_files(files: Sequence[str], topics: str | None = None, collection: str | None = None) -> list[RunProblem]:
    """Return the problems of each file, then those of the files together."""
    checked = _check_all(files, topics, collection)
    return [problem for run in checked for problem in run.problems] + list(check_submission(checked))


def check_submission(checked: Iterable[CheckedRun]) -> Iterator[RunProblem]:
    """Check the rules for a team: at most five runs per task, exactly one of them primary."""
    teams: dict[tuple[str, str], list[CheckedRun]] = {}
    for run in checked:
        if run.name is not None:
            teams.setdefault((run.name.group, run.name.task), []).append(run)
    for (group, task), runs in teams.items():
        primary = [run for run in runs if run.name is not None and run.name.primary]
        for run in primary[1:]:
            message = f"a second primary run of {group} for {task} (first: {primary[0].lines.path})"
            yield RunProblem("two-primaries", run.lines.path, 0, message)
        if len(runs) > 1 and not primary:
            message = f"none of the {len(runs)} runs of {group} for {task} is primary"
            yield RunProblem("no-primary", runs[0].lines.path, 0, message)
        if len(runs) > MOST_RUNS:
            message = f"{len(runs)} runs of {group} for {task}; {MOST_RUNS} are allowed"
            yield RunProblem("too-many-runs", runs[MOST_RUNS].lines.path, 0, message)


class FixedRun(NamedTuple):
    """A corrected run file: where it is, and what was done, in words."""

    path: Path
    message: str


def fix_file(
    path: str, target: str | None = None, topics: str | None = None, collection: str | None = None
) -> FixedRun:
    """Write the corrected run to `target` (default: beside the file, as NAME.fixed.tsv). Refuse a file with errors."""
    (checked,) = _check_all([path], topics, collection)
    reject(checked.problems)
    place = Path(target) if target else Path(path).with_name(f"{base_name(path)}.fixed.tsv")
    write_run(clean_run(checked), place)
    problems = counts(checked.problems)
    found = ", ".join(f"{number} {kind}" for kind, number in problems.items()) or "no problem found"
    hits = "hit" if len(checked.dropped) == 1 else "hits"
    return FixedRun(place, f"{path}: {found}; {len(checked.dropped)} {hits} dropped")


def clean_run(checked: CheckedRun) -> Run:
    """Return the run without its invalid hits, by score, then rank. Writing it numbers ranks and breaks ties."""
    lines = checked.lines
    if lines.kind == "task3":
        return answer_run(lines)
    rows: dict[str, list[int]] = {}
    for row, topic in enumerate(lines.cells["topic"]):
        if row not in checked.dropped:
            rows.setdefault(topic, []).append(row)
    rankings: dict[str, RunRanking] = {}
    posts = lines.cells.get("post", [])
    for topic, mine in rows.items():
        mine.sort(key=lambda row: (-lines.scores[row], lines.ranks[row]))
        items, scores = [lines.cells["item"][row] for row in mine], [lines.scores[row] for row in mine]
        rankings[topic] = RunRanking(items, scores, [posts[row] for row in mine] if posts else [])
    name = base_name(lines.path)
    return Run(name, lines.kind, rankings, next(filter(None, lines.cells["tag"]), name))
