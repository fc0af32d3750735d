from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.evaluate import significance
from porism.evaluate.measures import definitions
from porism.evaluate.measures import measure as measures
from porism.evaluate.measures.measure import FAMILIES, LAB, Measure, parse, parse_all
from porism.evaluate.reports import table


@st.composite
def any_measure(draw: st.DrawFn) -> Measure:
    family = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    cut = (
        0
        if family.cut == "never"
        else draw(st.integers(1, 1000))
        if family.cut == "must"
        else draw(st.integers(0, 1000))
    )
    return Measure(
        family.name, draw(st.booleans()) and family.prime, 2 if family.graded else draw(st.integers(1, 3)), cut
    )


@given(any_measure())
def test_a_measure_prints_and_parses_back(measure: Measure) -> None:
    assert parse(str(measure)) == measure
    assert eval(repr(measure)) == measure


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("nDCG'", "nDCG'"),
        ("P'(rel=2)@10", "P'@10"),
        ("P(1)@5", "P(rel=1)@5"),
        ("ap'", "MAP'"),
        ("MRR", "RR"),
        ("ndcg′@20", "nDCG'@20"),
        ("judged@10", "judged@10"),
    ],
)
def test_names_that_are_understood(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cheese",
            "no measure 'cheese'\n  fix: choose one of nDCG, MAP, P, recall, success, RR, Rprec, bpref, infAP, judged; for example nDCG', P'@10, MAP'(rel=1), judged@10",
        ),
        ("P", "P: P needs a cutoff, for example P@10\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        ("bpref@10", "bpref@10: bpref has no cutoff\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        ("P@0", "P@0: a cutoff must be at least 1\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        (
            "nDCG(rel=1)",
            "nDCG(rel=1): nDCG uses the grades themselves, so it has no rel=\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10",
        ),
        ("MAP(rel=4)", "MAP(rel=4): rel= must be 1, 2 or 3\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        (
            "judged'@10",
            "judged'@10: judged counts unjudged items, so it has no prime form\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10",
        ),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(PorismError, match=f"^{re.escape(message)}$"):
        parse(text)


def test_lists_of_measures() -> None:
    assert [str(one) for one in parse_all(["nDCG' MAP'", "P'@10,nDCG'"])] == ["nDCG'", "MAP'", "P'@10"]
    assert [str(one) for one in LAB] == ["nDCG'", "MAP'", "P'@10", "bpref", "judged@10"]


@pytest.mark.parametrize("module", [measures, definitions, significance, table])
def test_examples_in_the_code(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
