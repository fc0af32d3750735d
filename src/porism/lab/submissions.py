"""Submissions: runs of the teams, checked at once and kept with a receipt.

A team may submit at most five runs per task, exactly one of them primary. In the folder, `TEAM/run.tsv` are the current
runs, `replaced/` holds earlier versions and withdrawn runs, and `receipts.jsonl` lists every submission, accepted or
refused, and every withdrawal. No receipt is ever removed. Other accounts of the machine can read neither.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.runs.check import CheckedRun, check_run, check_submission
from porism.evaluate.runs.lines import RunLines, RunName, parse_name
from porism.evaluate.runs.lookup import CollectionLookup
from porism.evaluate.runs.problems import counts, report
from porism.files import make_private, open_bytes, report_unreadable

RECEIPTS = "receipts.jsonl"
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.tsv")
NAME_FIX = "name the file group-task-id-runtype-data-eval.tsv"
SIMULTANEOUS_CHECKS = 2
CHECK_WAIT_SECONDS = 60.0
_checks = threading.BoundedSemaphore(SIMULTANEOUS_CHECKS)
Verdict = Literal["accepted", "refused", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What happened to one file: team, time, digest, verdict, and the report of the check."""

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


class TeamTask(NamedTuple):
    """A team and a task to which it submitted runs."""

    team: str
    task: str


class CheckResult(NamedTuple):
    """The report of the check, the number of problems by kind, and whether the run is valid."""

    report: list[str]
    counts: dict[str, int]
    valid: bool


