"""Training rounds: items whose grade was agreed on before, and how well assessors match those grades."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.files import open_text, report_unreadable
from porism.lab.judging.agreement import kappa, mean_agreement, pair_agreements
from porism.lab.judging.assessments import Assessment, assessments, is_model
from porism.lab.judging.assignments import assignments
from porism.lab.judging.items import JudgedItem, insert_item, opaque_key
from porism.lab.judging.journal import Journal
from porism.lab.judging.scale import RELEVANT, grade
from porism.lab.pooling.pool import FormulaInstance, PooledAnswer, PoolItem, topic_key

HEADER = ["round", "topic", "item", "grade", "reason"]
TASK2_HEADER = [*HEADER, "formula", "post"]
FIX = "one line per item: round, topic, item, grade, reason (Task 2 adds formula, post), between tabs, with this header"


@dataclass(frozen=True, slots=True)
class TrainingItem:
    """An item with a known grade; `reason` explains the grade to the assessor."""

    round: int
    topic: str
    item: str
    grade: int
    reason: str = ""
    instance: FormulaInstance | None = None


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """One assessor in one round: agreement with the known grades and, on average, with the other assessors."""

    task: int
    round: int
    assessor: str
    items: int
    same_grade: int
    known_kappa: float | None
    known_kappa_hm: float | None
    others_kappa: float | None
    others_kappa_hm: float | None


@report_unreadable(FIX)
def read_training_items(path: str | Path) -> list[TrainingItem]:
    """Read a table of training items; report an invalid line with its number."""
    with open_text(path) as stream:
        lines = [line.rstrip("\n").split("\t") for line in stream]
    if not lines or lines[0] not in (HEADER, TASK2_HEADER):
        raise PorismError("not a table of training items", where=str(path), fix=FIX)
    found = []
    for number, cells in enumerate(lines[1:], 2):
        row = dict(zip(lines[0], cells, strict=False))
        if len(cells) != len(lines[0]) or not row["round"].isdigit() or not row["grade"].isdigit():
            raise PorismError("not a training item", where=f"{path}:{number}", fix=FIX)
        instance = FormulaInstance(int(row["formula"]), int(row["post"])) if "post" in row else None
        found.append(
            TrainingItem(int(row["round"]), row["topic"], row["item"], int(row["grade"]), row["reason"], instance)
        )
    return found


def load_training(
    journal: Journal, task: int, items: Sequence[TrainingItem], answers: Iterable[PooledAnswer] = ()
) -> int:
    """Store training items. Their topics must be loaded, and must not be topics of the pool."""
    texts = {(answer.topic, answer.id): answer.text for answer in answers}
    _check_training(journal, task, items)
    with journal.write() as connection:
        for position, training in enumerate(items, 1):
            cards = (training.instance,) if training.instance else ()
            item = PoolItem(training.topic, training.item, training.round, cards)
            text = texts.get((training.topic, training.item), "")
            if not insert_item(connection, task, item, position, True, text):
                raise PorismError(
                    f"item {training.item} of topic {training.topic} occurs twice", fix="list each training item once"
                )
            connection.execute(
                "UPDATE item SET known_grade = ?, reason = ? WHERE key = ?",
                (training.grade, training.reason, opaque_key(task, training.topic, training.item)),
            )
    return len(items)


def _check_training(journal: Journal, task: int, items: Sequence[TrainingItem]) -> None:
    pooled = journal.read("SELECT DISTINCT topic FROM item WHERE task = ? AND known_grade IS NULL", (task,))
    if clash := sorted({item.topic for item in items} & {row["topic"] for row in pooled}, key=topic_key):
        raise PorismError(
            f"training topics are also in the pool: {', '.join(clash[:5])}", fix="train on topics of an earlier year"
        )
    for item in items:
        step = grade(item.grade)
        if step is None or not step.graded:
            raise PorismError(
                f"{item.grade} is not a grade (topic {item.topic}, item {item.item})", fix="use 0, 1, 2 or 3"
            )


def training_results(journal: Journal) -> list[TrainingResult]:
    """Return the result of every assessor in every round, in order."""
    rows = journal.read("SELECT task, topic, item, known_grade FROM item WHERE known_grade IS NOT NULL")
    known = {JudgedItem(row["task"], row["topic"], row["item"]): row["known_grade"] for row in rows}
    rounds = {assignment.id: (assignment.task, assignment.round) for assignment in assignments(journal)}
    groups: dict[tuple[int, int], list[Assessment]] = {}
    for given in assessments(journal, "training"):
        groups.setdefault(rounds[given.assignment], []).append(given)
    return [
        _result(task, round_number, name, group, known)
        for (task, round_number), group in sorted(groups.items())
        for name in sorted({given.assessor for given in group})
    ]


def _result(
    task: int, round_number: int, name: str, group: Sequence[Assessment], known: dict[JudgedItem, int]
) -> TrainingResult:
    mine = [given for given in group if given.assessor == name and given.grade <= 3]
    pairs = [(given.grade, known[JudgedItem(given.task, given.topic, given.item)]) for given in mine]
    # A model is compared with people, and people with people only.
    compared = [given for given in group if given.assessor == name or not is_model(given.assessor)]
    others = mean_agreement(pair_agreements(compared), name)
    return TrainingResult(
        task, round_number, name, len(pairs), sum(a == b for a, b in pairs),
        kappa(pairs), kappa([(a >= RELEVANT, b >= RELEVANT) for a, b in pairs]), others.kappa, others.kappa_hm,
    )  # fmt: skip
