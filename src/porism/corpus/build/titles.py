"""Titles of linked questions outside the collection, segmented like those inside it."""

from __future__ import annotations

import sqlite3

from porism.corpus.build.expressions import ExpressionIds
from porism.corpus.build.fields import make_field
from porism.corpus.build.given import known_formulas
from porism.corpus.build.work import KnownFormula, LinkedTitle, rows
from porism.text.segment import Segment

OUTSIDE = "SELECT id, title FROM titles ORDER BY seq"


def segment_titles(
    work: sqlite3.Connection, store: sqlite3.Connection, expressions: ExpressionIds, added_to: bool
) -> None:
    """Store the titles of linked questions that the collection lacks; their formulas keep their official ids."""
    for row in rows(work, LinkedTitle, OUTSIDE):
        if store.execute("SELECT 1 FROM posts WHERE id = ?", (row.id,)).fetchone():
            continue
        text = make_field(row.title, "placed-text", False).text
        formulas = text.formulas
        known = known_formulas(work, store if added_to else None, [one.formula_id for one in formulas])
        text = text.with_formulas([_with_expression(one, known, expressions) for one in formulas])
        store.execute("INSERT OR IGNORE INTO titles VALUES(?, ?)", (row.id, text.stored))
    store.commit()


def _with_expression(formula: Segment, known: dict[int, KnownFormula], expressions: ExpressionIds) -> Segment:
    same = known.get(formula.formula_id)
    if same is None:
        return formula._replace(expression_id=expressions.intern(formula.text))
    return formula._replace(text=same.latex, expression_id=same.expression_id)
