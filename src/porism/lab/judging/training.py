"""Training rounds: how an assessor compares with the known grades and with the others of the round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porism.lab.judging.agreement import kappa, mean_agreement, pair_agreements
from porism.lab.judging.assessment import Assessment
from porism.lab.judging.journal import Journal
from porism.lab.judging.queue import assignments
from porism.lab.judging.record import assessments
from porism.lab.judging.scale import RELEVANT


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """One assessor in one round: agreement with the known grades, and on average with the other assessors."""

    task: int
    round: int
    assessor: str
    items: int
    exact: int
    known_four: float | None
    known_binary: float | None
    others_four: float | None
    others_binary: float | None


def training_results(journal: Journal) -> list[TrainingResult]:
    """Every assessor of every round, in order."""
    known = {
        (row["task"], row["topic"], row["item"]): row["known"]
        for row in journal.read("SELECT task, topic, item, known FROM item WHERE known IS NOT NULL")
    }
    rounds = {str(job.id): (job.task, job.round) for job in assignments(journal)}
    groups: dict[tuple[int, int], list[Assessment]] = {}
    for one in assessments(journal, "training"):
        groups.setdefault(rounds[one.batch], []).append(one)
    return [
        _result(task, turn, name, group, known)
        for (task, turn), group in sorted(groups.items())
        for name in sorted({one.assessor for one in group})
    ]


def _result(
    task: int, turn: int, name: str, group: Sequence[Assessment], known: dict[tuple[int, str, str], int]
) -> TrainingResult:
    mine = [one for one in group if one.assessor == name and one.grade <= 3]
    pairs = [(one.grade, known[one.task, one.topic, one.item]) for one in mine]
    others = mean_agreement(pair_agreements(group), name)
    return TrainingResult(
        task, turn, name, len(pairs), sum(a == b for a, b in pairs),
        kappa(pairs), kappa([(a >= RELEVANT, b >= RELEVANT) for a, b in pairs]), *others,
    )  # fmt: skip
