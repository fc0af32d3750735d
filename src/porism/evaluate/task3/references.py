"""Reference answers of Task 3. A team is not compared with references that only its own runs returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from porism.errors import PorismError
from porism.evaluate.qrels import Qrels
from porism.evaluate.runs.run import Run
from porism.evaluate.task3.overlap import answer_text, reference_text
from porism.evaluate.task3.scores import AnswerMap

RELEVANT = (2, 3)


@dataclass(frozen=True, slots=True)
class Reference:
    """A relevant answer and the runs that returned it."""

    topic: str
    item: str
    text: str
    runs: frozenset[str]


def task3_references(answers: AnswerMap, runs: Iterable[Run], qrels: Qrels, keep: bool = True) -> list[Reference]:
    """Return the Task 3 answers of grade 2 or 3. Equal answers of several runs share an id."""
    sources: dict[tuple[str, str], set[str]] = {}
    for name, topics in answers.items():
        for topic, item in topics.items():
            if qrels.get(topic, {}).get(item) in RELEVANT:
                sources.setdefault((topic, item), set()).add(name)
    texts = {
        (topic, answers[run.name][topic]): answer.text
        for run in runs
        for topic, answer in run.answers.items()
        if topic in answers.get(run.name, {})
    }
    prepared = {key: answer_text(text, keep) for key, text in texts.items()}
    return [
        Reference(topic, item, text, frozenset(names))
        for (topic, item), names in sources.items()
        if (text := prepared.get((topic, item)))
    ]


def task1_references(runs: Iterable[Run], qrels: Qrels, bodies: Mapping[str, str]) -> list[Reference]:
    """Return the Task 1 answers of grade 2 or 3 that a run returned and that are short enough; `bodies` holds the HTML of posts."""
    sources: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for topic, ranking in run.rankings.items():
            grades = qrels.get(topic, {})
            for item in ranking.items:
                if grades.get(item) in RELEVANT:
                    sources.setdefault((topic, item), set()).add(run.name)
    texts = {item: reference_text(bodies[item]) for item in {item for _, item in sources} if item in bodies}
    return [
        Reference(topic, item, text, frozenset(names))
        for (topic, item), names in sources.items()
        if (text := texts.get(item))
    ]


def without_team(
    references: Iterable[Reference], team: Collection[str], known: Collection[str]
) -> dict[str, list[str]]:
    """Return, by topic, the references that a run outside the team returned. `known` holds the names of all runs."""
    unknown = sorted(set(team) - set(known))
    if unknown:
        raise PorismError(
            f"no run is named {', '.join(unknown)}", fix="name the team's runs as their files are named, without .tsv"
        )
    kept: dict[str, list[str]] = {}
    for reference in references:
        if reference.text and reference.runs - set(team):
            kept.setdefault(reference.topic, []).append(reference.text)
    return kept
