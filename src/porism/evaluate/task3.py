"""Scores of Task 3 runs, which give one answer per topic: AR, P@1, the assessors' flags, text measures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from porism.errors import PorismError
from porism.evaluate import text_measures
from porism.evaluate.qrels import CODES, HIGHEST, Qrels
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.run import Run
from porism.evaluate.table import Cell, ResultTable
from porism.files import open_text, report_unreadable

# run -> topic -> id of the answer in the qrels
AnswerMap = dict[str, dict[str, str]]
YES_NO = {"yes": True, "no": False, "1": True, "0": False, "true": True, "false": False}
RELEVANT = (2, 3)
COLUMNS = ("run", "topics", "AR", "P@1")
NOTE = "AR, P@1: over topics with a judged answer; codes 5 and 6 count as 0"


class AnswerScores(NamedTuple):
    """The grade of the answer to each topic, with AR and P@1."""

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

    @property
    def cells(self) -> tuple[Cell, ...]:
        """A row of the table: see `COLUMNS`."""
        return (self.run, len(self.grades), self.average_relevance, self.precision)


@report_unreadable("write run, topic, answer id")
def read_answer_map(path: str | Path) -> AnswerMap:
    """Read `run TAB topic TAB answer id`; a topic twice in a run is an error."""
    found: AnswerMap = {}
    with open_text(path) as stream:
        for line, cells in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if len(cells) != 3:
                fact = f"{len(cells)} columns; the map has 3"
                raise PorismError(fact, where=f"{path}:{line}", fix="write run, topic, answer id")
            topics = found.setdefault(cells[0], {})
            if cells[1] in topics:
                fact = f"topic {cells[1]} occurs twice for run {cells[0]}"
                raise PorismError(fact, where=f"{path}:{line}", fix="keep one answer per topic")
            topics[cells[1]] = cells[2]
    if not found:
        raise PorismError("this file has no answers", where=str(path), fix="write run, topic, answer id")
    return found


def _answer_grade(code: int) -> int:
    """Return a grade as Task 3 counts it: system failure and "do not know" are 0."""
    if code not in CODES and not 0 <= code <= HIGHEST:
        raise PorismError(f"grade {code} is not 0, 1, 2, 3, 5 or 6", fix="correct the qrels")
    return 0 if code in CODES else code


def score_answers(run: str, answers: Mapping[str, str], qrels: Qrels) -> AnswerScores:
    """Score a run. Topics without an answer or a judgment are left out."""
    judged = {topic: item for topic, item in answers.items() if item in qrels.get(topic, {})}
    grades = {topic: _answer_grade(qrels[topic][item]) for topic, item in judged.items()}
    if not grades:
        fact = f"run {run} has no judged answers, so it cannot be scored"
        raise PorismError(fact, fix="give the Task 3 qrels that go with the map")
    return AnswerScores(run, grades)


def score_as_task3(run: Run, qrels: Qrels) -> AnswerScores:
    """Score a Task 1 run as if its first hit were its answer: highest score, then lowest rank, then largest id.

    Topics with an unjudged first hit are left out. The result is optimistic, since these answers may be longer than
    Task 3 allows.
    """
    grades: dict[str, int] = {}
    for topic, ranking in run.rankings.items():
        best = max(range(len(ranking.items)), key=lambda place: (ranking.scores[place], -place, ranking.items[place]))
        code = qrels.get(topic, {}).get(ranking.items[best])
        if code is not None and code >= 0 and code not in CODES:
            grades[topic] = _answer_grade(code)
    if not grades:
        fact = f"no first hit of run {run.name} is judged, so it cannot be scored"
        raise PorismError(fact, fix="give the Task 1 qrels of the run's topics")
    return AnswerScores(run.name, grades)


def best_possible(qrels: Qrels) -> float:
    """Return the highest AR that is possible with the judged answers."""
    if not qrels:
        raise PorismError("no judgment", fix="give Task 3 qrels")
    return sum(max(_answer_grade(code) for code in grades.values()) for grades in qrels.values()) / len(qrels)


class Flags(NamedTuple):
    """What assessors said about an answer besides its grade."""

    machine_generated: bool
    unrelated_information: bool


@report_unreadable("write topic, answer, MG, UI")
def read_flags(path: str | Path) -> dict[tuple[str, str], Flags]:
    """Read `topic, answer, MG, UI` with yes or no; a header is allowed."""
    found: dict[tuple[str, str], Flags] = {}
    with open_text(path) as stream:
        for line, cells in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if line == 1 and cells[:1] == ["topic"]:
                continue
            if len(cells) != 4 or not {cells[-2].lower(), cells[-1].lower()} <= YES_NO.keys():
                fact = "not a row of topic, answer, yes/no, yes/no"
                raise PorismError(fact, where=f"{path}:{line}", fix="write topic, answer, MG, UI")
            found[cells[0], cells[1]] = Flags(YES_NO[cells[2].lower()], YES_NO[cells[3].lower()])
    return found


def flag_shares(answers: Mapping[str, str], flags: Mapping[tuple[str, str], Flags]) -> dict[str, float]:
    """Return the share of answers with each flag, MG and UI, over the answers that have flags."""
    mine = [flags[topic, item] for topic, item in answers.items() if (topic, item) in flags]
    if not mine:
        raise PorismError("no answer of the run has flags", fix="give the flags of this run's answers")
    return {name: sum(values) / len(mine) for name, values in zip(("MG", "UI"), zip(*mine, strict=True), strict=True)}


class Reference(NamedTuple):
    """A relevant answer and the runs that returned it."""

    topic: str
    item: str
    text: str
    runs: frozenset[str]


def task3_references(answers: AnswerMap, runs: Iterable[Run], qrels: Qrels, keep: bool = True) -> list[Reference]:
    """Return the Task 3 answers of grade 2 or 3. Equal answers of several runs share an id."""
    texts = {
        (topic, answers[run.name][topic]): text_measures.answer_text(answer.text, keep)
        for run in runs
        for topic, answer in run.answers.items()
        if topic in answers.get(run.name, {})
    }
    hits = ((name, topic, item) for name, topics in answers.items() for topic, item in topics.items())
    return _references(hits, qrels, lambda topic, item: texts.get((topic, item)))


def task1_references(runs: Iterable[Run], qrels: Qrels, bodies: Mapping[str, str]) -> list[Reference]:
    """Return the Task 1 answers of grade 2 or 3 that a run returned and that are short; `bodies` is HTML by item."""
    text = cache(lambda item: text_measures.reference_text(bodies[item]) if item in bodies else None)
    hits = ((run.name, topic, item) for run in runs for topic, rows in run.rankings.items() for item in rows.items)
    return _references(hits, qrels, lambda _, item: text(item))


def _references(
    hits: Iterable[tuple[str, str, str]], qrels: Qrels, text_of: Callable[[str, str], str | None]
) -> list[Reference]:
    """Make references of those hits (run, topic, item) that are relevant and have a text."""
    runs: dict[tuple[str, str], set[str]] = {}
    for run, topic, item in hits:
        if qrels.get(topic, {}).get(item) in RELEVANT:
            runs.setdefault((topic, item), set()).add(run)
    return [Reference(*key, text, frozenset(names)) for key, names in runs.items() if (text := text_of(*key))]


def without_team(
    references: Iterable[Reference], team: Collection[str], known: Collection[str]
) -> dict[str, list[str]]:
    """Return, by topic, the references that a run outside the team returned. `known` holds the names of all runs."""
    unknown = sorted(set(team) - set(known))
    if unknown:
        fact = f"no run is named {', '.join(unknown)}"
        raise PorismError(fact, fix="name the team's runs as their files are named, without .tsv")
    kept: dict[str, list[str]] = {}
    for reference in references:
        if reference.text and reference.runs - set(team):
            kept.setdefault(reference.topic, []).append(reference.text)
    return kept


@dataclass(frozen=True, slots=True)
class TextMeasures:
    """What the text measures need: a tokenizer, an encoder, more references, the assessors' flags."""

    tokenizer: text_measures.Tokenizer = text_measures.OWN
    encoder: text_measures.AnswerEncoder | None = None
    references: Sequence[Reference] = ()
    flags: Mapping[tuple[str, str], Flags] = field(default_factory=dict)


