"""A query with a time limit: what takes too long is left out with a note, or the query ends with an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.deadline import TimeLimitExceeded, time_limit
from porism.search.display import highlight as highlight_module
from porism.search.engine import Engine
from porism.search.formulas import query as formula_query


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return Engine.open(demo / "index")


def test_a_query_ends_when_its_time_is_over(engine: Engine) -> None:
    for find in (engine.search, engine.formulas, engine.ask):
        with time_limit(-1.0), pytest.raises(TimeLimitExceeded):
            find("proof of $a^2+b^2=c^2$")
    assert engine.search("proof of $a^2+b^2=c^2$").total


def test_matching_that_takes_too_long_leaves_similar_formulas_and_a_note(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = engine.formulas("?x^2+?y^2")
    monkeypatch.setattr(formula_query, "MATCH_SHARE", -1.0)
    with time_limit(600.0) as limit:
        found = engine.formulas("?x^2+?y^2")
    assert limit.shortened
    assert found.hits
    assert any("formulas are compared by similarity alone" in note for note in found.notes)
    assert not any("similarity alone" in note for note in complete.notes)


def test_an_incomplete_ranking_is_not_kept(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, time_limit(600.0):
        patch.setattr(formula_query, "MATCH_SHARE", -1.0)
        notes = engine.search("proof of $?a^2+?b^2=?c^2$").notes
    assert any("similarity alone" in note for note in notes)
    assert not any("similarity alone" in note for note in engine.search("proof of $?a^2+?b^2=?c^2$").notes)


def test_highlighting_that_takes_too_long_is_left_out_with_a_note(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = engine.search("$a^2+b^2=c^2$")
    assert any(piece.highlighted_nodes for hit in complete.hits for piece in hit.snippet)
    monkeypatch.setattr(highlight_module, "TIME_SHARE", -1.0)
    with time_limit(600.0) as limit:
        found = engine.search("$a^2+b^2=c^2$")
    assert limit.shortened
    assert [hit.id for hit in found.hits] == [hit.id for hit in complete.hits]
    assert not any(piece.highlighted_nodes for hit in found.hits for piece in hit.snippet)
    assert highlight_module.NOT_HIGHLIGHTED in found.notes


def test_a_long_formula_with_wildcards_is_searched(engine: Engine) -> None:
    """The layout of a long formula is a deep tree, for which recursion has no place."""
    latex = "+".join(f"?a^{number} x_{number}" for number in range(1000))
    assert engine.formulas(latex).total
