"""Threads are placed some at a time, and a batch costs the same however many posts there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.build import expressions, parsing
from porism.corpus.build.expressions import ExpressionIds, NewExpression
from porism.corpus.build.official import LISTED_FORMULAS
from porism.corpus.build.threads import LATE_ANSWERS, LATE_COMMENTS, NEXT, QUESTIONS
from porism.corpus.build.work import INDEXES, connect
from porism.formula import parse
from porism.formula.binary import pack
from porism.parallel import workers


@pytest.mark.parametrize("query", [QUESTIONS + NEXT, LATE_ANSWERS + NEXT, LATE_COMMENTS + NEXT, LISTED_FORMULAS])
def test_a_batch_starts_where_the_last_one_ended(tmp_path: Path, query: str) -> None:
    database = connect(tmp_path / "work.sqlite")
    database.executescript(INDEXES)
    plan = [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + query, [1] * query.count("?"))]
    assert plan[0].endswith("USING INTEGER PRIMARY KEY (rowid>?)")
    assert not any("TEMP B-TREE" in step for step in plan)


@pytest.mark.parametrize("hashes", ["of the text", "all equal"])
def test_expressions_interned_together_get_the_ids_that_they_get_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: str
) -> None:
    if hashes == "all equal":
        monkeypatch.setattr(expressions, "hash64", lambda key: 7)
    given = [
        NewExpression(latex, mathml, None, None) for latex, mathml in (("x", None), ("y", None), ("x", "<mi>x</mi>"))
    ]
    given += [
        NewExpression("", "<mi>z</mi>", None, None),
        NewExpression("y", None, None, 5),
        NewExpression("", None, None, 1),
    ]
    tables = []
    for name, together in (("one", False), ("all", True)):
        database = connect(tmp_path / name)
        ids = ExpressionIds(database, database, 0)
        found = [ids.intern("before")]
        found += ids.intern_all(given) if together else [ids.intern(*one) for one in given]
        found += ids.intern_all([NewExpression("before", None, None, None), *given[:2]])
        tables.append(
            (found, *(database.execute(f"SELECT * FROM {table}").fetchall() for table in ("latex", "latex_keys")))
        )
    assert tables[0] == tables[1]
    assert tables[0][0] == [1, 2, 3, 2, 4, 3, 5, 1, 2, 3]


@pytest.mark.parametrize("processes", [1, 2])
def test_parsing_that_begins_early_gives_all_expressions_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    monkeypatch.setattr(parsing, "BATCH", 3)
    monkeypatch.setattr(parsing, "AHEAD", 2)
    database = connect(tmp_path / "work.sqlite")
    ids = ExpressionIds(database, database, 0)
    with workers(processes) as pool:
        early = parsing.Parsing(database, pool, "latex")
        for first in (0, 5, 10):
            ids.intern_all([NewExpression(f"x^{at}", None, None, None) for at in range(first, first + 5)])
            early.begin()
        found = [
            (row.latex, trees) for batch, parsed in early.results() for row, trees in zip(batch, parsed, strict=True)
        ]
    assert [latex for latex, _ in found] == [f"x^{at}" for at in range(15)]
    assert [trees[0] for _, trees in found] == [pack(parse(latex)) for latex, _ in found]