def answer_table(
    qrels: Qrels, answers: AnswerMap, runs: Sequence[Run] = (), texts: TextMeasures | None = None
) -> ResultTable:
    """Return AR and P@1, with the texts of runs also LO (or LO-w) and CS, with flags MG and UI."""
    texts = texts or TextMeasures()
    names = [run.name for run in runs] or list(answers)
    for name in names:
        if name not in answers:
            fact = f"run {name} is not in the map of answers"
            raise PorismError(fact, fix="name the file as in the map, without .tsv")
    scores = {name: score_answers(name, answers[name], qrels) for name in names}
    extra = _text_columns(qrels, answers, runs, texts) if runs else {}
    if texts.flags:
        shares = {name: flag_shares(answers[name], texts.flags) for name in names}
        extra |= {flag: {name: found[flag] for name, found in shares.items()} for flag in ("MG", "UI")}
    rows = tuple((*scores[name].cells, *(column[name] for column in extra.values())) for name in names)
    notes = [NOTE, f"highest possible AR: {best_possible(qrels):.3f}"]
    if "LO-w" in extra:
        notes.append(
            "LO-w uses our own tokens and is not the lab's LO; references that only the team returned are left out"
        )
    return ResultTable("task3", (*COLUMNS, *extra), rows, "Task 3", tuple(notes))


