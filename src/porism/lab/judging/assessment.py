"""One judgment by one person, wherever it was made: in our own pages or in Turkle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assessment:
    """What an assessor said of an item: `instance` is the card's number in Task 2 (from 1), and 1 elsewhere.

    `accepted` and `submitted` are seconds since 1970 (0 where unknown); `seconds` is the time spent (None where unknown).
    `purpose` is main, dual or training: only main judgments become qrels.
    """

    task: int
    topic: str
    item: str
    instance: int
    assessor: str
    grade: int
    comment: str = ""
    accepted: float = 0.0
    submitted: float = 0.0
    seconds: float | None = None
    batch: str = ""
    purpose: str = "main"
