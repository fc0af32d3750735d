"""Is a run as the lab asks? Every error, warning and dropped hit, with its place and its remedy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from porism.evaluate.runs.facts import Facts
from porism.evaluate.runs.lines import RunKind, RunLines, read_lines
from porism.evaluate.runs.name import RunName, parse_name
from porism.evaluate.runs.problems import Problem
from porism.evaluate.runs.run import LIMIT, Ranking, Run, groups, read_answer_run, stem
from porism.evaluate.task3.overlap import DOLLAR

LONGEST_ANSWER = 1200
MOST_RUNS = 5
PREFIX = {"task1": "A", "task2": "B", "task3": "A"}


@dataclass(slots=True)
class Checked:
    """A run file with its problems; `dropped` are the rows that F problems take out."""

    lines: RunLines
    name: RunName | None
    problems: list[Problem] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)

    def drop(self, row: int, kind: str, message: str) -> None:
        """Note that a hit is taken out; of several reasons the first counts."""
        if row not in self.dropped:
            self.dropped.add(row)
            self.note(kind, self.lines.lines[row], message, self.lines.cells["topic"][row])

    def note(self, kind: str, line: int, message: str, topic: str = "") -> None:
        """Note a problem."""
        self.problems.append(Problem(kind, self.lines.path, line, message, topic))


def check_run(
    path: str | Path, topics: Collection[str] = (), facts: Facts | None = None, kind: RunKind | None = None
) -> Checked:
    """Check one file. Without `topics` no topic is unknown or missing; without `facts` ids are not looked up."""
    lines = read_lines(path, kind)
    checked = Checked(lines, parse_name(str(path)), list(lines.problems))
    check_name(checked)
    check_topics(checked, topics)
    check_tags(checked)
    if lines.kind == "task3":
        check_answers(checked)
    else:
        check_rankings(checked)
        if facts is not None:
            check_ids(checked, facts)
    checked.problems.sort(key=lambda problem: (problem.line, problem.kind))
    return checked


def check_name(checked: Checked) -> None:
    """The file's name against the lab's pattern."""
    if checked.name is None:
        checked.note(
            "name", 0, f"the name {stem(checked.lines.path)} does not say group, task, id, run type, data and eval"
        )
    elif checked.name.deviations:
        checked.note("name-deviation", 0, f"the name is read as {checked.name} ({'; '.join(checked.name.deviations)})")


def check_topics(checked: Checked, topics: Collection[str]) -> None:
    """Unknown and missing topics, and A and B topics in one file."""
    known = set(topics)
    first: dict[str, int] = {}
    for topic, start, _ in groups(checked.lines.cells["topic"]):
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
        checked.note(
            "missing-topics",
            0,
            f"{len(missing)} of {len(known)} topics are missing: {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}",
        )


def check_tags(checked: Checked) -> None:
    """One run id in the whole file."""
    tags = checked.lines.cells["tag"]
    first = next((row for row, tag in enumerate(tags) if tag), 0)
    if len(set(tags) - {""}) > 1:
        row = next(row for row, tag in enumerate(tags) if tag and tag != tags[first])
        words = f"run id {tags[row]!r} differs from {tags[first]!r} at line {checked.lines.lines[first]}"
        checked.note("run-id", checked.lines.lines[row], words)


def check_answers(checked: Checked) -> None:
    """Task 3: length, one answer a topic, rank 1, dollar signs in pairs, an answer at all."""
    seen: dict[str, int] = {}
    cells = checked.lines.cells
    for row, (topic, text) in enumerate(zip(cells["topic"], cells["answer"], strict=True)):
        line = checked.lines.lines[row]
        if topic in seen:
            checked.note(
                "second-answer", line, f"a second answer for topic {topic} (first at line {seen[topic]})", topic
            )
        seen.setdefault(topic, line)
        if len(text) > LONGEST_ANSWER:
            checked.note(
                "answer-too-long", line, f"the answer has {len(text)} characters, {LONGEST_ANSWER} are allowed", topic
            )
        if checked.lines.ranks[row] != 1:
            checked.note("answer-rank", line, f"rank {checked.lines.ranks[row]} where there is one answer", topic)
        if not text.strip():
            checked.note("empty-answer", line, f"the answer to topic {topic} is empty", topic)
        dollars = len(DOLLAR.findall(text))
        if dollars % 2:
            checked.note("odd-dollars", line, f"{dollars} dollar signs: a formula is not closed", topic)


def check_rankings(checked: Checked) -> None:
    """Ranks, scores, repeated hits and hits beyond the limit, topic by topic."""
    rows_of: dict[str, list[int] | range] = {}
    for topic, start, end in groups(checked.lines.cells["topic"]):
        rows_of[topic] = [*rows_of[topic], *range(start, end)] if topic in rows_of else range(start, end)
    ranks, scores = np.asarray(checked.lines.ranks), np.asarray(checked.lines.scores, dtype=np.float32)
    lowest = int(ranks.min()) if ranks.size else 1
    if lowest == 0:
        row = int(np.argmin(ranks))
        checked.note("rank-zero", checked.lines.lines[row], "ranks start at 0", checked.lines.cells["topic"][row])
    for topic, rows in rows_of.items():
        part = slice(rows.start, rows.stop) if isinstance(rows, range) else np.asarray(rows)
        check_order(checked, topic, rows, ranks[part] + (1 if lowest == 0 else 0), scores[part])
        check_repeats(checked, topic, rows)


def check_order(checked: Checked, topic: str, rows: list[int] | range, ranks: np.ndarray, scores: np.ndarray) -> None:
    """Gaps and repeats in rank, scores that rise, ties, hits beyond the limit."""
    order = np.argsort(ranks, kind="stable")
    sorted_ranks, sorted_scores = ranks[order], scores[order]
    line = checked.lines.lines
    gaps = np.flatnonzero(np.diff(sorted_ranks, prepend=0) != 1)
    if gaps.size:
        row = rows[int(order[gaps[0]])]
        checked.note(
            "rank-gap",
            line[row],
            f"ranks of topic {topic} have gaps or repeats (first: {checked.lines.ranks[row]})",
            topic,
        )
    steps = np.diff(sorted_scores)
    if np.any(steps > 0):
        row = rows[int(order[int(np.argmax(steps > 0)) + 1])]
        checked.note(
            "score-order", line[row], f"scores of topic {topic} rise with rank {int((steps > 0).sum())} times", topic
        )
    by_score = np.sort(scores)
    ties = int((np.diff(by_score) == 0).sum())
    if ties:
        same = sorted_scores[1:][steps == 0]
        value = same[0] if same.size else by_score[1:][np.diff(by_score) == 0][0]
        row = rows[int(np.flatnonzero(scores == value)[1])]
        checked.note(
            "tied-scores",
            line[row],
            f"{ties} scores of topic {topic} are tied (as 32-bit numbers); trec_eval will order them by id",
            topic,
        )
    for place in [*np.flatnonzero(sorted_ranks > LIMIT).tolist(), *range(LIMIT, len(rows))]:
        row = rows[int(order[place])]
        checked.drop(row, "beyond-limit", f"rank {checked.lines.ranks[row]} of topic {topic} is beyond {LIMIT}")


def check_repeats(checked: Checked, topic: str, rows: list[int] | range) -> None:
    """A hit that came before; the first stays."""
    items = checked.lines.cells["item"]
    mine = items[rows.start : rows.stop] if isinstance(rows, range) else [items[row] for row in rows]
    if len(set(mine)) == len(mine):
        return
    seen: dict[str, int] = {}
    for row, item in zip(rows, mine, strict=True):
        if item in seen:
            what = "formula" if checked.lines.kind == "task2" else "answer"
            checked.drop(
                row,
                "duplicate",
                f"{what} {item} appears twice for topic {topic} (first at line {checked.lines.lines[seen[item]]})",
            )
        seen.setdefault(item, row)


def check_ids(checked: Checked, facts: Facts) -> None:
    """Every id against the collection."""
    task2 = checked.lines.kind == "task2" or (checked.name is not None and checked.name.task.startswith("task2"))
    cells = checked.lines.cells
    posts = cells.get("post") or [""] * len(cells["item"])
    for row, (item, post) in enumerate(zip(cells["item"], posts, strict=True)):
        found = formula_problem(facts, item, post) if task2 else post_problem(facts, item)
        if found:
            checked.drop(row, *found)


def post_problem(facts: Facts, item: str) -> tuple[str, str] | None:
    """What is wrong with a Task 1 hit."""
    kind = facts.post_kind(int(item)) if item.isdecimal() else None
    if kind is None:
        return "unknown-post", f"there is no post {item}"
    return ("question-post", f"post {item} is a question; Task 1 asks for answers") if kind == "question" else None


def formula_problem(facts: Facts, item: str, post: str) -> tuple[str, str] | None:
    """What is wrong with a Task 2 hit."""
    formula = facts.formula(int(item)) if item.isdecimal() else None
    if formula is None:
        return "unknown-formula", f"there is no formula {item}"
    if formula.kind == "comment":
        return "comment-formula", f"formula {item} is in a comment"
    if "d" in formula.issue:
        return "withdrawn-formula", f"formula {item} is withdrawn (issue {formula.issue})"
    if post and post != str(formula.post_id):
        return "wrong-post", f"formula {item} is in post {formula.post_id}, not {post}"
    return None


def check_submission(checked: Iterable[Checked]) -> Iterator[Problem]:
    """Files together: at most five runs of a team for a task, one of them primary."""
    teams: dict[tuple[str, str], list[Checked]] = {}
    for one in checked:
        if one.name is not None:
            teams.setdefault((one.name.group, one.name.task), []).append(one)
    for (group, task), runs in teams.items():
        primary = [run for run in runs if run.name is not None and run.name.primary]
        for run in primary[1:]:
            yield Problem(
                "two-primaries",
                run.lines.path,
                0,
                f"a second primary run of {group} for {task} (first: {primary[0].lines.path})",
            )
        if len(runs) > 1 and not primary:
            yield Problem(
                "no-primary", runs[0].lines.path, 0, f"none of the {len(runs)} runs of {group} for {task} is primary"
            )
        if len(runs) > MOST_RUNS:
            yield Problem(
                "too-many-runs",
                runs[MOST_RUNS].lines.path,
                0,
                f"{len(runs)} runs of {group} for {task}; {MOST_RUNS} are allowed",
            )


def cleaned(checked: Checked) -> Run:
    """The run without its dropped hits, by score and then by rank. Writing it numbers the ranks and unties the scores."""
    lines = checked.lines
    if lines.kind == "task3":
        return read_answer_run(lines)
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
    return Run(stem(lines.path), lines.kind, rankings, next(filter(None, lines.cells["tag"]), stem(lines.path)))