def _text_columns(
    qrels: Qrels, answers: AnswerMap, runs: Sequence[Run], texts: TextMeasures
) -> dict[str, dict[str, Cell]]:
    """Return the text measures by run; None where no reference is left."""
    tokenizer, encoder = texts.tokenizer, texts.encoder
    every = [*task3_references(answers, runs, qrels, tokenizer.keep), *texts.references]
    known = {*answers, *(name for reference in texts.references for name in reference.runs)}
    groups = {name: parsed.group for name in known if (parsed := parse_name(name))}
    columns: dict[str, dict[str, Cell]] = {one.measure: {} for one in (tokenizer, encoder) if one}
    for run in runs:
        own = groups.get(run.name)
        team = [name for name in known if name == run.name or (own is not None and groups.get(name) == own)]
        references = without_team(every, team, known)
        mine = {}
        for topic, answer in run.answers.items():
            if (text := text_measures.answer_text(answer.text, tokenizer.keep)) is not None:
                mine[topic] = text
        found = {}
        if any(topic in references for topic in mine):
            found[tokenizer.measure] = text_measures.overlap(mine, references, tokenizer)
            if encoder:
                found[encoder.measure] = text_measures.similarity(mine, references, encoder)
        for measure, column in columns.items():
            column[run.name] = fmean(found[measure].values()) if measure in found else None
    return columns


def as_task3_table(runs: Sequence[Run], qrels: Qrels) -> ResultTable:
    """Score Task 1 runs by their first hits, as Task 3 runs."""
    rows = tuple(score_as_task3(run, qrels).cells for run in runs)
    notes = (NOTE, "the length of these answers is not limited")
    return ResultTable("task1_as_task3", COLUMNS, rows, "Task 1 runs scored as Task 3", notes)


def is_task3(qrels: Qrels, path: str | Path) -> bool:
    """Return whether these are judgments of Task 3, whose items are called d_1, d_2, ..."""
    marks = {item.startswith("d_") for grades in qrels.values() for item in grades}
    if len(marks) > 1:
        fact = "judgments of posts and of Task 3 answers in one file"
        raise PorismError(fact, where=str(path), fix="keep them in separate files")
    return marks == {True}
