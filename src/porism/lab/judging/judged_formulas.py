"""Judgments of formulas written by post and LaTeX: a collection gives them their visual ids.

Ids of formulas belong to one build of a collection, so judgments that outlive it name what people saw: topic, post_id, latex, grade.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from porism.corpus.sources.tables import Row, read_table
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.evaluate.qrels import HIGHEST, from_judgments
from porism.lab.judging.qrels import MINIMUM_RELEVANT, Variants, item_key, kept_topics
from porism.lab.pooling.rules import topic_key
from porism.records import Judgment

COLUMNS = ("topic", "post_id", "latex", "grade")
SHOWN = 20


def variants_by_visual(path: Path, collection: Collection, minimum: int = MINIMUM_RELEVANT) -> Variants:
    """`official` and `all`: of the instances of a visual id the highest grade; every row that names no formula is told (up to 20)."""
    judgments: list[Judgment] = []
    wrong: list[str] = []
    for row in read_table(path, COLUMNS, quoted=False):
        found = list(_judgments(row, collection))
        judgments += found
        if not found:
            wrong.append(f"{row.where}: post {row['post_id']} has no formula {row['latex']}")
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        where, message = wrong[0].split(": ", 1)
        fix = "name the collection whose posts were judged"
        raise PorismError("\n".join([message, *wrong[1:SHOWN], *more]), where=where, fix=fix)
    merged = [
        Judgment(topic, item, grade)
        for topic, grades in sorted(from_judgments(judgments).items(), key=lambda pair: topic_key(pair[0]))
        for item, grade in sorted(grades.items(), key=lambda pair: item_key(pair[0]))
    ]
    kept = kept_topics(merged, minimum)
    removed = {one.topic for one in merged} - kept
    official = [one for one in merged if one.topic in kept]
    return Variants({"official": official, "all": merged}, tuple(sorted(removed, key=topic_key)))


def _judgments(row: Row, collection: Collection) -> Iterator[Judgment]:
    grade = row.number("grade")
    if not 0 <= grade <= HIGHEST:
        raise PorismError(f"grade {grade} is none of 0, 1, 2, 3", where=row.where, fix="correct the row")
    for formula in collection.formulas_of(row.number("post_id")):
        if formula.latex == row["latex"]:
            yield Judgment(row["topic"], str(formula.visual_id), grade)
