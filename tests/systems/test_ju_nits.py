"""JU_NITS: tokens of LaTeX and trees, cosine of token vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.topics.files import read_topics
from porism.formula import parse
from porism.search.formulas.searcher import formula_query
from porism.search.query import read_query
from porism.systems.inverted import TokenDocument, invert
from porism.systems.ju_nits import TokenSearch, latex_tokens, layout_tokens, operator_tokens
from porism.systems.loading import open_system
from porism.systems.topic_queries import topic_query

TOPICS = Path(__file__).resolve().parents[2] / "sample" / "topics"


def test_tokens() -> None:
    latex = r"\frac{x^2}{12} \left( a \right)"
    assert latex_tokens(latex) == [r"\frac", "x", "^", "2", "12", "(", "a", ")"]
    parsed = parse(r"x^2 + y")
    assert layout_tokens(parsed.layout) == ["V!x", "+", "V!y", "a:N!2"]
    assert operator_tokens(parsed.operators) == ["U!plus", "O!SUP", "V!x", "N!2", "V!y"]


def test_cosine() -> None:
    made = invert([TokenDocument(at, latex_tokens(latex)) for at, latex in enumerate(("x+y", "x+y+x+y", "z", "x"))])
    found = TokenSearch(made, "latex", idf=False, official=False).search(formula_query("x+y"), 10)
    scores = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    assert scores[0] == pytest.approx(1)
    assert scores[1] == pytest.approx((2 + 2 + 1 * 3 - 0) / (3**0.5 * (4 + 4 + 9) ** 0.5))
    assert scores[3] == pytest.approx(1 / 3**0.5)
    assert 2 not in scores


def test_rare_tokens_count_more_with_idf() -> None:
    made = invert(
        [TokenDocument(0, ["x", "+"]), TokenDocument(1, ["q", "+"]), TokenDocument(2, ["x"]), TokenDocument(3, ["x"])]
    )
    found = TokenSearch(made, "latex", idf=True, official=False).search(formula_query("q+x"), 10)
    assert found.ids.tolist()[0] == 1


@pytest.mark.parametrize("name", ["JU_NITS/formulaL", "JU_NITS/formulaO", "JU_NITS/formulaS"])
def test_explanation(demo: Path, tmp_path: Path, name: str) -> None:
    made = open_system(demo / "index", name, 2, cache=tmp_path)
    query = topic_query(read_topics(TOPICS / "task2.xml")[0], 2)
    hit = list(made.search(query, 3))[-1]
    explanation = made.explain(query, hit.id)
    assert explanation.value == pytest.approx(hit.score)
    assert len(made.search(read_query("prime numbers"), 5)) == 0
