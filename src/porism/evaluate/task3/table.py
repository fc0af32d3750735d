"""Task 3 runs on one set of judgments, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from porism.errors import PorismError
from porism.evaluate.qrels import Qrels
from porism.evaluate.reports.table import Cell, Table
from porism.evaluate.runs.name import parse_name
from porism.evaluate.runs.run import Run
from porism.evaluate.task3.overlap import OWN, Tokenizer, answer_text, overlap
from porism.evaluate.task3.references import Reference, ablated, task3_references
from porism.evaluate.task3.scores import (
    AnswerMap,
    AnswerScores,
    Flags,
    best_possible,
    flag_shares,
    score_answers,
    score_as_task3,
)
from porism.evaluate.task3.similarity import Encoder, similarity

NOTE = "AR, P@1: over topics with a judged answer; codes 5 and 6 count 0"


@dataclass(frozen=True, slots=True)
class TextMeasures:
    """What compares texts: tokenizer, encoder, and references besides the Task 3 runs' own."""

    tokenizer: Tokenizer = OWN
    encoder: Encoder | None = None
    references: Sequence[Reference] = ()
    flags: Mapping[tuple[str, str], Flags] = field(default_factory=dict)


def answer_table(
    qrels: Qrels, answers: AnswerMap, runs: Sequence[Run] = (), texts: TextMeasures | None = None
) -> Table:
    """AR and P@1 of the runs (of all in the map, if none is given); with the runs' texts also LO-w or LO, CS, and MG and UI with flags."""
    texts = texts or TextMeasures()
    names = [run.name for run in runs] or list(answers)
    for name in names:
        if name not in answers:
            raise PorismError(
                f"run {name} is not in the map of answers", fix="name the file as in the map, without .tsv"
            )
    extra = text_columns(qrels, answers, runs, texts) if runs else {}
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        one = score_answers(name, answers[name], qrels)
        flags = flag_shares(answers[name], texts.flags)[:2] if texts.flags else ()
        rows.append(
            (
                name,
                len(one.grades),
                one.average_relevance,
                one.precision,
                *(column[name] for column in extra.values()),
                *flags,
            )
        )
    columns = ("run", "topics", "AR", "P@1", *extra, *(("MG", "UI") if texts.flags else ()))
    limit = f"highest possible AR: {best_possible(qrels):.3f}"
    notes = (
        (NOTE, limit, "LO-w uses our own tokens and is not the lab's LO; a team's own references are left out")
        if "LO-w" in extra
        else (NOTE, limit)
    )
    return Table(columns, tuple(rows), "Task 3", notes)


def text_columns(
    qrels: Qrels, answers: AnswerMap, runs: Sequence[Run], texts: TextMeasures
) -> dict[str, dict[str, Cell]]:
    """The measures of texts by run; empty cells where the team's ablation leaves no reference."""
    every = [*task3_references(answers, runs, qrels, texts.tokenizer.keep), *texts.references]
    known = {*answers, *(name for reference in texts.references for name in reference.runs)}
    names = [texts.tokenizer.measure, *([texts.encoder.measure] if texts.encoder else [])]
    columns: dict[str, dict[str, Cell]] = {name: {} for name in names}
    for run in runs:
        references = ablated(every, team_of(run.name, known), known)
        prepared = {topic: answer_text(answer.text, texts.tokenizer.keep) for topic, answer in run.answers.items()}
        mine = {topic: text for topic, text in prepared.items() if text is not None}
        some = any(topic in references for topic in mine)
        columns[names[0]][run.name] = mean(overlap(mine, references, texts.tokenizer)) if some else None
        if texts.encoder:
            columns[names[1]][run.name] = mean(similarity(mine, references, texts.encoder)) if some else None
    return columns


def team_of(name: str, known: set[str]) -> list[str]:
    """The runs of the same group, the run itself among them."""
    group = parse_name(name)
    return [
        other
        for other in known
        if other == name or (group and (parsed := parse_name(other)) and parsed.group == group.group)
    ]


def mean(values: Mapping[str, float]) -> float:
    """Over topics."""
    return sum(values.values()) / len(values)


def as_task3_table(runs: Sequence[Run], qrels: Qrels) -> Table:
    """Task 1 runs as Task 3 runs."""
    scores: list[AnswerScores] = [score_as_task3(run, qrels) for run in runs]
    rows = tuple((one.run, len(one.grades), one.average_relevance, one.precision) for one in scores)
    return Table(
        ("run", "topics", "AR", "P@1"),
        rows,
        "Task 1 runs scored as Task 3",
        (NOTE, "the length of these answers is not limited"),
    )


def is_task3(qrels: Qrels, path: str | Path) -> bool:
    """Whether judgments are of Task 3: their items are called d_1, d_2, ..."""
    marks = {item.startswith("d_") for grades in qrels.values() for item in grades}
    if len(marks) > 1:
        raise PorismError(
            "judgments of posts and of Task 3 answers in one file", where=str(path), fix="keep them in separate files"
        )
    return marks == {True}
