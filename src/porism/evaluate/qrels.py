"""Judgments: which item has which grade for which topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.files import atomic_file, open_bytes
from porism.records import Judgment

# topic -> item -> grade; a negative grade means pooled but not judged (trec_eval's rule for infAP).
Qrels = dict[str, dict[str, int]]

HIGHEST = 3
CODES = (5, 6)  # system failure, do not know
SHOWN = 20


def read_qrels(path: str | Path) -> Qrels:
    """Read `topic 0 item grade` or `topic item grade`, separated by tabs or blanks; `#` lines are remarks; 3.0 is 3.

    Every line that cannot be used is told (up to 20): a file of unclear judgments gives no numbers.
    """
    with open_bytes(path) as stream:
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise PorismError(f"not UTF-8: {error.reason}", where=str(path), fix="name a qrels file") from None
    qrels: Qrels = {}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells or line.lstrip().startswith("#"):
            continue
        problem = take_line(qrels, cells)
        if problem:
            wrong.append(f"{path}:{number}: {problem}")
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        where, message = wrong[0].split(": ", 1)
        raise PorismError(
            "\n".join([message, *wrong[1:SHOWN], *more]),
            where=where,
            fix="one line per judgment: topic, 0, item, grade (0 to 3)",
        )
    if not qrels:
        raise PorismError(
            "no judgment in this file", where=str(path), fix="one line per judgment: topic, 0, item, grade (0 to 3)"
        )
    return qrels


def take_line(qrels: Qrels, cells: list[str]) -> str:
    """Add one line; what is wrong with it, or nothing."""
    if len(cells) not in (3, 4):
        return f"{len(cells)} columns where a judgment has 4 (or 3)"
    topic, item, text = cells[0], cells[-2], cells[-1]
    try:
        grade = float(text)
    except ValueError:
        return f"grade {text!r} is not a number"
    if not grade.is_integer() or not (-2 <= grade <= HIGHEST or grade in CODES):
        return f"grade {text} is none of 0, 1, 2, 3, 5, 6 or negative"
    grades = qrels.setdefault(topic, {})
    if item in grades:
        return f"{item} is judged twice for topic {topic}"
    grades[item] = int(grade)
    return ""


def write_qrels(qrels: Mapping[str, Mapping[str, int]], path: str | Path) -> None:
    """Write `topic TAB 0 TAB item TAB grade` in the order given."""
    with atomic_file(path) as out:
        for topic, grades in qrels.items():
            for item, grade in grades.items():
                out.write(f"{topic}\t0\t{item}\t{grade}\n")


def from_judgments(judgments: Iterable[Judgment]) -> Qrels:
    """Qrels of judgments; of several for an item the highest grade, as for the instances of a formula. Codes 5 and 6 count only where alone."""
    qrels: Qrels = {}
    for judgment in judgments:
        grades = qrels.setdefault(judgment.topic, {})
        old = grades.get(judgment.item)
        grades[judgment.item] = judgment.grade if old is None else higher(old, judgment.grade)
    return qrels


def higher(first: int, second: int) -> int:
    """The higher of two grades; a real grade wins over a code."""
    real = [grade for grade in (first, second) if grade not in CODES]
    return max(real) if real else max(first, second)


def judged(qrels: Mapping[str, Mapping[str, int]], lowest: int = 0) -> Qrels:
    """Without codes and without pooled-but-unjudged items: failure and "do not know" count as not judged in Tasks 1 and 2."""
    clean = {
        topic: {item: grade for item, grade in grades.items() if lowest <= grade <= HIGHEST}
        for topic, grades in qrels.items()
    }
    return {topic: grades for topic, grades in clean.items() if grades}


def pooled(qrels: Mapping[str, Mapping[str, int]]) -> Qrels:
    """Without codes; pooled-but-unjudged items stay, as infAP needs them."""
    return judged(qrels, lowest=-2)


def to_visual(qrels: Mapping[str, Mapping[str, int]], visual: Mapping[str, str]) -> Qrels:
    """Judgments of formula instances as judgments of visual ids: the maximum grade over the instances."""
    judgments = (
        Judgment(topic, visual.get(item, item), grade)
        for topic, grades in qrels.items()
        for item, grade in grades.items()
    )
    return judged(from_judgments(judgments))


@dataclass(frozen=True, slots=True)
class QrelsCounts:
    """What a qrels file holds."""

    topics: int
    judged: int
    grades: dict[int, int]
    average_judged: float
    average_relevant: float
    least_relevant: int
    best_p10: float


def count(qrels: Mapping[str, Mapping[str, int]]) -> QrelsCounts:
    """Topics, judgments, grades, averages per topic (any grade above 0), least number of H+M items, and the highest possible P'@10."""
    if not qrels:
        raise PorismError("no judgment to count", fix="give a qrels file")
    grades = Counter(grade for row in qrels.values() for grade in row.values())
    relevant = [sum(2 <= grade <= HIGHEST for grade in row.values()) for row in qrels.values()]
    some = sum(number for grade, number in grades.items() if 1 <= grade <= HIGHEST)
    total, size = sum(grades.values()), len(qrels)
    best = sum(min(number, 10) for number in relevant) / (10 * size)
    return QrelsCounts(size, total, dict(sorted(grades.items())), total / size, some / size, min(relevant), best)
