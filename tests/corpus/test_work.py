"""Threads are placed some at a time, and a batch costs the same however many posts there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.build.given import GIVEN
from porism.corpus.build.threads import LATE_ANSWERS, LATE_COMMENTS, NEXT, QUESTIONS
from porism.corpus.build.work import INDEXES, connect


@pytest.mark.parametrize("query", [QUESTIONS + NEXT, LATE_ANSWERS + NEXT, LATE_COMMENTS + NEXT, GIVEN])
def test_a_batch_starts_where_the_last_one_ended(tmp_path: Path, query: str) -> None:
    database = connect(tmp_path / "work.sqlite")
    database.executescript(INDEXES)
    plan = [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + query, [1] * query.count("?"))]
    assert plan[0].endswith("USING INTEGER PRIMARY KEY (rowid>?)")
    assert not any("TEMP B-TREE" in step for step in plan)
