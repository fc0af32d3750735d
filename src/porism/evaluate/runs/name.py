"""Parse the lab's file names, group-task-id-runtype-data-eval.tsv, and the deviations of real submissions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from porism.evaluate.runs.lines import base_name

TASKS = {"task1": "task1", "task2": "task2", "task2noc": "task2NOC", "task3": "task3"}
RUN_TYPES = {"manual": "manual", "auto": "auto", "automatic": "auto"}
DATA = {"text": "text", "math": "math", "both": "both", "formula": "math"}
KINDS = {"extract": "extract", "generate": "generate"}
EVALS = {"p": "P", "a": "A"}
YEAR = re.compile(r"-20\d\d$")


@dataclass(frozen=True, slots=True)
class RunName:
    """The parts of a run's file name; `deviations` lists where the name departs from the lab's pattern."""

    group: str
    task: str
    id: str
    run_type: str
    data: str
    eval: str
    kind: str = ""
    deviations: tuple[str, ...] = ()

    @property
    def primary(self) -> bool:
        """Whether this is the team's primary run."""
        return self.eval == "P"

    def __str__(self) -> str:
        parts = [
            self.group,
            self.task,
            self.id,
            self.run_type,
            self.data,
            *([self.kind] if self.kind else []),
            self.eval,
        ]
        return "-".join(parts)


def parse_name(path: str) -> RunName | None:
    """Parse a file name; return None if it does not fit. Ids may hold `-`, so the fixed parts are read from the right."""
    name = base_name(path)
    deviations: list[str] = []
    bare = YEAR.sub("", name)
    if bare != name:
        deviations.append("a year at the end")
    parts = bare.split("-")
    place = next((number for number, part in enumerate(parts) if part.lower() in TASKS), 0)
    fixed = [EVALS, DATA, RUN_TYPES]
    kind = ""
    if len(parts) >= 2 and parts[-2].lower() in KINDS:
        kind = KINDS[parts.pop(-2).lower()]
    if (
        place == 0
        or len(parts) < place + 5
        or any(parts[-1 - back].lower() not in table for back, table in enumerate(fixed))
    ):
        return None
    eval_, data, run_type = (table[parts[-1 - back].lower()] for back, table in enumerate(fixed))
    group, task, identifier = "-".join(parts[:place]), TASKS[parts[place].lower()], "-".join(parts[place + 1 : -3])
    pieces = zip((task, run_type, data, eval_), (parts[place], parts[-3], parts[-2], parts[-1]), strict=True)
    deviations += [f"{written} for {meant}" for meant, written in pieces if meant != written]
    deviations += [f"a - in the {what}" for what, text in (("group", group), ("id", identifier)) if "-" in text]
    return RunName(group, task, identifier, run_type, data, eval_, kind, tuple(deviations))
