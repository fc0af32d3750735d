"""Qrels from judgments of formulas that are given by post and LaTeX; a collection supplies the visual ids.

Formula ids belong to one build of a collection. Judgments that should outlive it name what people saw: topic, post_id,
latex, grade.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content
from porism.corpus.sources.raw import RowError
from porism.corpus.sources.tables import Row, read_table
from porism.errors import PorismError
from porism.evaluate.qrels import HIGHEST, from_judgments
from porism.lab.judging.results.qrels import MINIMUM_RELEVANT, QrelsVariants, item_key, kept_topics
from porism.lab.pooling.pool import topic_key
from porism.records import Judgment

COLUMNS = ("topic", "post_id", "latex", "grade")
MAX_REPORTED = 20


def variants_by_visual_id(path: Path, content: Content, minimum: int = MINIMUM_RELEVANT) -> QrelsVariants:
    """Return `official` and `all`; a visual id gets the highest grade of its instances.

    Rows whose formula is not in the collection raise an error that lists up to 20 of them.
    """
    judgments: list[Judgment] = []
    unknown: list[str] = []
    rows = [_read(row) for row in read_table(path, COLUMNS, quoted=False)]
    formulas = content.formulas_by_post([one.post_id for one in rows])
    for row, post_id, grade in rows:
        same = [formula for formula in formulas.get(post_id, ()) if formula.latex == row["latex"]]
        judgments += [Judgment(row["topic"], str(formula.visual_id), grade) for formula in same]
        if not same:
            unknown.append(f"{row.where}: post {row['post_id']} has no formula {row['latex']}")
    if unknown:
        more = [f"and {len(unknown) - MAX_REPORTED} more"] if len(unknown) > MAX_REPORTED else []
        where, message = unknown[0].split(": ", 1)
        fix = "name the collection whose posts were judged"
        raise PorismError("\n".join([message, *unknown[1:MAX_REPORTED], *more]), where=where, fix=fix)
    merged = [
        Judgment(topic, item, grade)
        for topic, grades in sorted(from_judgments(judgments).items(), key=lambda pair: topic_key(pair[0]))
        for item, grade in sorted(grades.items(), key=lambda pair: item_key(pair[0]))
    ]
    kept = kept_topics(merged, minimum)
    removed = {judgment.topic for judgment in merged} - kept
    official = [judgment for judgment in merged if judgment.topic in kept]
    return QrelsVariants({"official": official, "all": merged}, tuple(sorted(removed, key=topic_key)))


class _JudgedRow(NamedTuple):
    """A row of the table with its numbers."""

    row: Row
    post_id: int
    grade: int


def _read(row: Row) -> _JudgedRow:
    try:
        grade = row.number("grade")
        if 0 <= grade <= HIGHEST:
            return _JudgedRow(row, row.number("post_id"), grade)
        problem = f"grade {grade} is not one of 0, 1, 2, 3"
    except RowError as error:
        problem = str(error)
    raise PorismError(problem, where=row.where, fix="correct the row")
