"""The organiser's page on stability."""

from __future__ import annotations

from pathlib import Path

from lab_case import LabCase
from porism.lab.judging.assignments import assign_topic, assigned_items, assignments
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.record import record_entries
from porism.lab.submissions import Submissions

from .client import Person


def judge_all(journal: Journal) -> None:
    """Grade every assigned item: answers to the topic's question with an even id are relevant."""
    for assignment in assignments(journal):
        for item in assigned_items(journal, assignment.id):
            grade = "3" if int(item.item.removeprefix("d_")) % 2 == 0 else "0"
            entries = [JournalEntry(item.key, 1, "grade", grade), JournalEntry(item.key, 1, "submit", "")]
            record_entries(journal, assignment.assessor, assignment.id, entries, f"done-{item.key}", at=40.0)


def write_run(folder: Path, team: str, items: list[int]) -> None:
    (folder / team).mkdir(parents=True)
    rows = [
        f"{topic}\t{item}\t{rank}\t{9 - rank}\t{team}" for topic in ("A.1", "A.2") for rank, item in enumerate(items, 1)
    ]
    (folder / team / f"{team}-task1-x-auto-both-P.tsv").write_text("\n".join(rows) + "\n")


def test_it_compares_submitted_runs_on_the_judgments_so_far(case: LabCase, journal: Journal, tmp_path: Path) -> None:
    submissions = Submissions(tmp_path / "submissions")
    olga = Person(case, journal, "olga", submissions)
    assert "There are 0 runs and 0 judgments" in olga.get("/organise/stability").text
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 1, "A.2")
    judge_all(journal)
    write_run(submissions.folder, "Red", [12, 14, 16, 18, 11, 13, 15, 17])
    write_run(submissions.folder, "Blue", [11, 13, 15, 17, 12, 14, 16, 18])
    page = olga.get("/organise/stability").text
    assert "<svg" in page
    assert "The order of the systems" in page
    assert "Judge more topics" not in page
