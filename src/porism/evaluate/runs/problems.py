"""What can be wrong with a run: the kinds are a table, each with its level and its remedy."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from porism.errors import PorismError

Level = Literal["E", "W", "F"]
LEVELS: dict[Level, str] = {"E": "error: the file is rejected", "W": "warning", "F": "hit dropped"}
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of problems.tsv: E rejects the file, W warns, F drops a hit."""

    name: str
    level: Level
    fix: str


@cache
def kinds() -> dict[str, Kind]:
    """All kinds of problem by name."""
    with files("porism.evaluate.runs").joinpath("problems.tsv").open(encoding="utf-8") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["kind"]: Kind(row["kind"], row["level"], row["fix"]) for row in rows}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a file; `line` is 0 where the whole file is meant."""

    kind: str
    file: str
    line: int
    message: str
    topic: str = ""
    columns: str = ""

    @property
    def level(self) -> Level:
        """E, W or F."""
        return kinds()[self.kind].level

    @property
    def where(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def fix(self) -> str:
        """What to do."""
        return kinds()[self.kind].fix.replace("{file}", self.file).replace("{columns}", self.columns)

    def __str__(self) -> str:
        return f"{self.where}: {self.level} {self.kind}: {self.message}\n  fix: {self.fix}"


def report(problems: Iterable[Problem], shown: int = SHOWN) -> list[str]:
    """Lines for a person: up to `shown` problems of each kind, then how many more."""
    told: Counter[tuple[str, str]] = Counter()
    lines: list[str] = []
    every = list(problems)
    total = Counter((problem.file, problem.kind) for problem in every)
    for problem in every:
        key = (problem.file, problem.kind)
        told[key] += 1
        if told[key] <= shown:
            lines.append(str(problem))
        elif told[key] == shown + 1:
            lines.append(f"{problem.file}: {problem.level} {problem.kind}: {total[key] - shown} more like this")
    return lines


def counts(problems: Iterable[Problem], by: Literal["kind", "topic"] = "kind") -> dict[str, int]:
    """How many problems of each kind, or (of those that name one) for each topic."""
    found = Counter(getattr(problem, by) for problem in problems)
    return {name: number for name, number in found.items() if name}


def reject(problems: Iterable[Problem]) -> None:
    """Raise if any problem is an error, telling up to 20 of them."""
    errors = [problem for problem in problems if problem.level == "E"]
    if not errors:
        return
    first = errors[0]
    message = "\n".join([first.message, *(f"{other.where}: {other.message}" for other in errors[1:SHOWN])])
    if len(errors) > SHOWN:
        message += f"\nand {len(errors) - SHOWN} more"
    raise PorismError(message, where=first.where, fix=first.fix)
