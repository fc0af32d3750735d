"""Task 3: how good is one answer per topic?"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.qrels import CODES, HIGHEST, Qrels
from porism.evaluate.runs.run import Run
from porism.files import open_text

# run -> topic -> id of the answer in the qrels
AnswerMap = dict[str, dict[str, str]]
YES_NO = {"yes": True, "no": False, "1": True, "0": False, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """AR and P@1 with the grade of each topic's answer."""

    run: str
    grades: dict[str, int]

    @property
    def average_relevance(self) -> float:
        """AR: the mean grade over judged topics."""
        return sum(self.grades.values()) / len(self.grades)

    @property
    def precision(self) -> float:
        """P@1: the share of judged topics with grade 2 or 3."""
        return sum(grade >= 2 for grade in self.grades.values()) / len(self.grades)


def read_answer_map(path: str | Path) -> AnswerMap:
    """Read `run TAB topic TAB answer id`; a topic twice in a run is an error."""
    found: AnswerMap = {}
    with open_text(path) as stream:
        for line, cells in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if len(cells) != 3:
                raise PorismError(
                    f"{len(cells)} columns where the map has 3",
                    where=f"{path}:{line}",
                    fix="write run, topic, answer id",
                )
            topics = found.setdefault(cells[0], {})
            if cells[1] in topics:
                raise PorismError(
                    f"topic {cells[1]} comes twice for run {cells[0]}",
                    where=f"{path}:{line}",
                    fix="keep one answer per topic",
                )
            topics[cells[1]] = cells[2]
    if not found:
        raise PorismError("no answer in this file", where=str(path), fix="write run, topic, answer id")
    return found


def answer_grade(code: int) -> int:
    """A grade as Task 3 counts it: system failure and "do not know" are 0."""
    if code in CODES:
        return 0
    if not 0 <= code <= HIGHEST:
        raise PorismError(f"grade {code} is none of 0, 1, 2, 3, 5, 6", fix="correct the qrels")
    return code


def score_answers(run: str, answers: Mapping[str, str], qrels: Qrels) -> AnswerScores:
    """AR and P@1 of a run; topics without an answer or a judgment are left out."""
    grades = {
        topic: answer_grade(qrels[topic][item]) for topic, item in answers.items() if item in qrels.get(topic, {})
    }
    if not grades:
        raise PorismError(
            f"no answer of run {run} is judged, so it cannot be scored",
            fix="give the Task 3 qrels that go with the map",
        )
    return AnswerScores(run, grades)


def score_as_task3(run: Run, qrels: Qrels) -> AnswerScores:
    """A Task 1 run as if its first hit were its answer: highest score, then lowest rank, then largest id. Unjudged first hits leave the topic out.

    Optimistic, since the length of these answers is not limited.
    """
    grades: dict[str, int] = {}
    for topic, ranking in run.rankings.items():
        best = max(range(len(ranking.items)), key=lambda place: (ranking.scores[place], -place, ranking.items[place]))
        code = qrels.get(topic, {}).get(ranking.items[best])
        if code is not None and code >= 0 and code not in CODES:
            grades[topic] = answer_grade(code)
    if not grades:
        raise PorismError(
            f"no first hit of run {run.name} is judged, so it cannot be scored",
            fix="give the Task 1 qrels of the run's topics",
        )
    return AnswerScores(run.name, grades)


def best_possible(qrels: Qrels) -> float:
    """The highest AR that an oracle choosing among the judged answers reaches."""
    if not qrels:
        raise PorismError("no judgment", fix="give Task 3 qrels")
    return sum(max(answer_grade(code) for code in grades.values()) for grades in qrels.values()) / len(qrels)


@dataclass(frozen=True, slots=True)
class Flags:
    """What assessors said of an answer besides its grade."""

    machine_generated: bool
    unrelated_information: bool


def read_flags(path: str | Path) -> dict[tuple[str, str], Flags]:
    """Read `topic, answer, MG, UI` with yes or no (a header may come first)."""
    found: dict[tuple[str, str], Flags] = {}
    with open_text(path) as stream:
        for line, cells in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if line == 1 and cells[:1] == ["topic"]:
                continue
            if len(cells) != 4 or not {cells[-2].lower(), cells[-1].lower()} <= YES_NO.keys():
                raise PorismError(
                    "not a row of topic, answer, yes/no, yes/no",
                    where=f"{path}:{line}",
                    fix="write topic, answer, MG, UI",
                )
            found[cells[0], cells[1]] = Flags(YES_NO[cells[2].lower()], YES_NO[cells[3].lower()])
    return found


def flag_shares(answers: Mapping[str, str], flags: Mapping[tuple[str, str], Flags]) -> tuple[float, float, int]:
    """MG, UI, and the number of topics they are taken over."""
    mine = [flags[topic, item] for topic, item in answers.items() if (topic, item) in flags]
    if not mine:
        raise PorismError("no answer of the run was asked about", fix="give the flags of this run's answers")
    return (
        sum(flag.machine_generated for flag in mine) / len(mine),
        sum(flag.unrelated_information for flag in mine) / len(mine),
        len(mine),
    )