@dataclass(slots=True)
class Submissions:
    """A folder of submissions. `topics` are the valid topic ids of each task; with `ids` every hit is looked up."""

    folder: Path
    topics: Mapping[str, Collection[str]] = field(default_factory=dict)
    ids: CollectionLookup | None = None
    clock: Callable[[], float] = time.time

    def receipts(self, team: str = "") -> list[Receipt]:
        """Return every receipt in order, of one team or of all."""
        path = self.folder / RECEIPTS
        receipts = _read_receipts(path) if path.exists() else []
        return [receipt for receipt in receipts if team in ("", receipt.team)]

    def runs(self, team: str = "") -> list[Path]:
        """Return the current runs, of one team or of all."""
        return sorted(self.folder.glob(f"{team or '[!.]*'}/*.tsv")) if self.folder.exists() else []

    def submit(self, team: str, name: str, data: bytes) -> Receipt:
        """Check a file, keep it if it is valid, and return the receipt.

        Checking may take minutes, so that other submissions go on meanwhile. Only the rules for the team's runs
        together (five per task, one primary) need the lock.
        """
        file, run_name, digest = Path(name).name, parse_name(Path(name).name), hashlib.sha256(data).hexdigest()
        self._make_folder()
        with _one_of_few_checks(), tempfile.TemporaryDirectory(dir=self.folder, prefix=".incoming-") as incoming:
            path = Path(incoming) / (file if SAFE_NAME.fullmatch(file) else "run.tsv")
            make_private(path)
            path.write_bytes(data)
            problem = _name_problem(team, file, run_name)
            checked = CheckResult([problem], {}, False) if problem else self._check_content(path, run_name)
            target = self.folder / team / file
            with self._locked():
                if checked.valid:
                    paths = [*(other for other in self.runs(team) if other.name != file), target]
                    together = [CheckedRun(RunLines(one.name, "task1"), parse_name(one.name)) for one in paths]
                    violations = [str(wrong) for wrong in check_submission(together) if wrong.level == "E"]
                    checked = CheckResult(violations + checked.report, checked.counts, not violations)
                if checked.valid:
                    target.parent.mkdir(exist_ok=True)
                    if target.exists():
                        self._set_aside(target)
                    os.replace(path, target)
                return self._add_receipt(
                    team, file, "accepted" if checked.valid else "refused",
                    sha256=digest, size=len(data), task=run_name.task if run_name else "",
                    primary=bool(run_name and run_name.primary), counts=checked.counts,
                    report=tuple(line.replace(f"{incoming}{os.sep}", "") for line in checked.report),
                )  # fmt: skip

    def withdraw(self, team: str, name: str) -> Receipt:
        """Withdraw a current run; it is kept under `replaced/`."""
        with self._locked():
            path = self.folder / team / Path(name).name
            if not SAFE_NAME.fullmatch(path.name) or not path.is_file():
                raise PorismError(f"{team} has no run {name}", fix="see the list of your runs")
            self._set_aside(path)
            return self._add_receipt(team, path.name, "withdrawn")

    def missing_primaries(self) -> list[TeamTask]:
        """Return the teams and tasks that have runs but no primary run."""
        named = [
            (TeamTask(path.parent.name, name.task), name) for path in self.runs() if (name := parse_name(path.name))
        ]
        return sorted({key for key, _ in named} - {key for key, name in named if name.primary})

    def _make_folder(self) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Allow one change of the folder at a time, across threads and processes."""
        self._make_folder()
        with FileLock(self.folder / ".lock"):
            yield

    def _check_content(self, path: Path, run_name: RunName | None) -> CheckResult:
        task = run_name.task.removesuffix("NOC") if run_name else ""
        try:
            checked = check_run(path, self.topics.get(task, ()), self.ids)
        except PorismError as error:
            return CheckResult([str(error)], {}, False)
        # Problems for which the file is refused come first.
        problems = sorted(checked.problems, key=lambda problem: problem.level != "E")
        if checked.lines.kind not in ("trec", task):
            wrong = f"{path.name}: the name says {task}, but the columns are those of {checked.lines.kind}"
            return CheckResult([f"{wrong}\n  fix: {NAME_FIX}", *report(problems)], counts(problems), False)
        return CheckResult(report(problems), counts(problems), all(problem.level != "E" for problem in problems))

    def _set_aside(self, path: Path) -> None:
        """Move a run to `replaced/`, under the number of the next receipt, so that nothing a team sent is lost."""
        target = self.folder / "replaced" / path.parent.name
        target.mkdir(parents=True, exist_ok=True)
        os.replace(path, target / f"{len(self.receipts()) + 1}-{path.name}.old")

    def _add_receipt(self, team: str, file: str, verdict: Verdict, **more: object) -> Receipt:
        receipt = Receipt(len(self.receipts()) + 1, self.clock(), team, file, verdict, **more)  # type: ignore[arg-type]
        make_private(self.folder / RECEIPTS)
        with open(self.folder / RECEIPTS, "a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(receipt)) + "\n")
            out.flush()
            os.fsync(out.fileno())
        return receipt


@report_unreadable("restore the file from a backup")
def _read_receipts(path: Path) -> list[Receipt]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Receipt(**{**row, "report": tuple(row["report"])}) for row in rows]


@contextlib.contextmanager
def _one_of_few_checks() -> Iterator[None]:
    """Allow few checks at the same time, so that a server answers meanwhile."""
    if not _checks.acquire(timeout=CHECK_WAIT_SECONDS):
        raise PorismError("the server is busy checking other runs", fix="submit the run again in a minute")
    try:
        yield
    finally:
        _checks.release()


def _name_problem(team: str, file: str, run_name: RunName | None) -> str:
    """Return what is wrong with a file name, or ""."""
    if not SAFE_NAME.fullmatch(file):
        fact = "the name has characters other than letters, digits, - _ . +, or does not end in .tsv"
        return f"{file}: {fact}\n  fix: {NAME_FIX}"
    if run_name is None:
        return f"{file}: the name does not give group, task, id, run type, data and eval\n  fix: {NAME_FIX}"
    if run_name.group.casefold() != team.casefold():
        return f"{file}: the group is {run_name.group}, but you are {team}\n  fix: begin the name with {team}-"
    return ""


def topic_ids(paths: Iterable[str | Path]) -> dict[str, list[str]]:
    """Return the topic ids that runs of each task may use: A topics for Tasks 1 and 3, B topics for Task 2."""
    names = [topic.id for path in paths for topic in read_topics(path)]
    formulas = [name for name in names if name.startswith("B")]
    answers = [name for name in names if not name.startswith("B")]
    return {"task1": answers, "task2": formulas, "task3": answers}


def submit_files(folder: Path, files: Iterable[str], topics: Iterable[str], collection: str | None) -> list[Receipt]:
    """Submit files from disk, each for the team in its name."""
    submissions = Submissions(folder, topic_ids(topics), CollectionLookup(collection) if collection else None)
    receipts = []
    for name in files:
        run_name = parse_name(name)
        with open_bytes(name) as stream:
            receipts.append(submissions.submit(run_name.group if run_name else "unnamed", name, stream.read()))
    return receipts
