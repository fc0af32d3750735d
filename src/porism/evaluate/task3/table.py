"""The table of Task 3 runs on one set of judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.qrels import Qrels
from porism.evaluate.reports.table import Cell, Table
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.run import Run
from porism.evaluate.task3.scores import (
    AnswerMap,
    AnswerScores,
    Flags,
    Reference,
    best_possible,
    flag_shares,
    score_answers,
    score_as_task3,
    task3_references,
    without_team,
)
from porism.evaluate.task3.text_measures import OWN, Encoder, Tokenizer, answer_text, overlap, similarity

NOTE = "AR, P@1: over topics with a judged answer; codes 5 and 6 count as 0"


@dataclass(frozen=True, slots=True)
class TextMeasures:
    """What the text measures need: a tokenizer, an encoder, more references, the assessors' flags."""

    tokenizer: Tokenizer = OWN
    encoder: Encoder | None = None
    references: Sequence[Reference] = ()
    flags: Mapping[tuple[str, str], Flags] = field(default_factory=dict)


def answer_table(
    qrels: Qrels, answers: AnswerMap, runs: Sequence[Run] = (), texts: TextMeasures | None = None
) -> Table:
    """Return AR and P@1 of the runs, or of all runs of the map; with the runs' texts also LO (or LO-w) and CS; with flags MG and UI."""
    texts = texts or TextMeasures()
    names = [run.name for run in runs] or list(answers)
    for name in names:
        if name not in answers:
            raise PorismError(
                f"run {name} is not in the map of answers", fix="name the file as in the map, without .tsv"
            )
    extra = _text_columns(qrels, answers, runs, texts) if runs else {}
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        one = score_answers(name, answers[name], qrels)
        row: list[Cell] = [name, len(one.grades), one.average_relevance, one.precision]
        row += [column[name] for column in extra.values()]
        if texts.flags:
            shares = flag_shares(answers[name], texts.flags)
            row += [shares.machine_generated, shares.unrelated_information]
        rows.append(tuple(row))
    columns = ("run", "topics", "AR", "P@1", *extra, *(("MG", "UI") if texts.flags else ()))
    limit = f"highest possible AR: {best_possible(qrels):.3f}"
    notes = (
        (
            NOTE,
            limit,
            "LO-w uses our own tokens and is not the lab's LO; references that only the team returned are left out",
        )
        if "LO-w" in extra
        else (NOTE, limit)
    )
    return Table("task3", columns, tuple(rows), "Task 3", notes)


def _text_columns(
    qrels: Qrels, answers: AnswerMap, runs: Sequence[Run], texts: TextMeasures
) -> dict[str, dict[str, Cell]]:
    """Return the text measures by run; None where no reference is left."""
    every = [*task3_references(answers, runs, qrels, texts.tokenizer.keep), *texts.references]
    known = {*answers, *(name for reference in texts.references for name in reference.runs)}
    names = [texts.tokenizer.measure, *([texts.encoder.measure] if texts.encoder else [])]
    columns: dict[str, dict[str, Cell]] = {name: {} for name in names}
    for run in runs:
        references = without_team(every, _team_of(run.name, known), known)
        prepared = {topic: answer_text(answer.text, texts.tokenizer.keep) for topic, answer in run.answers.items()}
        mine = {topic: text for topic, text in prepared.items() if text is not None}
        some = any(topic in references for topic in mine)
        columns[names[0]][run.name] = _mean(overlap(mine, references, texts.tokenizer)) if some else None
        if texts.encoder:
            columns[names[1]][run.name] = _mean(similarity(mine, references, texts.encoder)) if some else None
    return columns


def _team_of(name: str, known: set[str]) -> list[str]:
    """Return the runs of the same team, with the run itself."""
    group = parse_name(name)
    return [
        other
        for other in known
        if other == name or (group and (parsed := parse_name(other)) and parsed.group == group.group)
    ]


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def as_task3_table(runs: Sequence[Run], qrels: Qrels) -> Table:
    """Score Task 1 runs by their first hits, as Task 3 runs."""
    scores: list[AnswerScores] = [score_as_task3(run, qrels) for run in runs]
    rows = tuple((one.run, len(one.grades), one.average_relevance, one.precision) for one in scores)
    return Table(
        "task1_as_task3",
        ("run", "topics", "AR", "P@1"),
        rows,
        "Task 1 runs scored as Task 3",
        (NOTE, "the length of these answers is not limited"),
    )


def is_task3(qrels: Qrels, path: str | Path) -> bool:
    """Return whether these are judgments of Task 3, whose items are called d_1, d_2, ..."""
    marks = {item.startswith("d_") for grades in qrels.values() for item in grades}
    if len(marks) > 1:
        raise PorismError(
            "judgments of posts and of Task 3 answers in one file", where=str(path), fix="keep them in separate files"
        )
    return marks == {True}
