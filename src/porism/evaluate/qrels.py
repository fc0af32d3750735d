"""Qrels: the grade of each judged item of each topic. Read, write and count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from porism.errors import PorismError, listed
from porism.files import atomic_file, open_bytes, report_unreadable
from porism.records import Judgment

# topic -> item -> grade; a negative grade means pooled but not judged (as trec_eval reads it for infAP).
Qrels = dict[str, dict[str, int]]

HIGHEST = 3
CODES = (5, 6)  # system failure; "do not know"
FORMAT = "write one line per judgment: topic, 0, item, grade (0 to 3)"


@report_unreadable(FORMAT)
def read_qrels(path: str | Path) -> Qrels:
    """Read `topic 0 item grade` or `topic item grade`, between tabs or spaces; 3.0 is 3, `#` begins a comment line.

    A line that cannot be read is an error, which lists up to 20 such lines.
    """
    with open_bytes(path) as stream:
        try:
            text = stream.read().decode("utf-8").replace("\ufeff", "")  # byte order marks, also of joined files
        except UnicodeDecodeError as error:
            raise PorismError(f"not UTF-8: {error.reason}", where=str(path), fix="give a qrels file") from None
    qrels: Qrels = {}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells or line.lstrip().startswith("#"):
            continue
        if problem := _add_line(qrels, cells):
            wrong.append(f"{path}:{number}: {problem}")
    if wrong:
        where, message = listed(wrong).split(": ", 1)
        raise PorismError(message, where=where, fix=FORMAT)
    if not qrels:
        raise PorismError("this file has no judgments", where=str(path), fix=FORMAT)
    return qrels


def _add_line(qrels: Qrels, cells: list[str]) -> str:
    """Add one judgment. Return what is wrong with the line, or an empty string."""
    if len(cells) not in (3, 4):
        return f"{len(cells)} columns; a judgment has 4 (or 3)"
    topic, item, text = cells[0], cells[-2], cells[-1]
    try:
        grade = float(text)
    except ValueError:
        return f"grade {text!r} is not a number"
    if not grade.is_integer() or not (-2 <= grade <= HIGHEST or grade in CODES):
        return f"grade {text} is not 0, 1, 2, 3, 5, 6, -1 or -2"
    grades = qrels.setdefault(topic, {})
    if item in grades:
        return f"{item} is judged twice for topic {topic}"
    grades[item] = int(grade)
    return ""


def write_qrels(qrels: Mapping[str, Mapping[str, int]], path: str | Path) -> None:
    """Write `topic TAB 0 TAB item TAB grade`, in the given order."""
    with atomic_file(path) as out:
        out.writelines(f"{one.topic}\t0\t{one.item}\t{one.grade}\n" for one in to_judgments(qrels))


def to_judgments(qrels: Mapping[str, Mapping[str, int]]) -> Iterator[Judgment]:
    """Yield the judgments of qrels, in their order."""
    return (Judgment(topic, item, grade) for topic, grades in qrels.items() for item, grade in grades.items())


def from_judgments(judgments: Iterable[Judgment]) -> Qrels:
    """Make qrels of judgments. The highest grade of an item counts; codes 5 and 6 count only without any grade."""
    qrels: Qrels = {}
    for judgment in judgments:
        grades = qrels.setdefault(judgment.topic, {})
        old = grades.get(judgment.item)
        given = [judgment.grade] if old is None else [old, judgment.grade]
        grades[judgment.item] = max(given, key=lambda grade: (grade not in CODES, grade))
    return qrels


def judged_only(qrels: Mapping[str, Mapping[str, int]], lowest: int = 0) -> Qrels:
    """Remove codes (in Tasks 1 and 2, they count as not judged) and grades below `lowest`: those below 0 are of items
    that were pooled but not judged."""
    clean: Qrels = {}
    for topic, grades in qrels.items():
        if kept := {item: grade for item, grade in grades.items() if lowest <= grade <= HIGHEST}:
            clean[topic] = kept
    return clean


def visual_qrels(qrels: Mapping[str, Mapping[str, int]], visual: Mapping[str, str]) -> Qrels:
    """Turn judgments of formula instances into judgments of visual ids: the highest grade over the instances."""
    judgments = (replace(one, item=visual.get(one.item, one.item)) for one in to_judgments(qrels))
    return judged_only(from_judgments(judgments))


class QrelsCounts(NamedTuple):
    """Counts of a qrels file."""

    topics: int
    judged: int
    grades: dict[int, int]
    average_relevant: float  # items of a grade above 0, per topic
    least_relevant: int  # the lowest number of High and Medium items of a topic
    best_p10: float  # the highest possible P'@10


def count(qrels: Mapping[str, Mapping[str, int]]) -> QrelsCounts:
    """Count topics, judgments and grades."""
    if not qrels:
        raise PorismError("there are no judgments to count", fix="give a qrels file")
    grades = Counter(grade for row in qrels.values() for grade in row.values())
    relevant = [sum(2 <= grade <= HIGHEST for grade in row.values()) for row in qrels.values()]
    above_zero = sum(number for grade, number in grades.items() if 1 <= grade <= HIGHEST)
    total, size = sum(grades.values()), len(qrels)
    best = sum(min(number, 10) for number in relevant) / (10 * size)
    return QrelsCounts(size, total, dict(sorted(grades.items())), above_zero / size, min(relevant), best)
