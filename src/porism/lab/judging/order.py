"""Judgments in the order in which they were made."""

from __future__ import annotations

from pathlib import Path

from porism.evaluate.qrels import read_qrels
from porism.lab.judging.assessments import assessments
from porism.lab.judging.results.qrels import main_judgments
from porism.lab.judging.storage.journal import Journal
from porism.lab.sampling import shuffled
from porism.records import Judgment

SQLITE = b"SQLite format 3\x00"


def judgments_in_order(path: str | Path, task: int, seed: int) -> list[Judgment]:
    """Return the judgments of a journal by time, or those of a qrels file, which has no times, in a random order."""
    if Path(path).is_file():
        with Path(path).open("rb") as stream:
            if stream.read(len(SQLITE)) == SQLITE:
                return journal_judgments(Journal.open(path), task)
    qrels = read_qrels(path)
    return shuffled(
        [Judgment(topic, item, grade) for topic, grades in qrels.items() for item, grade in grades.items()],
        seed,
        "order",
    )


def journal_judgments(journal: Journal, task: int) -> list[Judgment]:
    """Return the judgments for the qrels of a task by the time at which they were made."""
    given = [found for found in main_judgments(assessments(journal, "main")) if found.task == task]
    ordered = sorted(given, key=lambda found: (found.submitted, found.topic, found.item, found.instance))
    return [Judgment(found.topic, found.item, found.grade) for found in ordered]
