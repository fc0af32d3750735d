from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.evaluate import significance, table
from porism.evaluate.measures import measure as measures
from porism.evaluate.measures.measure import EXAMPLES, LAB, NAMES, parse, parse_all

from . import definitions


@st.composite
def any_measure(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from([*NAMES, "RBP", "ERR", "SetP", "IPrec"]))
    cut = "@0.5" if name == "IPrec" else f"@{draw(st.integers(1, 1000))}"
    never, must = name in ("Rprec", "bpref", "infAP", "SetP"), name in ("P", "recall", "success", "IPrec")
    level = "" if name in ("nDCG", "judged", "ERR") else draw(st.sampled_from(["", "(rel=1)", "(2)", "(rel=3)"]))
    prime = draw(st.sampled_from(["", "'"])) if name != "judged" else ""
    return f"{name}{prime}{level}{cut if must or (not never and draw(st.booleans())) else ''}"


@given(any_measure())
def test_a_measure_prints_and_parses_back(text: str) -> None:
    measure = parse(text)
    assert parse(str(measure)) == measure
    assert parse(str(measure)).base == measure.base
    assert measure.prime == ("'" in text)
    assert measure.least_relevant == int(re.sub(r".*\((?:rel=)?(\d)\).*|.*", r"\1", text) or measure.least_relevant)


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
        ("Success@5", "success@5"),
        ("RBP(p=0.9, rel=1)@10", "RBP(p=0.9,rel=1)@10"),
        ("err'@20", "ERR'@20"),
    ],
)
def test_names_that_are_understood(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cheese",
            "unknown measure 'cheese'\n  fix: choose one of nDCG, MAP, P, recall, success, RR, Rprec, bpref, infAP, judged, or of ir_measures; for example nDCG', P'@10, MAP'(rel=1), judged@10",
        ),
        ("P", "P: P needs a cutoff, for example P@10\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        ("bpref@10", "bpref@10: bpref has no cutoff\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        ("P@0", "P@0: a cutoff must be at least 1\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        (
            "nDCG(rel=1)",
            "nDCG(rel=1): nDCG has no rel\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10",
        ),
        ("MAP(rel=4)", "MAP(rel=4): rel= must be 1, 2 or 3\n  fix: for example nDCG', P'@10, MAP'(rel=1), judged@10"),
        ("SDCG@10", f"SDCG@10: SDCG needs a max_rel, for example SDCG(max_rel=3)\n  fix: {EXAMPLES}"),
        ("P(beta=1)@5", f"P(beta=1)@5: P has no beta\n  fix: {EXAMPLES}"),
        ("P@0.5", f"P@0.5: P has no cutoff=0.5\n  fix: {EXAMPLES}"),
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
    assert [str(one) for one in parse_all(["RBP(p=0.9, rel=1) P@3"])] == ["RBP(p=0.9,rel=1)", "P@3"]
    assert [str(one) for one in LAB] == ["nDCG'", "MAP'", "P'@10", "bpref", "judged@10"]


@pytest.mark.parametrize("module", [measures, definitions, significance, table])
def test_examples_in_the_code(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
