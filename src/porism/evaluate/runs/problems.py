"""Problems of run files. `problems.tsv` lists the kinds of problem, each with its level and its fix."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from porism.errors import PorismError, listed

Level = Literal["E", "W", "F"]
LEVELS: dict[Level, str] = {"E": "error: the file is rejected", "W": "warning", "F": "hit dropped"}
SHOWN = 20
WORST_TOPICS = 10


class Kind(NamedTuple):
    """A kind of problem, a row of problems.tsv. Level E rejects the file, W warns, F drops a hit."""

    name: str
    level: Level
    fix: str


@cache
def kinds() -> dict[str, Kind]:
    """Return all kinds of problem by name."""
    with files("porism.evaluate.runs").joinpath("problems.tsv").open(encoding="utf-8") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["kind"]: Kind(row["kind"], row["level"], row["fix"]) for row in rows}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class RunProblem:
    """A problem of a run file; `line` is 0 for the whole file."""

    kind: str
    file: str
    line: int
    message: str
    topic: str = ""
    columns: str = ""

    @property
    def level(self) -> Level:
        """The level: E, W or F."""
        return kinds()[self.kind].level

    @property
    def where(self) -> str:
        """The place, as `file:line`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def fix(self) -> str:
        """The remedy."""
        return kinds()[self.kind].fix.replace("{file}", self.file).replace("{columns}", self.columns)

    def __str__(self) -> str:
        return f"{self.where}: {self.level} {self.kind}: {self.message}\n  fix: {self.fix}"


def report(problems: Iterable[RunProblem], shown: int = SHOWN) -> list[str]:
    """Return lines for a reader: up to `shown` problems of each kind and file, then the number of the others."""
    every = list(problems)
    total = Counter((problem.file, problem.kind) for problem in every)
    so_far: Counter[tuple[str, str]] = Counter()
    lines: list[str] = []
    for problem in every:
        key = (problem.file, problem.kind)
        so_far[key] += 1
        if so_far[key] <= shown:
            lines.append(str(problem))
        elif so_far[key] == shown + 1:
            lines.append(f"{problem.file}: {problem.level} {problem.kind}: {total[key] - shown} more")
    return lines


def summary(problems: Sequence[RunProblem]) -> str:
    """Return the report for a terminal: the problems, the number of each kind, the topics with most problems."""
    lines = report(problems)
    for name, number in counts(problems).items():
        level = kinds()[name].level
        lines.append(f"{number:>7}  {level} {name} ({LEVELS[level]})")
    by_topic = sorted(counts(problems, "topic").items(), key=lambda pair: (-pair[1], pair[0]))
    if by_topic:
        worst = ", ".join(f"{topic} {number}" for topic, number in by_topic[:WORST_TOPICS])
        lines.append(f"topics: {worst}{', ...' if len(by_topic) > WORST_TOPICS else ''}")
    return "\n".join(lines or ["no problem found"]) + "\n"


def as_json_lines(problems: Iterable[RunProblem]) -> str:
    """Return one JSON object per problem and line."""
    names = ("level", "kind", "file", "line", "topic", "message", "fix")
    rows = ({name: getattr(problem, name) for name in names} for problem in problems)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def counts(problems: Iterable[RunProblem], by: Literal["kind", "topic"] = "kind") -> dict[str, int]:
    """Count the problems of each kind, or of each topic (problems without topic are left out)."""
    found = Counter(getattr(problem, by) for problem in problems)
    return {name: number for name, number in found.items() if name}


def reject(problems: Iterable[RunProblem]) -> None:
    """Raise an error that lists up to 20 problems of level E, if there is any."""
    errors = [problem for problem in problems if problem.level == "E"]
    if errors:
        first = errors[0]
        message = listed([first.message, *(f"{other.where}: {other.message}" for other in errors[1:])])
        raise PorismError(message, where=first.where, fix=first.fix)
