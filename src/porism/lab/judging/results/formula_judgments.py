"""Qrels from judgments of formulas that are given by post and LaTeX; a collection supplies the visual ids.

Formula ids belong to one build of a collection. Judgments that should outlive it name what people saw: topic, post_id,
latex, grade.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from porism.corpus.sources.raw import RowError
from porism.corpus.sources.tables import Row, read_table
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.evaluate.qrels import HIGHEST, from_judgments
from porism.lab.judging.results.qrels import MINIMUM_RELEVANT, QrelsVariants, item_key, kept_topics
from porism.lab.pooling.pool import topic_key
from porism.records import Judgment

COLUMNS = ("topic", "post_id", "latex", "grade")
MAX_REPORTED = 20


def variants_by_visual_id(path: Path, collection: Collection, minimum: int = MINIMUM_RELEVANT) -> QrelsVariants:
    """Return `official` and `all`; a visual id gets the highest grade of its instances.

    Rows whose formula is not in the collection raise an error that lists up to 20 of them.
    """
    judgments: list[Judgment] = []
    unknown: list[str] = []
    for row in read_table(path, COLUMNS, quoted=False):
        try:
            found = list(_judgments(row, collection))
        except RowError as error:
            raise PorismError(str(error), where=row.where, fix="correct the row") from None
        judgments += found
        if not found:
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


def _judgments(row: Row, collection: Collection) -> Iterator[Judgment]:
    grade = row.number("grade")
    if not 0 <= grade <= HIGHEST:
        raise PorismError(f"grade {grade} is not one of 0, 1, 2, 3", where=row.where, fix="correct the row")
    for formula in collection.formulas_of(row.number("post_id")):
        if formula.latex == row["latex"]:
            yield Judgment(row["topic"], str(formula.visual_id), grade)
