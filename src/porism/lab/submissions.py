"""Runs that teams hand in: checked at once, kept with a receipt, at most five per task, exactly one of them primary.

A desk is a folder: `TEAM/run.tsv` are the runs that stand, `replaced/` holds earlier versions, `receipts.jsonl` tells every
hand-in, accepted or refused, and every withdrawal; nothing is taken out of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.check import CheckedRun, check_run
from porism.evaluate.runs.id_lookup import CollectionLookup, IdLookup
from porism.evaluate.runs.lines import RunLines
from porism.evaluate.runs.name import RunName, parse_name
from porism.evaluate.runs.problems import counts, report
from porism.evaluate.runs.submission import check_submission
from porism.files import open_bytes

RECEIPTS = "receipts.jsonl"
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.tsv")
NAME_FIX = "name the file group-task-id-runtype-data-eval.tsv"
Verdict = Literal["accepted", "refused", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What happened to one file: who, when, which bytes, the verdict, and the checker's report."""

    number: int
    at: float
    team: str
    file: str
    verdict: Verdict
    sha256: str = ""
    size: int = 0
    task: str = ""
    primary: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    report: tuple[str, ...] = ()


@dataclass(slots=True)
class Desk:
    """Where runs are handed in. `topics` are the ids a task knows; with `facts` every hit is looked up."""

    folder: Path
    topics: Mapping[str, Collection[str]] = field(default_factory=dict)
    facts: IdLookup | None = None
    clock: Callable[[], float] = time.time

    def receipts(self, team: str = "") -> list[Receipt]:
        """Every receipt, of one team or of all, in order."""
        path = self.folder / RECEIPTS
        if not path.exists():
            return []
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = [Receipt(**{**row, "report": tuple(row["report"])}) for row in rows]
        return [receipt for receipt in found if team in ("", receipt.team)]

    def runs(self, team: str = "") -> list[Path]:
        """The runs that stand."""
        return sorted(self.folder.glob(f"{team or '[!.]*'}/*.tsv")) if self.folder.exists() else []

    def hand_in(self, team: str, name: str, data: bytes) -> Receipt:
        """Check a file and keep it if it may stand; the receipt says what happened."""
        file = Path(name).name
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked(), tempfile.TemporaryDirectory(dir=self.folder, prefix=".incoming-") as incoming:
            place = Path(incoming) / (file if SAFE_NAME.fullmatch(file) else "run.tsv")
            place.write_bytes(data)
            said = parse_name(file)
            problem = self._name_problem(team, file, said)
            lines, numbers, sound = self._check(place, said) if not problem else ([problem], {}, False)
            if sound and (refusals := self._rules(team, file)):
                lines, sound = refusals + lines, False
            if sound:
                self._keep(team, file, place)
            return self._note(
                team, file, "accepted" if sound else "refused",
                sha256=hashlib.sha256(data).hexdigest(), size=len(data), task=said.task if said else "",
                primary=bool(said and said.primary), counts=numbers, report=tuple(line.replace(f"{incoming}{os.sep}", "") for line in lines),
            )  # fmt: skip

    def withdraw(self, team: str, name: str) -> Receipt:
        """Take back a run that stands; it is kept under `replaced/`."""
        with self._locked():
            place = self.folder / team / Path(name).name
            if not SAFE_NAME.fullmatch(Path(name).name) or not place.is_file():
                raise PorismError(f"{name} is not among the runs of {team}", fix="see the list of your runs")
            self._set_aside(place)
            return self._note(team, place.name, "withdrawn")

    def missing_primaries(self) -> list[tuple[str, str]]:
        """(team, task) with runs but no primary one: exactly one is asked for."""
        tasks: dict[tuple[str, str], bool] = {}
        for path in self.runs():
            if said := parse_name(path.name):
                key = (path.parent.name, said.task)
                tasks[key] = tasks.get(key, False) or said.primary
        return sorted(key for key, primary in tasks.items() if not primary)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One hand-in at a time, also between processes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _name_problem(self, team: str, file: str, said: RunName | None) -> str:
        if not SAFE_NAME.fullmatch(file):
            return f"{file}: the name has characters that are not letters, digits, - _ . +, or does not end in .tsv\n  fix: {NAME_FIX}"
        if said is None:
            return f"{file}: the name does not say group, task, id, run type, data and eval\n  fix: {NAME_FIX}"
        if said.group.casefold() != team.casefold():
            return f"{file}: the group is {said.group}, but you are {team}\n  fix: begin the name with {team}-"
        return ""

    def _check(self, place: Path, said: RunName | None) -> tuple[list[str], dict[str, int], bool]:
        """The checker's report, its counts, and whether the file may stand."""
        task = said.task.removesuffix("NOC") if said else ""
        try:
            checked = check_run(place, self.topics.get(task, ()), self.facts)
        except PorismError as error:
            return [str(error)], {}, False
        # What refuses the file is told first.
        problems = sorted(checked.problems, key=lambda problem: problem.level != "E")
        sound = all(problem.level != "E" for problem in problems)
        if checked.lines.kind != "trec" and checked.lines.kind != task:
            wrong = (
                f"{place.name}: the name says {task}, the columns are those of {checked.lines.kind}\n  fix: {NAME_FIX}"
            )
            return [wrong, *report(problems)], counts(problems), False
        return report(problems), counts(problems), sound

    def _rules(self, team: str, file: str) -> list[str]:
        """At most five runs of a team for a task, one of them primary, counted with the new one in its place."""
        paths = [path for path in self.runs(team) if path.name != file] + [self.folder / team / file]
        together = [CheckedRun(RunLines(path.name, "task1"), parse_name(path.name)) for path in paths]
        return [str(problem) for problem in check_submission(together) if problem.level == "E"]

    def _keep(self, team: str, file: str, place: Path) -> None:
        target = self.folder / team / file
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            self._set_aside(target)
        os.replace(place, target)

    def _set_aside(self, place: Path) -> None:
        """Move a run out of the way under the number of the receipt to come; nothing a team sent is lost."""
        shelf = self.folder / "replaced" / place.parent.name
        shelf.mkdir(parents=True, exist_ok=True)
        os.replace(place, shelf / f"{len(self.receipts()) + 1}-{place.name}.old")

    def _note(self, team: str, file: str, verdict: Verdict, **more: object) -> Receipt:
        receipt = Receipt(len(self.receipts()) + 1, self.clock(), team, file, verdict, **more)  # type: ignore[arg-type]
        with open(self.folder / RECEIPTS, "a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(receipt)) + "\n")
            out.flush()
            os.fsync(out.fileno())
        return receipt


def topic_ids(paths: Iterable[str | Path]) -> dict[str, list[str]]:
    """The topics that runs of each task may answer: A topics for Tasks 1 and 3, B topics for Task 2."""
    names = [topic.id for path in paths for topic in read_topics(path)]
    formulas = [name for name in names if name.startswith("B")]
    answers = [name for name in names if not name.startswith("B")]
    return {"task1": answers, "task2": formulas, "task3": answers}


def hand_in_files(folder: Path, files: Iterable[str], topics: Iterable[str], collection: str | None) -> list[Receipt]:
    """Hand in files from a disk, each as the team that its name tells."""
    desk = Desk(folder, topic_ids(topics), CollectionLookup(collection) if collection else None)
    receipts = []
    for name in files:
        said = parse_name(name)
        with open_bytes(name) as stream:
            receipts.append(desk.hand_in(said.group if said else "unnamed", Path(name).name, stream.read()))
    return receipts
